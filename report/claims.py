"""Says what claims say: sentences, where they were tested, verdicts.

    python3 -m report.claims [NAME...]             verdicts on all machines that have rows, from results/
    python3 -m report.claims --rows FOLDER NAME... from the rows of one folder
"""

from __future__ import annotations

import argparse
import math
import pathlib
import re
import sys
from collections.abc import Sequence, Set

from report import packages

if __name__ == "__main__":
    packages.need("claims")

from report import rows, sources
from report.cases import kind_of_mesh
from report.claim import Claim, chosen
from report.command_line import Parser
from report.quantities import QUANTITIES
from report.text import count, digits, listed
from report.verdicts import FAILS, HERE, HOLDS, MISSING, UNSURE, Decided, Verdict, decide, decide_all, stale
from report.where import LONG, SHORT, card, is_apart, phrase
from report.words import ELEMENT, MESHES, several


def dated(said: str, v: Verdict) -> str:
    """What is said of a verdict, and whether its rows are of older sources."""
    return said + (sources.WORDS if v.is_old else "")


def sentence(claim: Claim, verdicts: Sequence[Verdict], brief: bool = False) -> str:
    """With the least and the largest ratio of all points, the cards and elements that have these, the hosts that GPUs are
    compared with, and how many strategies the ratios are beside. Points of a claim over the strongest of several that lack
    one of these are told apart; a brief one leaves them out where there are others."""
    points = [p for v in verdicts for p in v.points]
    if not points:
        unknown = re.sub(r"\{least} to \{most}|\{(?!cards)\w+}", "…", claim.sentence)
        return unknown.format(cards="GPUs") + " (Not measured.)"
    whole = [p for p in points if not p.lacks]
    least, most = ends(claim, whole or points)
    words = claim.sentence.replace("{least} to {most}", "{least}") if least == most else claim.sentence
    hosts = sorted({p.host for p in points if p.host})
    cards = listed("this machine" if v.machine == HERE else f"an {card(v.machine, {})}"
                   for v in verdicts if any(not p.lacks or not whole for p in v.points))
    rivals = sorted({p.rivals for p in points})
    told = words.format(least=least, most=most, host=", and ".join(hosts), cards=cards, elements=listed(elements_of(points)),
                        rivals=" to ".join(dict.fromkeys(map(str, (rivals[0], rivals[-1])))))
    if len(whole) == len(points) or whole and brief:
        return told
    parts = [p for p in points if p.lacks]
    beside, lacks = {p.beside for p in parts}, {s for p in parts for s in p.lacks}
    verb = "was" if len(lacks) == 1 else "were"
    if not whole:
        return f"{told} Measured {f'without {named(lacks)}' if claim.needs_some else f'over {named(beside)} alone'}."
    span = " to ".join(dict.fromkeys(ends(claim, parts)))
    if claim.needs_some:
        return f"{told} Where {named(lacks)} {verb} not measured: {span}."
    if beside & lacks:
        return f"{told} Over some of {named(beside | lacks)} alone, where others were not measured: {span}."
    return f"{told} Over {named(beside)} alone, where {named(lacks)} {verb} not measured: {span}."


def elements_of(points: Sequence[Decided]) -> list[str]:
    names = sorted({str(p.where["element"]) for p in points if p.where.get("element")})
    return [ELEMENT.get(name, name) for name in names]


def named(strategies: Set[str]) -> str:
    return " and ".join(f"`{s}`" for s in sorted(strategies))


def ends(claim: Claim, points: Sequence[Decided]) -> tuple[str, str]:
    values = [claim.shown(p.ratio.value) for p in points]
    return digits(min(values)), digits(max(values))


def alone(verdicts: Sequence[Verdict], unit: str = "") -> str:
    """How many points are undecided, because not all that the claim is over was measured there: 7 over `a` alone, or
    without `b`."""
    lacking = [p for v in verdicts for p in v.points if is_apart(p)]
    if not lacking:
        return ""
    without = f"without {named({s for p in lacking for s in p.lacks})}"
    over = f"over {named({p.beside for p in lacking})} alone"
    units = f" {unit}{'s' * (len(lacking) > 1)}" * bool(unit)
    return f"{len(lacking)}{units} {without if verdicts[0].claim.needs_some else over}"


