"""Text that rows decide: docs/claims.md, and the parts of documents that end with <!-- end -->:

    <!-- claims: NAME... -->        what claims say
    <!-- headline -->               what the claims say that are marked so
    <!-- commands of claims -->     what reproduces each
    <!-- experiments -->            what is measured, which claims read it, how long it takes
    <!-- choice -->                 which strategy to take
    <!-- brief choice -->           the same in few columns
    <!-- strategies -->             the inner loop of each beside its numbers
    <!-- predictions: PART -->      of chips that were not measured (report/prediction_tables.py)
    <!-- predicted solves -->       whole solves there, with products in doubles and in floats
    <!-- figure: NAME -->           a figure of the report with its caption
    <!-- accuracy -->              when each element reaches an error
    <!-- references -->            what errors at the bracket are told from
    <!-- work -->                   modelled bytes and counted flop
    <!-- set-ups -->                who takes least with set-ups, what repays them
    <!-- assembly -->               which products repay the assembly of tangents of 21 numbers
    <!-- solved: FILE... -->        results of `solve` below results/
    <!-- contact: BACKEND -->       what the pass over nodes in contact costs
    <!-- calibration: PART -->      how far runs differ (spreads), how often comparisons are wrong (reliability)
    <!-- validation -->             errors against the reference results

    python3 -m report.documents            rewrites them, and names the files that changed
    python3 -m report.documents --check    changes nothing; exit 1 where one is not what the rows say. Marks of rows whose
                                           sources have changed since (report/sources.py) are not compared

Both exit with 1 where a sentence rests on a claim that does not say so (report/rests.py), where a paragraph compares
strategies and rests on no claim, and where a measured number is typed: stands outside such a part. Documents that
results/README.md names may have such.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Callable, Sequence

from report import packages

if __name__ == "__main__":
    packages.need("documents")

from report import (choice, claims, model, parts, predict, predict_solves, prediction_tables, rests, rows, sources,
                    strategies)
from report.claim import Claim, hardware, read_claims, usual_tolerance
from report.model import ONE_ON_HOST, ONE_PROCESS
from report.text import listed, table, wrap
from report.verdicts import FAILS, HOLDS, MISSING, UNSURE, Verdict, decide_all
from report.where import card
from runner import readers

PAGE = pathlib.Path("docs/claims.md")
BLOCK = re.compile(r"(<!-- (claims|headline|commands of claims|experiments|choice|brief choice|strategies|"
                   r"predictions|predicted solves|figure|picture|accuracy|references|work|set-ups|assembly|solved|validation|contact|"
                   r"communication|calibration)"
                   r"(?:: ([^>]+))? -->\n).*?(<!-- end -->)", re.DOTALL)
QUANTITY = re.compile(r"\d[\d.,]*[ \u00a0]?(?:(?:[GM]DoF/s|ms|µs|ns|nJ|MHz|GB/s|GFLOP/s|MB|GB|W|s|%)(?![\w³])"
                      r"|times(?= as\b| faster| slower| longer))|\b(?:twice|half|three times|four times)(?= as (?:fast|long))")
# Logs of single runs and of errors against references; and numbers of other documents that are settings, not measured.
TYPED = ("contact.md", "verification.md")
SETTINGS = {"ranks.md": ("3 %", "30 s"), "strategies.md": ("10 %",), "models.md": ("5 %", "10 %", "0.43 GB", "100 GB"),
            "newton.md": ("0.1 %", "11 %"), "preconditioner.md": ("5 %",), "install.md": ("5 %",),
            "method.md": ("2 ms", "20 ms", "10 ms", "93.75 %", "10 s", "2 s", "0.3 s", "15 %", "20 %", "16 times", "7 %", "2 %",
                          "0.5 %")}
ADVISE = ("README.md", "findings.md", "quadratic.md", "strategies.md")  # they say which strategy to take
TITLES = (("What this suite was expected to show", True), ("What a user who must choose asks", False))

All = Sequence[tuple[Claim, Sequence[Verdict]]]


def page(decided: All) -> str:
    """docs/claims.md."""
    lines = ["# Claims and verdicts"] + wrap(
        "Each sentence is decided by rows: [claims/](../claims/README.md) defines it, and `python3 -m "
        "report.documents` wrote this page (`make tables`). A verdict counts points: elements, operations, meshes and"
        " sizes. *Where* merges those of all machines. Exceptions stand behind “but”, and what is not named is the "
        "same everywhere. “Undecided at 8” says that there are too many to list; what they span follows. Points "
        "of one mesh, size and operation are one place: it holds where all of them do. Below each sentence stands "
        "what must be at a point; it must be so for the whole interval of the ratio. A point of a claim beside "
        "several strategies counts where it is so beside each of them, and its ratio is the one beside the strongest;"
        " *pairs* says how many of all ratios hold. Of the runs of a machine that have all rows of a ratio the one "
        "decides it that speaks at its place: that with most of the main strategies, then with most strategies, then "
        "with three processes or more, then the newest ([rule](../report/selection.py)); of a claim about one strategy that "
        "with three or more, then the newest. Where fewer than three processes measured, a ratio counts at least "
        "within a factor of "
        f"{ONE_PROCESS} on GPUs and {ONE_ON_HOST} where a host takes part, as far as processes have differed, and with the ends "
        "of the intervals of its samples. A process of which one side was disturbed counts for neither. Each "
        "interval of a GPU's operations includes how far runs differ with the same kernels, as measured on H200 with Hex8 and Tet4 "
        "([table](../results/report/report.md#how-often-a-comparison-of-two-runs-is-wrong)). What is "
        "counted, not timed, counts as it is. Points whose rows were disturbed are left out, also where the strongest of "
        "several strategies was; their number and ratios are said, since they need not be like the rest. Intervals are not "
        "corrected for the number of points. Where something was expected, the verdict is on that: *not met* says nothing "
        "against the sentence.") + [""]
    lines += wrap(
        "`make reproduce` measures a claim anew and compares its ratios with these. They agree within 10 %, or what is "
        "counted within 1 %, unless the claim has a tolerance of its own, which then stands below its sentence "
        "([outcomes](artifact.md#checking-a-claim)).") + [""]
    lines += wrap(
        "*The assembled matrix* is the faster one of `assembled_bsr` and `assembled_symmetric`, which stores half of the "
        "blocks. Where only one of both was measured, a point fails if patch loses to that one. It never holds, because "
        "the other one may be faster; no guess of its speed takes part. Nor does a claim of the fastest strategy hold where "
        "`assembled_symmetric` was not measured. A sentence tells the ratios of these points apart, "
        "and a verdict how many there are.") + [""]
    if any(v.is_old for _, verdicts in decided for v in verdicts):
        lines += wrap(sources.FOOT) + [""]
    for title, expected in TITLES:
        lines += [f"## {title}", ""]
        for claim, verdicts in decided:
            if bool(claim.expected) == expected:
                lines += _entry(claim, verdicts)
    return "\n".join(lines).rstrip() + "\n"


def _entry(claim: Claim, verdicts: Sequence[Verdict]) -> list[str]:
    expected = f" Expected: {claim.expected}." if claim.expected else ""
    lines = [f"### {claim.name}", *wrap(f"**{claim.asks}**{expected}"), ""]
    lines += wrap(claims.sentence(claim, verdicts)) + [""]
    what = "The expectation is met" if claim.judges_expectation else "Holds"
    agrees = "" if claim.tolerance == usual_tolerance(claim.quantity) else \
        f" A ratio that is measured anew agrees within {100 * claim.tolerance:g} %."
    lines += wrap(f"{what} at a point where {claims.bounds(claim)}.{agrees}") + [""]
    lines += wrap(f"Tested with {claims.scope(verdicts)}.") + [""] if any(v.points for v in verdicts) else []
    lines += wrap(f"*Where*: {claims.told(verdicts)}.") + [""] if verdicts else []
    for v in verdicts:
        lines += wrap(f"- {claims.describe(v)}" + f"; rows of {v.commits}" * bool(v.points), "  ")
    needs = f"; it needs {claim.needs}" if claim.needs else ""
    return lines + ([] if verdicts else wrap(f"- {MISSING} on any machine{needs}", "  ")) + [""]


def bullet(claim: Claim, verdicts: Sequence[Verdict], up: str, brief: bool = False) -> list[str]:
    """The sentence, where it holds, and unless it is brief the question and what it was tested on."""
    tested = f"; tested with {claims.scope(verdicts)}" if any(v.points for v in verdicts) and not brief else ""
    page = PAGE if not up else PAGE.name  # all documents but the README stand beside it
    link = f"[rows]({page}#{claim.name})"
    judged = f" Expected: {claim.expected}." if claim.expected else ""
    if not claim.judges_expectation and (claim.means or {claim.above, claim.below} != {None, 1.0}):
        judged += f" Holds where {claims.bounds(claim)}."
    asked = "" if brief else f"**{claim.asks}** "
    sentence = f"- {asked}{claims.sentence(claim, verdicts, brief)}{judged}"
    return wrap(f"{sentence} ({claims.told(verdicts, brief=True)}{tested}; {link})", "  ")


def predicted_solves() -> list[str]:
    return predict_solves.table(predict_solves.pairs(parts.model()), predict.operations(parts.model()))


def committed(verdicts: Sequence[Verdict]) -> str:
    """What rows in results/ say of a claim in one word, or in one for some machines each."""
    at: dict[str, list[str]] = {}
    for v in verdicts:
        if v.points:
            at.setdefault(v.verdict, []).append(card(v.machine, v.points[0].where))
    if len(at) < 2:
        return next(iter(at), MISSING)
    return "; ".join(f"{word} on {listed(at[word])}" for word in (HOLDS, FAILS, UNSURE) if word in at)


def commands(decided: All) -> list[str]:
    """A table: what each claim asks, what must hold, what reproduces it, what committed rows say, and within which share
    ratios then agree."""
    lines = []
    for claim, verdicts in decided:
        needs, minutes = hardware(claim), f"{claim.minutes:g}"
        if not claim.reproduce:
            needs, minutes = claim.needs.split(",")[0], "-"
        agrees = f"{100 * claim.tolerance:g} %"
        lines.append([f"`{claim.name}`", claim.asks, claims.bounds(claim), needs, committed(verdicts), minutes,
                      agrees])
    return table(["claim", "asks", "holds where", "needs", "committed verdict", "minutes for each process",
                  "agrees within"], lines, 5)


def rewritten(path: pathlib.Path, text: str, decided: All) -> str:
    """A document with its parts anew. Fault where one names no claim."""
    known = {claim.name: (claim, verdicts) for claim, verdicts in decided}
    up = "../" * (len(path.parts) - 1)
    made: dict[str, Callable[[], list[str]]] = {
        "choice": lambda: choice.table(known, parts.model()),
        "brief choice": lambda: choice.brief(known, parts.model()),
        "predicted solves": predicted_solves,
        "strategies": strategies.side_by_side, "experiments": readers.table,
        "commands of claims": lambda: commands(decided)}

    def claimed(names: str, brief: bool) -> list[str]:
        lines: list[str] = []
        for name in names.split():
            if name not in known:
                raise rows.Fault(f"{path}: <!-- claims: … {name} -->: there is no such claim")
            lines += bullet(*known[name], up, brief)
        return lines

    def part(match: re.Match[str]) -> str:
        kind, words = match[2], match[3] or ""
        if kind in parts.KINDS:
            lines = parts.KINDS[kind](words, up)
        elif kind in ("claims", "headline"):
            brief = kind == "headline"
            lines = claimed(" ".join(c.name for c, _ in decided if c.headline) if brief else words, brief)
        elif kind == "predictions":
            lines = prediction_tables.part(words, parts.model())
        else:
            lines = made[kind]()
        return match[1] + "\n".join(lines) + "\n" + match[4]

    return BLOCK.sub(part, text)


def new_texts(root: pathlib.Path, decided: All) -> dict[pathlib.Path, str]:
    """All documents with such parts, by their place below the root."""
    texts = {PAGE: page(decided)}
    for path in pages_of(root):
        text = path.read_text()
        if BLOCK.search(text):
            texts[path.relative_to(root)] = rewritten(path.relative_to(root), text, decided)
    return texts


CODE = re.compile(r"```.*?```", re.DOTALL)


def typed(text: str, *made: re.Pattern[str]) -> str:
    """What stands neither in a part that rows decide nor in code; lines keep their numbers."""
    for pattern in (BLOCK, CODE, *made):
        text = pattern.sub(lambda m: "\n" * m[0].count("\n"), text)
    return text


def pages_of(root: pathlib.Path) -> list[pathlib.Path]:
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def unsupported(root: pathlib.Path, decided: All) -> list[str]:
    """Faults: sentences whose claims do not say so, and comparisons that rest on no claim."""
    known, faults = {claim.name: (claim, verdicts) for claim, verdicts in decided}, []
    for path in pages_of(root):
        name, text = path.relative_to(root), path.read_text()
        faults += rests.faults(name, text, known)
        faults += rests.unmarked(name, typed(text)) if path.name in ADVISE else []
    return faults


def typed_numbers(root: pathlib.Path) -> list[str]:
    """Faults: measured numbers of documents that stand neither in a part that rows decide nor in code."""
    faults = []
    for path in pages_of(root):
        if path.name in (PAGE.name, *TYPED) or not path.exists():
            continue
        text = typed(path.read_text(), re.compile(r"`[^`\n]*`"), rests.MARK)
        faults += [f"{path.relative_to(root)}:{text.count(chr(10), 0, m.start()) + 1}: {m[0]}: a measured number is typed; say "
                   "it by a part that rows decide" for m in QUANTITY.finditer(text)
                   if m[0] not in ("95 %", *SETTINGS.get(path.name, ()))]
    return faults


def run(decided: All, check: bool, root: pathlib.Path = model.ROOT) -> int:
    faults = unsupported(root, decided) + typed_numbers(root)
    for path, text in new_texts(root, decided).items():
        there = root / path
        old = there.read_text() if there.exists() else ""
        if old == text or check and sources.without_marks(old) == sources.without_marks(text):
            continue
        if check:
            faults.append(f"{path}: is not what the rows say: make tables")
        else:
            there.write_text(text)
            print(path)
    for fault in faults:
        print(f"documents: {fault}", file=sys.stderr)
    return 1 if faults else 0


def main(words: list[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    if words not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stdout if words in (["-h"], ["--help"]) else sys.stderr)
        return 0 if words in (["-h"], ["--help"]) else 2
    try:
        return run(decide_all(read_claims()), check=bool(words))
    except (rows.Fault, OSError) as fault:
        print(f"documents: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
