"""Draws figures (report/panels.py) by gnuplot: writes what plots/report.gp loads; report/svg.py slims what it draws."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence

from report import svg
from report.panels import FORMATS, Axis, Figure, Panel

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent / "plots"


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


def draw_one(program: str, figure: Figure, formats: Sequence[str], folder: pathlib.Path,
             data: pathlib.Path) -> list[str]:
    """A line for what could not be drawn, or slimmed."""
    for format in (format for format in formats if format in figure.formats):
        output = folder / f"{figure.name}.{format}"
        command = f"scripts='{SCRIPTS}'; values='{figure.name}.gp'; format='{format}'; output='{output.resolve()}'"
        done = subprocess.run([program, "-e", command, str(SCRIPTS / "report.gp")], cwd=data, capture_output=True,
                              text=True)
        said = [line for line in done.stderr.splitlines() if line.strip()]
        if done.returncode or not output.is_file() or output.stat().st_size == 0:
            return [f"gnuplot: {output.name}: {said[-1].strip() if said else 'nothing was drawn'}"]
        if format == "pdf":  # the same rows make the same file
            output.write_bytes(re.sub(rb"(/CreationDate \(D:)\d{14}", rb"\g<1>20000101000000", output.read_bytes()))
        if format == "svg":
            try:
                output.write_text(svg.slim(output.read_text(encoding="utf-8")), encoding="utf-8")
            except (ValueError, KeyError, SyntaxError) as error:  # another gnuplot may write what is not known here
                return [f"{output.name} stays as gnuplot wrote it: {error}"]
    return []


def draw(figures: Sequence[Figure], folder: pathlib.Path, data: pathlib.Path, formats: Sequence[str] = FORMATS,
         gnuplot: str = "gnuplot") -> tuple[list[Figure], list[str]]:
    """Draws into folder, data into another; returns the figures that are there, and one line for what is not. Forms for
    one column are for papers, and drawn where PDFs are."""
    folder.mkdir(parents=True, exist_ok=True)
    data.mkdir(parents=True, exist_ok=True)
    program = shutil.which(gnuplot)
    drawn, notes = [], []
    for f in figures:
        forms = f.forms if "pdf" in formats else [f]
        for form in forms:
            write_data(form, data)
        if program:
            said = [note for form in forms for note in draw_one(program, form, formats, folder, data)]
            notes += said
            if not any(note.startswith("gnuplot: ") for note in said):
                drawn.append(f)
    if not program:
        notes.append("gnuplot is missing: figures are left out (apt-get install gnuplot-nox)")
    return drawn, notes
