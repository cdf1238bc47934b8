"""Tables in LaTeX: those of the report, and those for a paper, which fit its column or its page."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence

from report.render.markup import glued, to_tex, visible
from report.render.tables import Table

CM = 2.54 / 72.27  # of a pt
TEXT_WIDTH, TEXT_HEIGHT = 17.5 / CM, 25 / CM  # pt, as report.tex has them
SIZES = (("\\scriptsize", 3.75, 7.0), ("\\tiny", 3.2, 5.0))  # mean width of a letter and room between columns, pt
UPRIGHT = 10  # columns; tables with more lie on their side


def narrowed(lengths: list[list[int]], least: list[int], words: Sequence[int], room: int) -> list[int]:
    """Widths of columns of such texts, in letters: those of words (numbers of columns) wrap where that adds the fewest
    lines."""
    widths = [max(column) for column in lengths]

    def added(i: int) -> int:
        return sum(math.ceil(n / (widths[i] - 1)) - math.ceil(n / widths[i]) for n in lengths[i])

    while sum(widths) > room:
        free = [i for i in words if widths[i] > least[i]]
        if not free:
            break
        widths[min(free, key=lambda i: (added(i), -widths[i]))] -= 1
    return widths


@dataclasses.dataclass(frozen=True)
class Layout:
    """A table of the report."""

    size: str        # LaTeX: of letters, and the room between columns
    columns: str     # of longtable
    head: list[str]  # LaTeX
    rows: list[list[str]]
    on_its_side: bool
    note: str = ""   # of the caption


def layout(table: Table) -> Layout:
    """Fits the page. What does not fit upright in \\scriptsize is set as for a paper, with the ends of intervals below
    and above their values, if it then fits, tables of many columns else on their side; what fits neither is smaller."""
    cells = [[visible(c) for c in table.columns]] + [[visible(cell.text) for cell in row] for row in table.rows]
    lengths = [[len(row[i]) for row in cells] for i in range(len(table.columns))]
    least = [max(4, *(len(w) for row in cells for w in row[i].split(" "))) for i in range(len(table.columns))]

    def fitted(page: float, letter: float, gap: float) -> tuple[list[int], bool]:
        room = int((page - gap * len(lengths)) / letter)
        widths = narrowed(lengths, least, range(min(table.words, len(lengths))), room)
        return widths, sum(widths) <= room

    on_its_side = len(table.columns) > UPRIGHT
    if on_its_side or not fitted(TEXT_WIDTH, *SIZES[0][1:])[1]:
        paper = for_paper(table, (OWN, TURNED)[:1 + on_its_side])
        if paper.fits:
            size = (f"\\fontsize{{8}}{{9.5}}\\selectfont\\setlength{{\\tabcolsep}}{{{GAP / 2:g}pt}}"
                    f"\\renewcommand{{\\arraystretch}}{{{STRETCH}}}")
            return Layout(size, paper.columns, paper.head, paper.rows, paper.place == TURNED[0],
                          f" {ENDS}" * has_ends(table))
    for size, letter, gap in SIZES:
        widths, fits = fitted(TEXT_HEIGHT if on_its_side else TEXT_WIDTH, letter, gap)
        if fits:
            break
    columns = []
    for i, width in enumerate(widths):
        whole = width == max(lengths[i])
        columns.append("r" if i >= table.words else "l" if whole else
                       f">{{\\raggedright\\arraybackslash}}p{{{width * letter:.0f}pt}}")
    return Layout(size + f"\\setlength{{\\tabcolsep}}{{{gap / 2:g}pt}}", "@{}" + "".join(columns) + "@{}",
                  [to_tex(c) for c in table.columns], [[to_tex(cell.text) for cell in row] for row in table.rows],
                  on_its_side)


# --- for a paper ----------------------------------------------------------------------------------------------

LETTER, GAP = 4.2, 5.0  # pt: mean width of a letter of 8 pt, and room between columns
STRETCH = 1.45  # \arraystretch: the ends of intervals of two rows stand apart
LINE, RULES = 9.5, 15.0  # pt: of a line, and all rules with the room beside them
ROW = STRETCH * LINE  # of one line
Place = tuple[str, float, float]
# Environments of a two-column article with letters of 10 pt, and cm of width and height that a table may take there,
# beside a caption of a few lines.
PLACES: tuple[Place, ...] = (("table", 7.9, 16.5), ("table*", 16.3, 17.0), ("sidewaystable*", 19.2, 14.0))
# A page of the report, which makes smaller what is too high.
OWN: Place = ("table", TEXT_WIDTH * CM, TEXT_HEIGHT * CM)
TURNED: Place = ("landscape", TEXT_HEIGHT * CM, TEXT_WIDTH * CM)
ENDS = "Below and above a value stand the ends of its interval."
INTERVAL = re.compile(r"([\d.]+) \(([\d.]+)–([\d.]+)\)")


@dataclasses.dataclass(frozen=True)
class Paper:
    """A table in letters of 8 pt."""

    place: str       # environment that it fits into
    width: float     # cm
    height: float
    fits: bool       # in that place
    columns: str     # of tabular
    head: list[str]  # LaTeX
    rows: list[list[str]]
    caption: str     # LaTeX
    comment: str     # the caption as plain text


def shortened(text: str) -> str:
    """A cell: commits by seven letters, no line between a number and its unit."""
    return glued(re.sub(r"^([0-9a-f]{7})[0-9a-f]{5}(?=\W?$)", r"\1", visible(text)))


def printed(text: str) -> str:
    """As many letters as a cell is wide: the ends of an interval, above each other, have 7 pt; a point is narrow."""
    return INTERVAL.sub(lambda m: m[1] + "0" * math.ceil(0.85 * (max(len(m[2]), len(m[3])) - 0.5)), text)


def cell_tex(text: str) -> str:
    """Intervals as \\febinterval{value}{low}{high}, which an author can define anew."""
    found = list(INTERVAL.finditer(text))
    ends = [0] + [m.end() for m in found]
    parts = [to_tex(text[end:m.start()]) + r"\febinterval{%s}{%s}{%s}" % m.groups() for end, m in zip(ends, found)]
    return "".join(parts) + to_tex(text[ends[-1]:])


def broken(text: str, width: int) -> list[str]:
    """Lines of so many letters, where words are no longer."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def has_ends(table: Table) -> bool:
    """Whether a cell has an interval."""
    return any(INTERVAL.search(visible(cell.text)) for row in table.rows for cell in row)


