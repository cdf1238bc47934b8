"""Tables and figures of one run, in its folder: table.md, and figures/ where gnuplot is there. They can be made of its
rows at any time, so neither is committed.

    python3 -m report --results results --run MACHINE/FOLDER
"""

from __future__ import annotations

import pathlib
import shutil

from report import gnuplot, model
from report.figures import every_figure
from report.model import Model
from report.render.tables import Table
from report.run_tables import Part, parts
from report.text import table, wrap

FORMATS = ("svg",)


def in_columns(shown: Table) -> list[str]:
    return table(shown.columns, [[cell.text for cell in row] for row in shown.rows], shown.words, aligned=True)


def in_text(shown: Table) -> list[str]:
    return [f"## {shown.title}", "", *wrap(shown.caption), "", *in_columns(shown), ""]


def page(model: Model, left_out: list[str]) -> str:
    """left_out: points that a budget had no time for."""
    run = model.runs[0]
    commits = list(dict.fromkeys([p.commit for p in model.points] or [run.commit]))
    lines = [f"# {run.machine}, commit {', '.join(commits)}", "",
             *wrap("Made of the rows in this folder; `results/README.md` explains columns. "
                   f"`python3 -m report --run {run.name}` makes this page and the figures anew."), ""]
    for part in parts(model):
        lines += [f"# {part.title}", "", *(wrap(part.about) + [""] if part.about else [])]
        for shown in part.tables:
            lines += in_text(shown)
    if left_out:
        lines += wrap(f"Left out for time: {'; '.join(left_out)}.")
    return "\n".join(lines).rstrip("\n") + "\n"


def first_tables(model: Model) -> str:
    """What the first look shows: all strategies by operation, of each backend and element."""
    found: list[Part] = parts(model)
    tables = [t for part in found for t in part.tables if t.name == "operations"]
    shown = [Table(t.name, t.title, t.caption, t.columns[:6], [row[:6] for row in t.rows], t.words) for t in tables]
    return "\n".join(line for t in shown for line in [t.title, *in_columns(t), ""])


def write_table(path: pathlib.Path) -> Model:
    """table.md; rows.Fault where a file is not what the schema says."""
    read = model.build_one(path)
    left_out = path / "left-out.txt"
    text = page(read, left_out.read_text(encoding="utf-8").splitlines() if left_out.is_file() else [])
    new = path / ".table.md.new"  # a file is the old one or the new one
    new.write_text(text, encoding="utf-8")
    new.replace(path / "table.md")
    return read


def draw(read: Model) -> list[str]:
    """figures/; returns a line for what is missing, or for what could not be drawn."""
    path = read.runs[0].path
    work = path / ".figures.new"
    shutil.rmtree(work, ignore_errors=True)  # of a call that was killed
    try:
        wanted = every_figure(read)
        drawn, notes = gnuplot.draw(wanted, work, work / "data", FORMATS)
        shutil.rmtree(work / "data")
        shutil.rmtree(path / "figures", ignore_errors=True)
        if drawn:
            work.rename(path / "figures")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    several = any(not p.time.one_process for p in read.points)
    return notes + (read.notes if several else [])
