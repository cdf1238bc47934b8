"""Which claims the sentences of documents rest on, and whether these say so: claims/README.md has the rule.

    <!-- rests on: patch_over_matrix holds where card=H100; team_hex27 holds where card=H100,H200 to=1e6 -->
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from report import claims
from report.cases import shape_of_mesh
from report.claim import Claim
from report.rows import Fault
from report.text import interval
from report.verdicts import FAILS, HOLDS, UNSURE, Decided, Verdict
from report.where import card, is_apart, is_open

MARK = re.compile(r"<!-- rests on: (.*?) -->", re.DOTALL)
PART = re.compile(r"(\w+) (holds|fails|never holds|never fails)(?: where ((?:\w+=\S+ ?)+))?")
# Sentences that say which strategy to take, or which is faster.
COMPARES = re.compile(r"\b(?:[Tt]ake `|fastest (?!of four)|faster\b(?! matrix| one of)|"
                      r"(?:slower|as fast|ahead of|keeps up|costs less|costs more|loses)\b)")
COLUMNS = ("element", "operation", "variant", "ranks")
KEYS = ("card", "mesh", *COLUMNS, "from", "to")

Found = tuple[str, Decided]  # a machine and a point on it
Known = Mapping[str, tuple[Claim, Sequence[Verdict]]]


def value(key: str, machine: str, p: Decided) -> str:
    if key == "card":
        return card(machine, p.where)
    return shape_of_mesh(str(p.where.get("case") or "")) if key == "mesh" else str(p.where.get(key) or "")


@dataclasses.dataclass(frozen=True)
class Demand:
    """What must be so for a sentence to stand."""

    text: str
    name: str
    verb: str
    wanted: dict[str, list[str]]
    least: float
    most: float


def demands(text: str, place: str) -> list[Demand]:
    """Fault where a mark is not as claims/README.md says."""
    found = []
    for part in " ".join(text.split()).split("; "):
        at, match = f"{place}: <!-- rests on: {part} -->", PART.fullmatch(part)
        if match is None:
            raise Fault(f"{at}: is not like 'CLAIM holds where card=H100' (claims/README.md)")
        wanted = {key: some.split(",") for key, some in (one.split("=", 1) for one in (match[3] or "").split())}
        for key in wanted:
            if key not in KEYS:
                raise Fault(f"{at}: {key!r} is not one of {', '.join(KEYS)}")
        try:
            least, most = (float(wanted.pop(key, [usual])[0]) for key, usual in (("from", "0"), ("to", "inf")))
        except ValueError as error:
            raise Fault(f"{at}: from and to are numbers") from error
        found.append(Demand(part, match[1], match[2], wanted, least, most))
    return found


def _inside(demand: Demand, verdicts: Iterable[Verdict]) -> Iterator[Found]:
    for v in verdicts:
        for p in v.points:
            size = float(p.where.get("n_dof") or 0)
            if demand.least <= size <= demand.most \
                    and all(value(key, v.machine, p) in some for key, some in demand.wanted.items()):
                yield v.machine, p


def _against(verb: str, p: Decided) -> bool:
    """Such a point contradicts the sentence."""
    if verb.startswith("never"):
        return p.verdict == (HOLDS if verb == "never holds" else FAILS)
    return p.verdict != (HOLDS if verb == "holds" else FAILS) and not is_apart(p) and not is_open(p)


def _for(verb: str, p: Decided) -> bool:
    """Such a point supports it."""
    if verb == "never holds":
        return not is_apart(p)
    return p.verdict == (FAILS if verb == "fails" else HOLDS)


SAID = {HOLDS: "it holds", FAILS: "it fails", UNSURE: "it is undecided"}


def broken(demand: Demand, verdicts: Sequence[Verdict]) -> str:
    """Why a sentence does not stand; "" where it does."""
    inside = list(_inside(demand, verdicts))
    for machine, p in inside:
        if _against(demand.verb, p):
            return (f"{SAID[p.verdict]} on {card(machine, p.where)} at {claims.place(p)}: "
                    f"{interval(p.ratio.value, p.ratio.low, p.ratio.high)}")
    support = [found for found in inside if _for(demand.verb, found[1])]
    does = {"fails": "fails", "never holds": "could hold"}.get(demand.verb, "holds")
    for key, one in [("", ""), *((key, one) for key, some in demand.wanted.items() for one in some)]:
        if not any(not key or value(key, *found) == one for found in support):
            return f"no point of it{f' with {key}={one}' * bool(key)} {does}"
    return ""


def faults(path: pathlib.Path, text: str, known: Known) -> list[str]:
    """Sentences of a document whose claims do not hold any more. Fault where one names no claim."""
    found = []
    for match in MARK.finditer(text):
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        for demand in demands(match[1], where):
            if demand.name not in known:
                raise Fault(f"{where}: <!-- rests on: {demand.text} -->: there is no such claim")
            if why := broken(demand, known[demand.name][1]):
                found.append(f"{where}: a sentence rests on “{demand.text}”, but {why}: change the sentence")
    return found


def unmarked(path: pathlib.Path, text: str) -> list[str]:
    """Paragraphs that compare strategies and rest on no claim. text: without parts that rows decide and code."""
    found, start = [], 1
    for paragraph in text.split("\n\n"):
        prose = "\n".join(line for line in paragraph.split("\n") if not line.startswith(("|", "#")))
        if (match := COMPARES.search(prose)) and not MARK.search(paragraph):
            found.append(f"{path}:{start}: “{match[0]}”: compares strategies and rests on no claim: name it behind the "
                         "paragraph (claims/README.md)")
        start += paragraph.count("\n") + 2
    return found
