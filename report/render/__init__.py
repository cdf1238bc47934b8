"""Puts a document into Markdown, one HTML page, and LaTeX with a PDF, by templates of Jinja2 in this folder."""

from __future__ import annotations

import csv
import itertools
import os
import pathlib
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from report.panels import Figure
from report.render import latex
from report.render.blocks import Document
from report.render.markup import to_cell, to_html, to_md, to_tex
from report.render.tables import Cell, Table

if TYPE_CHECKING:
    import jinja2

HERE = pathlib.Path(__file__).resolve().parent


def wrapped(text: str) -> str:
    """A paragraph of Markdown in lines of at most 120 characters."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > 118:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join(lines + [line])


def inline_svg(text: str, name: str) -> str:
    """An SVG of gnuplot as a part of a page: its identifiers are the figure's own."""
    text = text[text.index("<svg"):]
    text = re.sub(r"\bid='([^']+)'", rf"id='{name}-\1'", text)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r"""href=(['"])#([^'"]+)""", rf"href=\1#{name}-\2", text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"<title>.*?</title>\s*<desc>.*?</desc>", "", text, flags=re.S)
    return text.replace("<svg", '<svg role="img"', 1)


def to_css(text: str) -> str:
    """Within quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def told_apart(cell: Cell) -> bool:
    """Whether a cell's text does not begin with its number: 6.44 M."""
    leading = re.match(r"-?[\d.]+(?= ?[(~=†]|$)", cell.text)
    return cell.number is not None and (leading is None or abs(float(leading[0]) - cell.number) > 0.006 * abs(cell.number))


# A cell of a number: "16.3 (16.2–16.4)", "≤ 1.95 (1.77–2.14)¹~", "6.44 M", "< 1e-05".
NUMBER = re.compile(r"(?P<most>[≤<] )?(?P<value>-?[\d.]+(?:e-?\d+)?)(?P<unit> [KMG])?"
                    r"(?: \((?P<low>-?[\d.]+)–(?P<high>-?[\d.]+)\))?(?P<marks>[¹~†‡]*)")
NONE = ("", "-")


def parted(head: str, cells: list[Cell]) -> list[tuple[str, list[str]]]:
    """A table's column in a CSV file. Where all its cells are numbers it has numbers alone, those with a unit in full, and
    the ends of their intervals and what stands about them are columns of their own."""
    found = [NUMBER.fullmatch(cell.text) for cell in cells]
    if not any(found) or any(cell.text not in NONE and (match is None or cell.number is None)
                             for cell, match in zip(cells, found)):
        return [(head, [cell.text for cell in cells])]
    more = [(f"{head}, {end}", [(match[end] or "") if match else "" for match in found]) for end in ("low", "high")]
    more.append((f"{head}, mark", [(match["most"] or "").strip() + match["marks"] if match else "" for match in found]))
    numbers = [(f"{cell.number:.9g}" if match["unit"] else match["value"]) if match else ""
               for cell, match in zip(cells, found)]
    return [(head, numbers)] + [column for column in more if any(column[1])]


def write_csv(table: Table, folder: pathlib.Path) -> None:
    columns = [column for i, head in enumerate(table.columns) for column in parted(head, [row[i] for row in table.rows])]
    with open(folder / f"{table.name}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head for head, _ in columns)
        writer.writerows(zip(*(cells for _, cells in columns)))


def write_tables(document: Document, folder: pathlib.Path) -> None:
    """CSV alone: what needs no Jinja2."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for table in document.tables:
        write_csv(table, folder / "tables")


def environment(folder: pathlib.Path) -> jinja2.Environment:
    import jinja2

    names = itertools.count(1)

    def svg(figure: Figure) -> str:
        return inline_svg((folder / "figures" / f"{figure.name}.svg").read_text(encoding="utf-8"), f"f{next(names)}")

    env = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, trim_blocks=True,
                             lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
                             comment_start_string="{=#", comment_end_string="#=}")
    env.filters |= {"tex": to_tex, "html": to_html, "cell": to_cell, "css": to_css, "md": to_md, "wrap": wrapped, "svg": svg,
                    "layout": latex.layout}
    env.tests["told_apart"] = told_apart
    return env


def render(document: Document, folder: pathlib.Path) -> list[str]:
    """Writes report.md, report.html and LaTeX sources into folder; returns a line for each that is missing."""
    write_tables(document, folder)
    try:
        env = environment(folder)
    except ImportError:
        return [
            "Jinja2 is missing: no Markdown, HTML and LaTeX; tables are there as CSV (apt-get install python3-jinja2)"
        ]
    tex = env.get_template("table.tex.j2")
    for table in (t for t in document.tables if latex.has_tex(t)):
        (folder / "tables" / f"{table.name}.tex").write_text(tex.render(table=latex.for_paper(table)), encoding="utf-8")
    for name in ("report.md", "report.html", "report.tex", "numbers.tex"):
        text = env.get_template(f"{name}.j2").render(document=document)
        (folder / name).write_text(text, encoding="utf-8")
    return []


# What a page does not hold: by how much, and where (lines of the source, or that it was found as a page ended).
OVERFULL = re.compile(r"^Overfull \\([hv]box) \(([\d.]+)pt too (?:wide|high)\) (.*?)(?: \[\])?$"
                      r"|^LaTeX Warning: (Float too large .*)$", re.MULTILINE)
SEEN = 5.0  # pt


def overfull(log: str) -> list[str]:
    """A line for each thing in pdflatex's output that a reader sees beside or below its page."""
    told = []
    for match in OVERFULL.finditer(log):
        pages = re.findall(r"\[(\d+)", log[:match.start()])
        box, points, place, float_ = match.groups()
        if float_ or float(points) > SEEN:
            said = float_ or f"Overfull \\{box}, {points} pt too {'wide' if box == 'hbox' else 'high'} {place}"
            told.append(f"pdflatex: {said}, behind page {pages[-1] if pages else 0}")
    return told


def typeset(folder: pathlib.Path, pdflatex: str = "pdflatex") -> list[str]:
    """report.pdf of report.tex; returns a line if there is none, and for each thing that its page does not hold."""
    program = shutil.which(pdflatex)
    if not program:
        return ["LaTeX is missing: report.tex is there, report.pdf is not (apt-get install texlive-latex-recommended)"]
    build = folder / "data" / "latex"
    build.mkdir(parents=True, exist_ok=True)
    command = [program, "-interaction=nonstopmode", "-halt-on-error",
               f"-output-directory={build.relative_to(folder)}", "report.tex"]
    same = os.environ | {"SOURCE_DATE_EPOCH": "946684800", "FORCE_SOURCE_DATE": "1"}  # same rows, same file
    for _ in range(3):  # longtable's widths and references take three
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", env=same)
        if done.returncode:
            told = next((line for line in done.stdout.splitlines() if line.startswith("!")), "it failed")
            return [f"pdflatex: {told} (data/latex/report.log)"]
        if "Rerun" not in done.stdout and "rerun" not in done.stdout:
            break
    shutil.move(build / "report.pdf", folder / "report.pdf")
    return overfull(done.stdout)
