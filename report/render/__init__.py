"""Puts a document into Markdown, one HTML page, and LaTeX with a PDF, by templates of Jinja2 in this folder."""

from __future__ import annotations

import csv
import html
import math
import os
import pathlib
import re
import shutil
import subprocess

from report.panels import Figure
from report.render.document import Document
from report.render.tables import Table

HERE = pathlib.Path(__file__).resolve().parent
CODE, LINK, STRONG, EMPHASIS = r"`([^`]+)`", r"\[([^\]]+)\]\(([^)]+)\)", r"\*\*([^*]+)\*\*", r"\*([^*]+)\*"
MARKUP = re.compile(f"{CODE}|{LINK}|{STRONG}|{EMPHASIS}")

# What pdflatex's fonts lack or what TeX reads as its own.
TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "^": r"\^{}", "~": r"\textasciitilde{}", "×": r"$\times$", "µ": r"$\mu$", "⁶": "$^6$", "⁹": "$^9$", "≥": r"$\ge$",
    "·": r"$\cdot$", "–": "--", "“": "``", "”": "''", "…": r"\dots{}", "\u00a0": "~", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}"
}


def marked(text: str, plain, code, link, strong, emphasis) -> str:
    """Text with its markup put into another language by five functions."""
    out, at = [], 0
    for m in MARKUP.finditer(text):
        out.append(plain(text[at:m.start()]))
        if m[1] is not None:
            out.append(code(m[1]))
        elif m[2] is not None:
            out.append(link(m[2], m[3]))
        elif m[4] is not None:
            out.append(strong(m[4]))
        else:
            out.append(emphasis(m[5]))
        at = m.end()
    return "".join(out) + plain(text[at:])


def to_tex(text: str) -> str:
    def plain(t: str) -> str:
        return "".join(TEX.get(c, c) for c in t)

    def code(t: str) -> str:
        return r"\code{" + "-{}-".join(plain(part) for part in t.split("--")) + "}"  # not a dash

    return marked(text, plain, code, lambda t, _: plain(t), lambda t: rf"\textbf{{{plain(t)}}}",
                  lambda t: rf"\emph{{{plain(t)}}}")


def to_html(text: str) -> str:
    e = html.escape
    return marked(text, e, lambda t: f"<code>{e(t)}</code>", lambda t, a: f'<a href="{e(a)}">{e(t)}</a>',
                  lambda t: f"<strong>{e(t)}</strong>", lambda t: f"<em>{e(t)}</em>")


def to_md(text: str) -> str:
    return text.replace("|", r"\|")


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


TEXT_WIDTH, TEXT_HEIGHT = 17.5 * 72.27 / 2.54, 25 * 72.27 / 2.54  # pt, as report.tex has them
SIZES = (("\\scriptsize", 3.75, 7.0), ("\\tiny", 3.2, 5.0))  # mean width of a letter and room between columns, pt
UPRIGHT = 10  # columns; tables with more lie on their side


def visible(text: str) -> str:
    return marked(text, str, str, lambda t, _: t, str, str)


def narrowed(lengths: list[list[int]], least: list[int], words: int, room: int) -> list[int]:
    """Widths of columns of such texts, in letters: those of words wrap where that adds the fewest lines."""
    widths = [max(column) for column in lengths]

    def added(i: int) -> int:
        return sum(math.ceil(n / (widths[i] - 1)) - math.ceil(n / widths[i]) for n in lengths[i])

    while sum(widths) > room:
        free = [i for i in range(min(words, len(widths))) if widths[i] > least[i]]
        if not free:
            break
        widths[min(free, key=lambda i: (added(i), -widths[i]))] -= 1
    return widths


def tex_layout(table: Table) -> tuple[str, str]:
    """A size of letters and a specification of columns that fit the page."""
    cells = [[visible(c) for c in table.columns]] + [[visible(cell.text) for cell in row] for row in table.rows]
    lengths = [[len(row[i]) for row in cells] for i in range(len(table.columns))]
    least = [max(4, *(len(w) for row in cells for w in row[i].split(" "))) for i in range(len(table.columns))]
    page = TEXT_HEIGHT if len(table.columns) > UPRIGHT else TEXT_WIDTH
    for size, letter, gap in SIZES:
        room = int((page - gap * len(lengths)) / letter)
        widths = narrowed(lengths, least, table.words, room)
        if sum(widths) <= room:
            break
    columns = []
    for i, width in enumerate(widths):
        whole = width == max(lengths[i])
        columns.append("r" if i >= table.words else "l" if whole else
                       f">{{\\raggedright\\arraybackslash}}p{{{width * letter:.0f}pt}}")
    return size + f"\\setlength{{\\tabcolsep}}{{{gap / 2:g}pt}}", "@{}" + "".join(columns) + "@{}"


def inline_svg(text: str, name: str) -> str:
    """An SVG of gnuplot as a part of a page: its identifiers are the figure's own."""
    text = text[text.index("<svg"):]
    text = re.sub(r"\bid='([^']+)'", rf"id='{name}-\1'", text)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r"href='#([^']+)'", rf"href='#{name}-\1'", text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"<title>.*?</title>\s*<desc>.*?</desc>", "", text, flags=re.S)
    return text.replace("<svg", '<svg role="img"', 1)


def write_csv(table: Table, folder: pathlib.Path) -> None:
    with open(folder / f"{table.name}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows([cell.text for cell in row] for row in table.rows)


def write_tables(document: Document, folder: pathlib.Path) -> None:
    """CSV alone: what needs no Jinja2."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for table in document.tables:
        write_csv(table, folder / "tables")


def environment(folder: pathlib.Path):
    import jinja2

    def svg(figure: Figure) -> str:
        return inline_svg((folder / "figures" / f"{figure.name}.svg").read_text(encoding="utf-8"), figure.name)

    env = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, trim_blocks=True,
                             lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
                             comment_start_string="{=#", comment_end_string="#=}")
    env.filters |= {"tex": to_tex, "html": to_html, "md": to_md, "wrap": wrapped, "svg": svg,
                    "tex_size": lambda t: tex_layout(t)[0], "tex_columns": lambda t: tex_layout(t)[1],
                    "on_its_side": lambda t: len(t.columns) > UPRIGHT}
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
    for table in document.tables:
        (folder / "tables" / f"{table.name}.tex").write_text(tex.render(table=table), encoding="utf-8")
    for name in ("report.md", "report.html", "report.tex", "numbers.tex"):
        text = env.get_template(f"{name}.j2").render(document=document)
        (folder / name).write_text(text, encoding="utf-8")
    return []


def typeset(folder: pathlib.Path, pdflatex: str = "pdflatex") -> list[str]:
    """report.pdf of report.tex; returns a line if there is none."""
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
    return []