def left_out(verdicts: Sequence[Verdict], one: str = "", more: str = "") -> str:
    """How many points do not count, and their ratios: what is noisy need not be like the rest."""
    some = [p for v in verdicts for p in v.left_out]
    if not some:
        return ""
    span = " to ".join(dict.fromkeys(ends(verdicts[0].claim, some)))
    return f"{len(some)} {one if len(some) == 1 else more}left out as noisy: {span}"


def told(verdicts: Sequence[Verdict], brief: bool = False) -> str:
    """Where a claim holds, in one phrase for all machines, and which points were left out as noisy. brief: where it is
    undecided in few words."""
    where = phrase(verdicts, SHORT if brief else LONG)
    apart = alone(verdicts, "point")
    parts = [where, f"undecided at {apart}" * bool(apart), MISSING * (not where and not apart)]
    old = sources.WORDS if any(v.is_old for v in verdicts) else ""
    noisy = left_out(verdicts, "point ", "points ")
    return "; ".join(part for part in parts if part) + old + few(verdicts) + f"; {noisy}" * bool(noisy)


def few(verdicts: Sequence[Verdict]) -> str:
    """Where no point of what is timed was measured by as many processes as support a claim."""
    points = [p for v in verdicts for p in v.points if not QUANTITIES[v.claim.quantity].counted]
    most = max((p.ratio.processes for p in points), default=rows.LEAST_PROCESSES)
    return {1: ", one process each", 2: ", two processes each at most"}.get(most, "")


def scope(verdicts: Sequence[Verdict]) -> str:
    """Of which elements, operations, meshes and sizes its points are."""
    places = [p.where for v in verdicts for p in v.points]
    if not places:
        return ""

    def told(column: str) -> list[str]:
        names = sorted({str(w[column]) for w in places if w.get(column)})
        return [ELEMENT.get(name, several(name)) for name in names if not name.startswith("gmres")] + \
            ["GMRES"] * any(name.startswith("gmres") for name in names)

    kinds = {kind_of_mesh(str(w["case"])) for w in places if w.get("case")}
    meshes = [words for kind, words in MESHES.items() if kind in kinds]
    sizes = sorted(int(n) for w in places if (n := w.get("n_dof")))
    operations = ", ".join(told("operation"))
    for long, short in (("tangent products, elastic products", "tangent and elastic products"),
                        ("tangent and elastic products, residuals", "products, residuals"),
                        ("solves, solves with graphs", "solves")):
        operations = operations.replace(long, short)
    parts = [" and ".join(told("element")), operations, ", ".join(meshes),
             ", ".join(sorted({str(w["problem"]) for w in places if w.get("problem")}))]
    if sizes:
        ends = [count(n) for n in (sizes[0], sizes[-1])]
        parts.append(" to ".join(dict.fromkeys(ends)) + " DoF")
    return ", ".join(part for part in parts if part)


def place(point: Decided) -> str:
    w = point.where
    if "problem" in w:
        return f"{w['element']}, depth {w['depth']} ({w['problem']}, {w['jacobian']})"
    further = "".join([f" on {w['ranks']} ranks" if int(w.get("ranks") or 1) > 1 else "",
                       f" ({w.get('case', 'profile')}{', beside ' if point.beside else ''}{point.beside})"])
    return f"{w['element']} {w['operation']}, {count(int(w['n_dof'] or 0))} DoF{further}"


CLAUSES = {"speed": ("is", "times as fast", "faster", "slower"),
           "time": ("takes", "times as long", "longer", "less time"),
           "energy": ("takes", "times the energy", "more energy", "less energy")}


def bounds(claim: Claim) -> str:
    """What must be at a point, as a clause: it is 15 to 80 times as fast."""
    if claim.means:
        return claim.means
    quantity = "time" if claim.quantity.startswith("time") else claim.quantity
    verb, unit, more, less = CLAUSES.get(quantity, ("has", "times as many", "more", "less"))
    if claim.over is None or claim.told_as:
        verb, unit, more, less = "is", claim.unit, "", ""
    above, below = claim.above, claim.below
    if above is not None and below is not None:
        return f"it {verb} {above:g} to {below:g} {unit}"
    if above is not None:
        return f"it {verb} {more}" if above == 1 and more else f"it {verb} more than {above:g} {unit}"
    return f"it {verb} {less}" if below == 1 and less else f"it {verb} less than {below:g} {unit}"