def has_tex(table: Table) -> bool:
    """Whether a page of an article holds it."""
    return CM * ROW * len(table.rows) < max(high for _, _, high in PLACES) and for_paper(table).fits


def for_paper(table: Table, places: Sequence[Place] = PLACES) -> Paper:
    """In the first place that holds it: heads are broken to the width of their columns, columns of words wrap."""
    rows = [[shortened(cell.text) for cell in row] for row in table.rows]
    columns = range(len(table.columns))
    words = [max(map(len, head.split(" ")), default=0) for head in table.columns]
    seen = [[printed(cell) for cell in row] for row in rows]
    lengths = [[words[i]] + [len(row[i]) for row in seen] for i in columns]
    least = [max(4, words[i], *(len(w) for row in seen for w in row[i].split(" "))) for i in columns]
    wrapping = [i for i in columns if i < table.words or any(", " in row[i] for row in rows)]
    for place, wide, high in places:
        room = int((wide / CM - GAP * len(lengths)) / LETTER)
        widths = narrowed(lengths, least, wrapping, room)
        heads = [broken(visible(table.columns[i]), max(widths[i], words[i])) for i in columns]
        lines = [max(len(broken(row[i], widths[i])) for i in columns) for row in seen]
        height = CM * (LINE * max(map(len, heads)) + sum(ROW + LINE * (n - 1) for n in lines) + RULES)
        fits = sum(widths) <= room and height <= high
        if fits:
            break
    kinds = ["r" if i not in wrapping else "l" if widths[i] >= max(lengths[i]) else
             f">{{\\raggedright\\arraybackslash}}p{{{widths[i] * LETTER:.0f}pt}}" for i in columns]
    stacks = [r"\shortstack[%s]{%s}" % ("r" if i not in wrapping else "l", r" \\ ".join(map(to_tex, heads[i])))
              if len(heads[i]) > 1 else to_tex(heads[i][0]) for i in columns]
    width = (LETTER * sum(widths) + GAP * len(lengths)) * CM
    said = f"{table.said.replace('value (interval)', 'value and interval')} {ENDS}" if has_ends(table) else table.said
    return Paper(place, width, height, fits, "@{}" + "".join(kinds) + "@{}", stacks,
                 [[cell_tex(cell) for cell in row] for row in rows],
                 to_tex(f"{table.title}. {said}"), f"{visible(table.title)}. {visible(said)}")
