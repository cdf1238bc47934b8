"""The report of all runs below a folder of results: Markdown, one HTML page, LaTeX and a PDF below one folder.

    python3 -m report [--results FOLDER] [--output FOLDER]     default: results, results/report
    python3 -m report [--results FOLDER] --run MACHINE/FOLDER  tables and figures of this run alone, in its folder

What is missing (gnuplot, Jinja2, NumPy, LaTeX) is said in one line each; the rest is written all the same.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import sys

from report import gnuplot, model, one_run, render
from report.command_line import Parser
from report.figures import every_figure
from report.render.blocks import Told
from report.render.document import document
from report.render.tables import Table
from report.rows import Fault, files_below


VERDICT = re.compile(r"\b(?:holds|fails|undecided|not met|met|not measured)\b")


def claims_of(results: pathlib.Path, read: model.Model) -> tuple[list[Told], Table | None]:
    """Verdicts of claims/ (report/claims.py), which are about the results of this repository, and what they say of
    which strategy to take."""
    if results.resolve() != model.ROOT / "results":
        return [], None
    try:
        from report import choice, claims
        from report.claim import read_claims
        from report.verdicts import MISSING, decide_all
    except ImportError:  # no NumPy or SciPy, which the model says
        return [], None
    told: list[Told] = []
    decided = decide_all(read_claims())
    for claim, verdicts in decided:
        commits = sorted({commit for v in verdicts if v.points for commit in v.commits.split(", ")})
        where = claims.told(verdicts)
        told_as = list(dict.fromkeys(VERDICT.findall(where))) or [MISSING]
        if claim.judges_expectation and verdicts:
            where = f"expected {claim.expected}: {where}"
        told.append({"name": claim.name, "expected": claim.expected, "headline": claim.headline,
                     "asks": f"{claim.asks} (`{claim.name}`)", "sentence": claims.sentence(claim, verdicts),
                     "verdict": ", ".join(told_as), "where": where, "decided_by": ", ".join(commits)})
    return told, choice.table_of_report({claim.name: (claim, verdicts) for claim, verdicts in decided}, read)


def reliability_tables(read: model.Model) -> list[Table]:
    """Nothing without NumPy and SciPy, which the model says."""
    try:
        from report import reliability
    except ImportError:
        return []
    return [t for t in (reliability.coverage_table(), reliability.held_by_others(read), reliability.calibration_table()) if t]


PARTS = ("report.html", "report.md", "report.tex", "report.pdf", "numbers.tex", "figures", "tables", "data")


def write(results: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Writes all parts into an empty folder; returns a line for each thing that is missing."""
    read = model.build(results)
    wanted = every_figure(read)
    drawn, notes = gnuplot.draw(wanted, folder / "figures", folder / "data")
    notes = read.notes + notes
    claims, take = claims_of(results, read)
    told = document(read, drawn, claims, notes, reliability_tables(read), take)
    missing = render.render(told, folder)
    return model.left_out(results) + notes + (missing or render.typeset(folder))


def make(results: pathlib.Path, output: pathlib.Path) -> list[str]:
    """Each part of the report is the old one until all are written."""
    output.mkdir(parents=True, exist_ok=True)
    work = output.parent / f".{output.name}-new"
    shutil.rmtree(work, ignore_errors=True)  # of a call that was killed
    work.mkdir()
    try:
        notes = write(results, work)
        for part in PARTS:
            old = output / part
            shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
            if (work / part).exists():
                (work / part).rename(old)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return notes


def make_run(path: pathlib.Path) -> tuple[list[str], list[pathlib.Path]]:
    """What is missing, and what was made. Fault where there are no rows."""
    if path.is_dir() and not any(True for _ in files_below(path)):
        raise Fault(f"{path}: holds no files of rows; --run MACHINE/FOLDER, below --results")
    read = one_run.write_table(path)
    notes = one_run.draw(read)
    return notes, [path / "table.md"] + sorted((path / "figures").glob("*"))


def main(arguments: list[str]) -> int:
    parser = Parser("report", __doc__)
    parser.add_argument("--results", type=pathlib.Path, default=model.ROOT / "results")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--run", metavar="MACHINE/FOLDER")
    options = parser.parse_args(arguments)
    output = options.output or options.results / "report"
    try:
        if options.run:
            notes, made = make_run(options.results / options.run)
        else:
            notes = make(options.results, output)
            made = [output / name for name in ("report.html", "report.pdf", "report.md")]
    except Fault as fault:
        print(f"report: {fault}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"report: {error.filename or output}: {error.strerror}", file=sys.stderr)
        return 2
    for note in notes:
        print(f"report: {note}", file=sys.stderr)
    for path in made:
        if path.is_file():
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
