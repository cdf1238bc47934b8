"""What a report is made of: sections of paragraphs, figures, tables and claims, and where each of them stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TypedDict

from report.panels import APPENDIX, BODY, FILE, Figure
from report.render.latex import has_tex
from report.render.tables import Cell, Table



class Told(TypedDict):
    """What the report says of a claim."""

    name: str
    headline: bool
    expected: str
    asks: str
    sentence: str
    verdict: str
    where: str
    decided_by: str


CLAIM_KEYS = tuple(Told.__annotations__)


@dataclasses.dataclass(frozen=True)
class Words:
    text: str
    kind: str = "words"
    place: str = BODY


@dataclasses.dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: list[str]
    kind: str = "points"
    place: str = BODY


@dataclasses.dataclass(frozen=True)
class Shown:
    """A figure."""

    figure: Figure
    kind: str = "figure"

    @property
    def place(self) -> str:
        return self.figure.place


@dataclasses.dataclass(frozen=True)
class Claims:
    """What each asks, its verdict and its sentence; a table has the rest."""

    claims: list[Told]
    kind: str = "claims"
    place: str = BODY

    @property
    def table(self) -> Table:
        keys = ["asks", "verdict", "where", "sentence", "decided_by"]
        rows = [[Cell(c["asks"]), Cell(c["verdict"]), Cell(c["where"]), Cell(c["sentence"]), Cell(c["decided_by"])]
                for c in self.claims]
        return Table("claims", "Claims with places and commits",
                     "What each claim asks, its verdict, at how many points of which machines it was decided, its "
                     "sentence, and the commits whose rows decide.",
                     [key.replace("_", " ") for key in keys], rows, words=len(keys), wanted=APPENDIX)


Block = Words | Points | Shown | Table | Claims


@dataclasses.dataclass(frozen=True)
class Section:
    key: str
    title: str
    blocks: Sequence[Block]


@dataclasses.dataclass(frozen=True)
class Document:
    title: str
    about: str
    sections: list[Section]
    macros: dict[str, str]  # numbers that an author can take over, by a path of words

    @property
    def cards(self) -> list[str]:
        """As keys of numbers begin."""
        return list(dict.fromkeys(key.partition("/")[0] for key in self.macros if not key.startswith("figure/")))

    @property
    def tables(self) -> list[Table]:
        return [b for s in self.sections for b in s.blocks if isinstance(b, Table)]

    @property
    def figures(self) -> list[Figure]:
        return [b.figure for s in self.sections for b in s.blocks if isinstance(b, Shown)]


def elsewhere(blocks: Iterable[Block]) -> Words | None:
    """What a section has in the appendix: kinds of figures, and the number of tables."""
    kinds: dict[str, int] = {}
    tables = 0
    for block in blocks:
        if isinstance(block, Shown):
            kind = block.figure.title.partition(", ")[0]
            kinds[kind] = kinds.get(kind, 0) + 1
        tables += isinstance(block, Table)
    said = [f"{kind} ({n} figure{'s' * (n > 1)})" for kind, n in kinds.items()]
    said += [f"{tables} table{'s' * (tables > 1)}"] * bool(tables)
    return Words(f"Further in the appendix: {'; '.join(said)}.") if said else None


def laid_out(sections: Sequence[Section], appendix: Sequence[Section]) -> list[Section]:
    """Sections without what stands elsewhere; then the appendix, with the figures, the tables and the files of all."""
    def of_place(place: str) -> list[Block]:
        return [b for s in (*sections, *appendix) for b in s.blocks if b.place == place]

    def shortened(section: Section) -> Section:
        gone = elsewhere(b for b in section.blocks if b.place != BODY)
        kept = [b for b in section.blocks if b.place == BODY]
        return dataclasses.replace(section, blocks=kept + ([gone] if gone else []))

    aside, files = of_place(APPENDIX), of_place(FILE)
    made = [
        Section("more-figures", "Appendix: more figures", [b for b in aside if isinstance(b, Shown)]),
        Section("more-tables", "Appendix: more tables", [b for b in aside if isinstance(b, Table)]),
        Section("files", "Appendix: tables that are files", [
            Words("These tables are longer than a page. They stand in files below `results/report/`, and in the "
                  "[HTML page](report.html), where they can be sorted."), *files] if files else [])]
    first, *others = appendix
    return [s for s in (*map(shortened, (*sections, first)), *made, *others) if s.blocks]


def contents(tables: Iterable[Table]) -> Points:
    """A line for each table: its file, what it holds, its rows."""
    return Points([f"[tables/{t.name}.csv](tables/{t.name}.csv){' and `.tex`' if has_tex(t) else ''}: {t.title}, "
                   f"{len(t.rows)} row{'s' * (len(t.rows) != 1)}" for t in tables])