EXPECTATION = {HOLDS: "expectation met", FAILS: "expectation not met", UNSURE: UNSURE, MISSING: MISSING}


def counts(v: Verdict) -> str:
    """At how many points a claim holds, fails or is undecided, how many cannot hold, and how many are left out; of one whose
    bounds are an expectation, at how many that is met."""
    told = {HOLDS: "holds at", FAILS: "fails at", UNSURE: "undecided at"}
    if v.claim.judges_expectation:
        told = {HOLDS: "met at", FAILS: "not met at", UNSURE: "undecided at"}
    n, there = len(v.points), [word for word in told if v.count(word)]
    if n == 0:
        said = MISSING
    elif n == 1:
        said = f"{told[there[0]]} the one point"
    elif there == [HOLDS]:
        said = f"{told[HOLDS]} {'both' if n == 2 else f'all {n}'} points"
    else:
        said = ", ".join(f"{told[word]} {v.count(word)}" for word in there) + f" of {n} points"
    if apart := alone([v]):
        said = f"{UNSURE}, {apart}" if there == [UNSURE] and all(p.lacks for p in v.points) else f"{said}, {apart}"
    more = "more " * bool(n)
    noisy = left_out([v], more, more)
    return said + f", {noisy}" * bool(noisy)


def describe(v: Verdict) -> str:
    """One line: where it holds, and the point that decides against it, or the closest one."""
    if v.verdict == MISSING:
        return f"{v.machine}: {counts(v)}"
    worst = _decisive(v)
    fewest, most = v.processes, max(p.ratio.processes for p in v.pairs)
    processes = f"{fewest} to {most} processes" if fewest < most else f"{most} processes" if most > 1 else "one process"
    if QUANTITIES[v.claim.quantity].counted:
        processes = "counted"
    pairs = f"; {sum(p.verdict == HOLDS for p in v.pairs)} of {len(v.pairs)} pairs" if v.claim.has_rivals else ""
    what = "expectation " if v.claim.judges_expectation else ""
    return (f"{v.machine}: {what}{counts(v)} ({processes}{pairs}); "
            f"{digits(v.claim.shown(worst.ratio.value))} {v.claim.unit} at {place(worst)}")


def _decisive(v: Verdict) -> Decided:
    """Of the points with the overall verdict the one farthest on its side; of those that hold the closest call."""
    def margin(p: Decided) -> float:
        above = math.log(p.ratio.value / v.claim.bound(v.claim.above)) if v.claim.above else math.inf
        below = math.log(v.claim.bound(v.claim.below) / p.ratio.value) if v.claim.below else math.inf
        return min(above, below)
    return min((p for p in v.points if p.verdict == v.verdict), key=margin)


def arguments() -> argparse.ArgumentParser:
    parser = Parser("report.claims", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rows", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--stale", action="store_true",
                        help="claims whose rows are older than their sources (needs git)")
    return parser


def run(a: argparse.Namespace) -> int:
    claims = chosen(a.names)
    if a.rows:
        decided = [(claim, [decide(claim, a.rows.name, [a.rows], alone=True)]) for claim in claims]
    else:
        decided = decide_all(claims)
    if a.stale:
        print("\n".join(stale(decided)) or "no claim rests on rows that are older than its sources")
        return 0
    for claim, verdicts in decided:
        print(f"{claim.name}: {sentence(claim, verdicts)}")
        told = [f"  {dated(describe(v), v)}" for v in verdicts]
        print("\n".join(told) or f"  {MISSING}" + f"; it needs {claim.needs}" * bool(claim.needs))
    return 0


def main(words: list[str] | None = None) -> int:
    try:
        return run(arguments().parse_args(words))
    except (rows.Fault, OSError) as fault:
        print(f"claims: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
