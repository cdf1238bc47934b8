"""Panels and figures as values, their layout, and gnuplot, which draws them (plots/report.gp).

A figure is 17.5 cm wide, its text 7 pt; main ones have a form of 8.5 cm with their main panels above each other, and
those of a few panels have that width alone. At most six series of a panel have a colour (Okabe and Ito's, which differ
for all common kinds of colour blindness) and a shape of their own; the others are grey. Lines join neighbours only,
thin ones those of two runs. What would be a curve of fewer sizes than LEAST_SIZES, or of one number of ranks, is a row of
dots with its name at the left (`dots`); panels of these stand below those with two axes.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from report.model import Card, Run, Time
from report.words import STRATEGY, Words

FORMATS = ("pdf", "svg", "png")
BODY, APPENDIX, FILE = "body", "appendix", "file"  # where a figure or a table of the report stands
NARROW, WIDE = 8.5, 17.5  # cm: a column and a page
COLOURS = 6               # series of a panel with a colour
LEAST_SIZES = 3           # of a curve: of two, points would stand at a panel's edges with nothing between
JOINED = 7.0              # neighbours of a line differ by at most this factor
ALIKE = 1.2               # sizes that differ by less are one: those of two elements on one kind of mesh
MOST = 1.5                # an interval makes an axis so much longer at most, at each end

# Okabe & Ito (2008), except yellow, which is too faint for lines on white; shapes are gnuplot's: the one before each
# is its hollow form, and a cross's is a plus.
PALETTE = (0x0072B2, 0xD55E00, 0x009E73, 0x000000, 0xE69F00, 0xCC79A7)
SHAPES = (7, 5, 9, 13, 11, 15)
INK, GREY, PALE = 0x222222, 0x9A9A9A, 0xE8E8E8
# Strategies with a colour; each has the same one in all figures: the main ones, gathering by node, and of the others
# the one that is the fastest at most places.
COLOURED = ("patch", "element_atomic", "node_csr", "assembled_bsr", "assembled_symmetric", "assembled_cusparse")
SHORT = Words({
    "patch": "patch", "patch_ordered": "ordered", "element_atomic": "atomics", "element_team": "team",
    "element_warp": "warp", "element_color": "colours", "node_csr": "node", "dof_csr": "entry", "two_phase": "stresses",
    "corner_gather": "forces", "assembled_bsr": "matrix",
    "assembled_symmetric": "half", "assembled_cusparse": "BSR", "assembled_csr": "CSR"
})

POINT_CM = 2.54 / 72
TEXT = 7 * POINT_CM        # cm: height of text
LETTER = 0.52 * TEXT       # its mean width


def style_of(strategy: str) -> tuple[int, int]:
    """Colour and shape."""
    if strategy in COLOURED:
        i = COLOURED.index(strategy)
        return PALETTE[i], SHAPES[i]
    return GREY, 2


def nth_style(i: int) -> tuple[int, int]:
    """Colour and shape of series that are no strategies, of the seventh on grey."""
    return (PALETTE[i], SHAPES[i]) if i < COLOURS else (GREY, 2)


@dataclasses.dataclass(frozen=True)
class Axis:
    label: str
    low: float
    high: float
    ticks: tuple[tuple[str, float], ...]
    log: bool = False

    def share(self, value: float) -> float:
        """0 at its low end, 1 at its high one."""
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def holds(self, value: float) -> bool:
        low, high = sorted((self.low, self.high))
        return low <= value <= high

    def at(self, share: float) -> float:
        if self.log:
            return self.low * (self.high / self.low) ** share
        return self.low + share * (self.high - self.low)


@dataclasses.dataclass
class Panel:
    """What is drawn, in the units of its axes. Colours are 0xRRGGBB."""

    title: str
    x: Axis
    y: Axis
    frame: int = 1  # 1: axes and grid, 2: names at the left and a grid of x alone, 0: neither
    column: str = ""  # the form of a figure for one column has the first panel of each such word
    rectangles: list[tuple[float, float, float, float, int]] = dataclasses.field(default_factory=list)
    dashed: list[tuple[list[tuple[float, float]], int]] = dataclasses.field(default_factory=list)
    thin: list[tuple[list[tuple[float, float]], int]] = dataclasses.field(default_factory=list)
    lines: list[tuple[list[tuple[float, float]], int]] = dataclasses.field(default_factory=list)
    points: list[tuple[float, float, int, int]] = dataclasses.field(default_factory=list)
    words: list[tuple[float, float, str, int, str]] = dataclasses.field(default_factory=list)  # left, center or right

    @property
    def empty(self) -> bool:
        return not (self.rectangles or self.lines or self.points or self.thin)

    def mark(self, x: float, y: float, colour: int, shape: int, noisy: bool) -> None:
        """A point, hollow where it is noisy."""
        self.points.append((x, y, colour, shape - noisy))

    def colours(self) -> set[int]:
        """Of its series: neither ink nor grey."""
        used = {p[2] for p in self.points} | {line[1] for line in self.lines}
        return used - {GREY, INK, PALE}


Place = tuple[float, float, float,
              float]  # left, right, top, bottom of the inside of axes, cm from the upper left corner


@dataclasses.dataclass
class Figure:
    name: str
    title: str
    caption: str  # what to see
    panels: list[Panel]
    places: list[Place]
    width: float
    height: float
    runs: list[Run]
    place: str = BODY
    formats: Sequence[str] = FORMATS
    narrow: Figure | None = None  # the form for one column

    @property
    def files(self) -> list[str]:
        return [f"{self.name}.{format}" for format in self.formats]

    @property
    def forms(self) -> list[Figure]:
        return [self, self.narrow] if self.narrow else [self]


def luminance(colour: int) -> float:
    """How light it looks, 0 to 1."""
    r, g, b = (colour >> 16 & 255) / 255, (colour >> 8 & 255) / 255, (colour & 255) / 255
    return 0.299 * r + 0.587 * g + 0.114 * b


# --- parts --------------------------------------------------------------------------------------------------------


def decades(label: str, values: Sequence[float], words: Callable[[float], str] | None = None,
            grow: float = 1.15) -> Axis:
    """A logarithmic axis with a tick at powers of ten, and between them where there are few."""
    low, high = min(values) / grow, max(values) * grow
    words = words or few
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [(words(s * 10.0**e), s * 10.0**e) for e in range(math.floor(math.log10(low)),
                                                                  math.ceil(math.log10(high)) + 1) for s in steps
                 if low <= s * 10.0**e <= high]
        apart = min((math.log(b[1] / a[1]) for a, b in zip(ticks, ticks[1:])), default=0.0)
        if apart >= 0.22 * math.log(high / low):
            break
    return Axis(label, low, high, tuple(ticks), True)


def linear(label: str, high: float, low: float = 0.0) -> Axis:
    """From low to high with four to seven round ticks; around both where they are the same."""
    if high <= low:
        low, high = low - 0.05 * (abs(low) or 1.0), low + 0.05 * (abs(low) or 1.0)
    raw = (high - low) / 5
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(s * size for s in (1, 2, 5, 10) if s * size >= 0.8 * raw)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = [(f"{i * step:.{places}f}", i * step) for i in range(first, last + 1)]
    return Axis(label, low, high, tuple(ticks))


def span(times: Iterable[Time], start: float | None = None, log: bool = False) -> tuple[float, float]:
    """Ends of an axis: of all values (and start), and of intervals, as far as these do not make it too long."""
    def to(value: float) -> float:
        return math.log(value) if log else value

    times = list(times)
    values = [to(t.value) for t in times] + ([] if start is None else [to(start)])
    low, high = min(values), max(values)
    room = (MOST - 1) * (high - low) or (math.log(MOST) if log else (MOST - 1) * abs(high))
    low = max(low - room, min(low, *(to(t.low) for t in times)))
    high = min(high + room, max(high, *(to(t.high) for t in times)))
    return (math.exp(low), math.exp(high)) if log else (low, high)


RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(exponent: int) -> str:
    """Of ten: 1, 10⁻⁴."""
    return "10" + str(exponent).translate(RAISED) if exponent else "1"


def few(value: float) -> str:
    """Of a tick: 0.1, 1, 20, 10⁻⁵."""
    text = f"{value:g}"
    if "e" not in text:
        return text
    times, _, exponent = text.partition("e")
    return power(int(exponent)) if times == "1" else f"{times} · {power(int(exponent))}"


def size(value: float) -> str:
    """Of a tick: 300, 10 K, 1 M."""
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} K" if value >= 1e3 else f"{value:g}"


def names(label: str, categories: Sequence[str]) -> Axis:
    """From top to bottom."""
    return Axis(label, len(categories) - 0.4, -0.6, tuple((c, float(i)) for i, c in enumerate(categories)))


def joined(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Pieces of a line over size, broken where two neighbours are far apart."""
    pieces: list[list[tuple[float, float]]] = []
    for p in sorted(points):
        if pieces and p[0] <= JOINED * pieces[-1][-1][0]:
            pieces[-1].append(p)
        else:
            pieces.append([p])
    return [piece for piece in pieces if len(piece) > 1]


