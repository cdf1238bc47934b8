"""Panels and figures as values, their layout, and gnuplot, which draws them (plots/report.gp).

A figure is 8.5 or 17.5 cm wide, its text 7 pt. At most six series of a panel have a colour (Okabe and Ito's, which
differ for all common kinds of colour blindness) and a shape of their own; the others are grey. Lines join neighbours
only.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence

from report.model import STRATEGY, Run, Time

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "plots"
FORMATS = ("pdf", "svg", "png")
NARROW, WIDE = 8.5, 17.5  # cm: a column and a page
COLOURS = 6               # series of a panel with a colour
JOINED = 4.0              # neighbours of a line differ by at most this factor

# Okabe & Ito (2008), except yellow, which is too faint for lines on white; shapes are gnuplot's.
PALETTE = (0x0072B2, 0xD55E00, 0x009E73, 0x000000, 0xE69F00, 0xCC79A7)
SHAPES = (7, 5, 9, 13, 11, 15)
INK, GREY, PALE = 0x222222, 0x9A9A9A, 0xE8E8E8
# Strategies with a colour; each has the same one in all figures.
COLOURED = ("patch", "element_atomic", "node_csr", "assembled_bsr", "element_team", "two_phase")
SHORT = {
    "patch": "patch", "patch_ordered": "ordered", "element_atomic": "atomics", "element_team": "team",
    "element_warp": "warp", "element_color": "colours", "node_csr": "node", "dof_csr": "entry", "two_phase": "stresses",
    "corner_gather": "forces", "assembled_bsr": "matrix", "assembled_cusparse": "BSR", "assembled_csr": "CSR"
}

POINT_CM = 2.54 / 72
TEXT = 7 * POINT_CM        # cm: height of text
LETTER = 0.52 * TEXT       # its mean width


def style_of(strategy: str) -> tuple[int, int]:
    """Colour and shape."""
    if strategy in COLOURED:
        i = COLOURED.index(strategy)
        return PALETTE[i], SHAPES[i]
    return GREY, 2


@dataclasses.dataclass(frozen=True)
class Axis:
    label: str
    low: float
    high: float
    ticks: tuple[tuple[str, float], ...]
    log: bool = False

    def share(self, value: float) -> float:
        """0 at its low end, 1 at its high one."""
        f = math.log if self.log else float
        return (f(value) - f(self.low)) / (f(self.high) - f(self.low))

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
    rectangles: list[tuple[float, float, float, float, int]] = dataclasses.field(default_factory=list)
    dashed: list[tuple[list[tuple[float, float]], int]] = dataclasses.field(default_factory=list)
    thin: list[tuple[list[tuple[float, float]], int]] = dataclasses.field(default_factory=list)
    lines: list[tuple[list[tuple[float, float]], int]] = dataclasses.field(default_factory=list)
    points: list[tuple[float, float, int, int]] = dataclasses.field(default_factory=list)
    words: list[tuple[float, float, str, int, str]] = dataclasses.field(default_factory=list)  # left, center or right

    @property
    def empty(self) -> bool:
        return not (self.rectangles or self.lines or self.points or self.thin)

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

    @property
    def files(self) -> list[str]:
        return [f"{self.name}.{format}" for format in FORMATS]


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


def few(value: float) -> str:
    """Of a tick: 0.1, 1, 20."""
    return f"{value:g}"


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


def add_series(panel: Panel, strategy: str, values: Sequence[tuple[float, Time]], join: bool = True) -> None:
    colour, shape = style_of(strategy)
    line = [(x, t.value) for x, t in values]
    target = panel.thin if colour == GREY else panel.lines
    if join:
        target += [(piece, colour) for piece in joined(line)]
    for x, t in values:
        if t.high > t.low:
            panel.thin.append(([(x, t.low), (x, t.high)], colour))
        panel.points.append((x, t.value, colour, shape))


def add_words(panel: Panel, ends: Iterable[tuple[str, float, float, int]], height: float) -> None:
    """Names of series, each to the right of its last point: words, where it is, colour."""
    ends = list(ends)
    for at in sorted({x for _, x, _, _ in ends}):
        order = sorted((end for end in ends if end[1] == at), key=lambda end: panel.y.share(end[2]))
        where = spread([panel.y.share(y) for _, _, y, _ in order], 1.15 * TEXT / height, 0.0, 1.0)
        for (words, _, _, colour), share in zip(order, where):
            panel.words.append((panel.x.at(panel.x.share(at) + 0.05), panel.y.at(share), words, colour, "left"))


def add_names(panel: Panel, ends: dict[str, tuple[float, float]], height: float) -> None:
    """Names of coloured strategies."""
    add_words(panel, ((STRATEGY[s], *end, style_of(s)[0]) for s, end in ends.items() if s in COLOURED), height)


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
CATEGORY = 0.38    # cm


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
           columns: int = 2, height: float | None = None, left: float = 1.05, right: float = 0.25, bottom: float = 0.85,
           legend: Sequence[tuple[str, int, int]] = ()) -> Figure | None:
    """None where no panel shows anything. Without a height, panels have one by their number of categories."""
    panels = [p for p in panels if not p.empty]
    if not panels:
        return None
    if not height:  # rows of panels of like heights
        panels.sort(key=lambda p: -len(p.y.ticks))
    head = legend_height(legend, width) if legend else 0.0
    columns = min(columns, len(panels))
    heights = [height or 0.2 + CATEGORY * len(p.y.ticks) for p in panels]
    places, whole = grid(heights, columns, width, left, right, bottom, head=head)
    return finished(name, title, caption, panels, places, width, whole, runs, legend)


def finished(name: str, title: str, caption: str, panels: Sequence[Panel], places: Sequence[Place], width: float,
             height: float, runs: Iterable[Run], legend: Sequence[tuple[str, int, int]] = ()) -> Figure:
    over = overlay(panels, places, width, height, legend)
    return Figure(name, title, caption, [*panels, over], [*places, (0.0, width, 0.0, height)], width, height,
                  list(dict.fromkeys(runs)))


# --- files --------------------------------------------------------------------------------------------------------

def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def panel_data(panel: Panel) -> str:
    """Eight blocks, in the order of plots/report.gp; an empty one has a line of NaN."""
    def line(values: Iterable[float]) -> str:
        return " ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)

    blocks = [[line((0.5 * (a + b), 0.5 * (c + d), a, b, c, d, colour)) for a, b, c, d, colour in panel.rectangles]]
    for kind in (panel.dashed, panel.thin, panel.lines):
        block: list[str] = []
        for points, colour in kind:
            block += [line((float(x), float(y), colour)) for x, y in points] + [""]
        blocks.append(block)
    blocks.append([line((float(x), float(y), colour, shape)) for x, y, colour, shape in panel.points])
    for at in ("left", "center", "right"):
        blocks.append([
            f"{float(x):.6g} {float(y):.6g} {quoted(text)} {colour}" for x, y, text, colour, a in panel.words if a == at
        ])
    empty = ["NaN NaN NaN NaN NaN NaN NaN"]
    return "\n\n\n".join("\n".join(block or empty).rstrip("\n") for block in blocks) + "\n"


def figure_values(figure: Figure) -> str:
    """What plots/report.gp loads."""
    n = len(figure.panels)

    def array(name: str, values: Iterable[str]) -> str:
        return f"array {name}[{n}] = [{', '.join(values)}]"

    def ticks(axis: Axis) -> str:
        # a tick is a format
        return quoted(", ".join(f"{quoted(text.replace('%', '%%'))} {value:.6g}" for text, value in axis.ticks))

    def number(values: Iterable[float]) -> list[str]:
        return [f"{v:.6g}" for v in values]

    w, h, places, panels = figure.width, figure.height, figure.places, figure.panels
    lines = [f"base = {quoted(figure.name)}", f"width = {w:.4g}", f"height = {h:.4g}", f"n = {n}",
             array("LEFT", number(p[0] / w for p in places)), array("RIGHT", number(p[1] / w for p in places)),
             array("TOP", number(1 - p[2] / h for p in places)), array("BOTTOM", number(1 - p[3] / h for p in places)),
             array("TITLE", (quoted(p.title) for p in panels)), array("FRAME", (str(p.frame) for p in panels))]
    for letter in "XY":
        axes = [p.x if letter == "X" else p.y for p in panels]
        lines += [
            array(letter + "LABEL", (quoted(a.label) for a in axes)),
            array(letter + "LOG", (str(int(a.log)) for a in axes)),
            array(letter + "0", number(a.low for a in axes)),
            array(letter + "1", number(a.high for a in axes)),
            array(letter + "TICS", (ticks(a) for a in axes))
        ]
    return "\n".join(lines) + "\n"


def write_data(figure: Figure, folder: pathlib.Path) -> None:
    """FIGURE.gp, and FIGURE-PANEL.dat for each panel."""
    for i, panel in enumerate(figure.panels, 1):
        (folder / f"{figure.name}-{i}.dat").write_text(panel_data(panel), encoding="utf-8")
    (folder / f"{figure.name}.gp").write_text(figure_values(figure), encoding="utf-8")


def slim(svg: str) -> str:
    """Without what gnuplot writes and nothing shows: empty groups and words, defaults, shapes that no point has."""
    svg = svg.replace(' stroke-linecap="butt" stroke-linejoin="miter"', "").replace(' stroke-linecap="butt"', "")
    svg = re.sub(r"<filter.*?</filter>", "", svg, flags=re.S)
    svg = re.sub(r"<title>data index.*?</title>", "", svg)
    svg = re.sub(r"<text>(<tspan[^>]*>\s*</tspan>)?\s*</text>", "", svg)
    before = ""
    while before != svg:
        before, svg = svg, re.sub(r"<g [^>]*>\s*</g>\s*", "", svg)
    used = set(re.findall(r"href='#([^']+)'", svg))
    svg = re.sub(r"<(?:path|rect|circle|use)[^>]* id='([^']+)'[^>]*/>", lambda m: m[0] if m[1] in used else "", svg)
    return re.sub(r"\n\s+", "\n", svg)


def draw(figures: Sequence[Figure], folder: pathlib.Path, data: pathlib.Path, formats: Sequence[str] = FORMATS,
         gnuplot: str = "gnuplot") -> tuple[list[Figure], list[str]]:
    """Draws into folder, data into another; returns the figures that are there, and one line for what is not."""
    folder.mkdir(parents=True, exist_ok=True)
    data.mkdir(parents=True, exist_ok=True)
    program = shutil.which(gnuplot)
    drawn, notes = [], []
    for f in figures:
        write_data(f, data)
        if not program:
            continue
        for format in formats:
            output = folder / f"{f.name}.{format}"
            command = f"scripts='{SCRIPTS}'; values='{f.name}.gp'; format='{format}'; output='{output.resolve()}'"
            done = subprocess.run([program, "-e", command, str(SCRIPTS / "report.gp")], cwd=data, capture_output=True,
                                  text=True)
            said = [line for line in done.stderr.splitlines() if line.strip()]
            if done.returncode or not output.is_file() or output.stat().st_size == 0:
                notes.append(f"gnuplot: {output.name}: {said[-1].strip() if said else 'nothing was drawn'}")
                break
        else:
            if "pdf" in formats:
                pdf = folder / f"{f.name}.pdf"  # the same rows make the same file
                pdf.write_bytes(re.sub(rb"(/CreationDate \(D:)\d{14}", rb"\g<1>20000101000000", pdf.read_bytes()))
            if "svg" in formats:
                svg = folder / f"{f.name}.svg"
                svg.write_text(slim(svg.read_text(encoding="utf-8")), encoding="utf-8")
            drawn.append(f)
    if not program:
        notes.append("gnuplot is missing: figures are left out (apt-get install gnuplot-nox)")
    return drawn, notes