def spread(at: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Heights of words that are at least so far apart, near where they belong (at is sorted)."""
    where = list(at)
    for _ in range(200):
        moved = False
        for i in range(len(where) - 1):
            gap = where[i + 1] - where[i]
            if gap < least - 1e-9:
                where[i] -= (least - gap) / 2
                where[i + 1] += (least - gap) / 2
                moved = True
        if where and where[0] < low:
            where = [max(w, low) for w in where]
            moved = True
        if where and where[-1] > high:
            where = [min(w, high) for w in where]
        if not moved:
            break
    return where


def add_series(panel: Panel, strategy: str, values: Sequence[tuple[float, Time]], join: bool = True,
               runs: Sequence[Run] = (), noisy: Collection[float] | None = None) -> None:
    """runs: that each value is of; a line joins those of one run, a thin one neighbours of two, unless they are of about
    one size. noisy: where points are, unless their times say it."""
    colour, shape = style_of(strategy)
    line = [(x, t.value) for x, t in values]
    target = panel.thin if colour == GREY else panel.lines
    if join:
        for _, own in itertools.groupby(zip(runs or itertools.repeat(None), line), key=lambda pair: pair[0]):
            target += [(piece, colour) for piece in joined([point for _, point in own])]
        for (run, point), (other, following) in itertools.pairwise(zip(runs, line)):
            if run != other and following[0] > ALIKE * point[0]:
                panel.thin += [(piece, colour) for piece in joined([point, following])]
    for x, t in values:
        if t.high > t.low:
            panel.thin.append(([(x, t.low), (x, t.high)], colour))
        panel.mark(x, t.value, colour, shape, t.noisy if noisy is None else x in noisy)


def add_words(panel: Panel, ends: Iterable[tuple[str, float, float, int]], height: float) -> None:
    """Names of series, each to the right of its last point, above the words of the lower axis: words, where it is,
    colour."""
    ends = list(ends)
    for at in sorted({x for _, x, _, _ in ends}):
        order = sorted((end for end in ends if end[1] == at), key=lambda end: panel.y.share(end[2]))
        where = spread([panel.y.share(y) for _, _, y, _ in order], 1.15 * TEXT / height, 0.6 * TEXT / height, 1.0)
        for (words, _, _, colour), share in zip(order, where):
            panel.words.append((panel.x.at(panel.x.share(at) + 0.05), panel.y.at(share), words, colour, "left"))


def add_names(panel: Panel, ends: Mapping[str, tuple[float, float]], height: float, also: str = "") -> None:
    """Short names of coloured strategies, and of another one."""
    add_words(panel, ((SHORT[s], *end, style_of(s)[0] if s in COLOURED else INK) for s, end in ends.items()
                      if s in COLOURED or s == also), height)


def coloured_in(panels: Sequence[Panel]) -> list[tuple[str, int, int]]:
    """Entries of a legend: the strategies with a colour that are there, and the others."""
    there = {p[2] for panel in panels for p in panel.points}
    return [(STRATEGY[s], *style_of(s)) for s in COLOURED if style_of(s)[0] in there] + \
        [("others", *style_of(""))] * (GREY in there)


def numbered(words: Sequence[str], others: str) -> list[tuple[str, int, int]]:
    """Entries of a legend: series that have the style of their number, and those that are grey."""
    return [(text, *nth_style(i)) for i, text in enumerate(words[:COLOURS])] + \
        [(others, *nth_style(COLOURS))] * (len(words) > COLOURS)


def named_in_short(panels: Iterable[Panel]) -> list[str]:
    """Strategies that words of these panels name so."""
    words = {text for panel in panels for _, _, texts, *_ in panel.words for text in texts.split(", ")}
    return [s for s in STRATEGY if SHORT.get(s) in words]


def beside(panels: Iterable[Panel]) -> float:
    """cm that the names of series take to the right of panels."""
    return LETTER * max((len(text) for panel in panels for _, _, text, _, at in panel.words if at == "left"), default=0) + GAP


def uncrowded(axis: Axis, width: float) -> Axis:
    """Where words of ticks would meet on so many cm every second one is left out, or two of three, and so on."""
    at = [axis.share(value) * width for _, value in axis.ticks]
    need = [LETTER * len(text) for text, _ in axis.ticks]
    step = next(step for step in itertools.count(1)
                if all(at[i + step] - at[i] >= (need[i] + need[i + step]) / 2 + LETTER for i in range(0, len(at) - step, step)))
    ticks = tuple((text if i % step == 0 else "", value) for i, (text, value) in enumerate(axis.ticks))
    return dataclasses.replace(axis, ticks=ticks)


def grid(heights: Sequence[float], columns: int, width: float, left: float, right: float, bottom: float = 0.85,
         top: float = 0.5, head: float = 0.0) -> tuple[list[Place], float]:
    """Places of panels (inside of their axes, of these heights, cm) in rows, and the height of all; head: above."""
    each = width / columns
    places: list[Place] = []
    upper = head
    for first in range(0, len(heights), columns):
        row = heights[first:first + columns]
        for column, height in enumerate(row):
            places.append((column * each + left, (column + 1) * each - right, upper + top, upper + top + height))
        upper += top + max(row) + bottom
    return places, upper


def legend_rows(entries: Sequence[tuple[str, int, int]], width: float) -> list[list[tuple[float, str, int, int]]]:
    rows_: list[list[tuple[float, str, int, int]]] = [[]]
    x = 0.3
    for words, colour, shape in entries:
        need = 0.35 + LETTER * len(words) + 0.45
        if x + need > width and rows_[-1]:
            rows_.append([])
            x = 0.3
        rows_[-1].append((x, words, colour, shape))
        x += need
    return rows_


LEGEND_ROW = 0.42  # cm
CATEGORY = 0.34    # cm: three rows of panels of all strategies fit a page
LEFT = 0.5         # cm: the name of an axis and what stands between it, its words and the axis
RIGHT = 0.25       # cm: half of the last word of an axis
GAP = 0.35         # cm: beside names at a panel's side, at both their ends
NAMED = 2          # columns of panels with names at the left, at most


def legend_height(entries: Sequence[tuple[str, int, int]], width: float) -> float:
    return LEGEND_ROW * len(legend_rows(entries, width)) + 0.1


def overlay(panels: Sequence[Panel], places: Sequence[Place], width: float, height: float,
            legend: Sequence[tuple[str, int, int]] = ()) -> Panel:
    """The legend, and all words of panels (which take them away from them): gnuplot leaves words beyond axes out."""
    over = Panel("", Axis("", 0, width, ()), Axis("", height, 0, ()), frame=0)
    for i, row in enumerate(legend_rows(legend, width) if legend else ()):
        y = 0.1 + LEGEND_ROW * (i + 0.5)
        for x, words, colour, shape in row:
            if shape:
                over.points.append((x + 0.1, y, colour, shape))
            else:
                over.rectangles.append((x - 0.05, x + 0.2, y - 0.11, y + 0.11, colour))
            over.words.append((x + 0.32, y, words, INK, "left"))
    for panel, (left, right, upper, lower) in zip(panels, places):
        for x, y, text, colour, at in panel.words:
            over.words.append((left + panel.x.share(x) * (right - left), lower - panel.y.share(y) * (lower - upper),
                               text, colour, at))
        panel.words = []
    return over


def figure(name: str, title: str, caption: str, panels: Sequence[Panel], runs: Iterable[Run], width: float = WIDE,
           columns: int = 2, height: float = 0.0, left: float = 1.05, right: float = RIGHT, bottom: float = 0.85,
           legend: Sequence[tuple[str, int, int]] = (), row: float = CATEGORY) -> Figure | None:
    """None where no panel shows anything. Panels with two axes have this height; those with names at the left stand below
    them and have a row for each name."""
    panels = [p for p in panels if not p.empty]
    if not panels:
        return None
    runs = list(runs)

    def room(some: Iterable[Panel], gap: float) -> float:
        return max([left, *(gap + LETTER * len(text) for p in some for text, _ in p.y.ticks)])

    def laid(name: str, some: Sequence[Panel], width: float, columns: int) -> Figure:
        whole = legend_height(legend, width) if legend else 0.0
        places: list[Place] = []
        over = [p for p in some if p.frame != 2]
        if over:
            at, whole = grid([height] * len(over), min(columns, len(over)), width,
                             room((p for p in panels if p.frame != 2 and p.y.label), LEFT), right, bottom, head=whole)
            places += at
        named = sorted((p for p in some if p.frame == 2), key=lambda p: -len(p.y.ticks))  # of like heights side by side
        if named:
            at, whole = grid([0.2 + row * len(p.y.ticks) for p in named], min(columns, NAMED, len(named)), width,
                             room(named, GAP), RIGHT, bottom, head=whole)
            places += at
        return finished(name, title, caption, over + named, places, width, whole, runs, legend)

    main: dict[str, Panel] = {}
    for panel in (p for p in panels if p.column):
        main.setdefault(panel.column, copy.deepcopy(panel))
    wide = laid(name, panels, width, columns)
    return with_narrow(wide, laid(f"{name}-narrow", list(main.values()), NARROW, 1)) if main else wide


def with_narrow(wide: Figure, narrow: Figure) -> Figure:
    """A figure and its form for one column."""
    return dataclasses.replace(wide, narrow=dataclasses.replace(narrow, formats=("pdf", "svg")))


def spans(panel: Panel, bar: Sequence[tuple[float, float]]) -> bool:
    """Whether it reaches beyond both ends of an axis."""
    return len(bar) == 2 and any(min(ends) < min(axis.low, axis.high) and max(ends) > max(axis.low, axis.high)
                                 for axis, ends in zip((panel.x, panel.y), zip(*bar)))


def finished(name: str, title: str, caption: str, panels: Sequence[Panel], places: Sequence[Place], width: float,
             height: float, runs: Iterable[Run], legend: Sequence[tuple[str, int, int]] = ()) -> Figure:
    for panel, (left, right, _, _) in zip(panels, places):
        panel.x = uncrowded(panel.x, right - left)
    beyond = [[spans(panel, line) for line, _ in panel.thin] for panel in panels]
    for panel, whole in zip(panels, beyond):
        panel.thin = [bar for bar, is_whole in zip(panel.thin, whole) if not is_whole]
    is_cut = any(not axis.holds(end) for panel in panels if panel.frame for line, _ in panel.thin for ends in line
                 for axis, end in zip((panel.x, panel.y), ends))
    over = overlay(panels, places, width, height, legend)
    caption += " Bars that reach beyond an axis are cut." * is_cut
    caption += " A point without a bar: it would reach from one end of the axis to the other." * any(map(any, beyond))
    return Figure(name, title, caption, [*panels, over], [*places, (0.0, width, 0.0, height)], width, height,
                  list(dict.fromkeys(runs)))


# --- files --------------------------------------------------------------------------------------------------------


def dots(title: str, x: Axis, categories: Sequence[str], values: Iterable[tuple[str, int, int, Time, float]],
         reference: float | None = None, column: str = "") -> Panel:
    """values: category, colour, shape, value with interval, shift within the row."""
    panel = Panel(title, x, names("", [STRATEGY[c] for c in categories]), frame=2, column=column)
    if reference is not None:
        panel.dashed.append(([(reference, -0.6), (reference, len(categories) - 0.4)], INK))
    for category, colour, shape, t, shift in values:
        y = categories.index(category) + shift
        if t.high > t.low:
            panel.thin.append(([(t.low, y), (t.high, y)], colour))
        panel.mark(t.value, y, colour, shape, t.noisy)
    return panel


def unit_of(card: Card) -> tuple[float, str]:
    """Of its throughputs, in numbers that are not small, with its name."""
    return (1e-9, "10⁹ degrees of freedom/s") if card.backend == "cuda" else (1e-6, "10⁶ degrees of freedom/s")


def shifts(n: int) -> list[float]:
    return [0.5 * ((i + 0.5) / n - 0.5) for i in range(n)]
