"""Runs the smallest set of points that decides a claim, on this machine.

    python3 -m report.reproduce CLAIM [--processes 3] [--dofs N] [--mesh MESH] [--build build]

--dofs and --mesh (FILE.msh, irregular, slender, box, or 20x20x80 cells) instead of the claim's own size and mesh, where
its commands have such. Says first what it costs and needs, and builds nothing: --build names a folder with programs.
Each process measures all points of the claim, so that both sides of a ratio are of the same runs. Rows and the verdict
stay in BUILD/reproduce/CLAIM/, to be sent back.

The last line has two answers, for example

    direction: fails, as in committed rows; ratio: agrees within 10 %

direction: holds, fails, undecided, or not measured here: what the claim says of its points, by these rows alone.
Behind it stands whether committed rows say the same of these points: those of this kind of machine, or else of others.
Where fewer processes than were asked for stayed undisturbed, it says how few decide.
ratio: of each point that has a committed ratio on this kind of machine. It agrees within the claim's tolerance, differs
where it is farther off and the intervals do not meet either, and cannot be told where they meet. All must agree; one
that differs decides. "not compared": there is no committed ratio of this machine, place and size.

exit 0  reproduced: the direction is that of committed rows (also where it fails in both), or it holds where they cannot
        tell or have no such point; and the ratio agrees or is not compared
     1  the direction is not that of committed rows: one holds and the other fails, or it fails and they do not say so
     2  wrong use, or a program is missing or failed
     3  the ratio differs, and the direction does not
     4  one of both cannot be told, or fewer than three undisturbed processes say 1 or 3
     5  not measured here
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence

from report import packages

if __name__ == "__main__":
    packages.need("reproduce")

from report import claims, model, rows, sources
from report.claim import Claim, chosen, gpus_of, hardware, matches
from report.command_line import Parser
from report.quantities import QUANTITIES
from report.text import interval
from report.verdicts import FAILS, HERE, HOLDS, MISSING, UNSURE, Decided, Verdict, decide, decide_all, overall


def gpus_here() -> int:
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return len(done.stdout.splitlines()) if done.returncode == 0 else 0


AXES = {"kernels": ("--fe_dofs=", "--fe_mesh="), "scaling": ("--dofs ", "--mesh "), "solves": ("--cells ",)}  # size, mesh


def takes_sizes(claim: Claim) -> bool:
    """Of solves those on cubes, whose problems know no other mesh; none where the claim is of one mesh."""
    of_one = any("case" in side for side in (claim.select, claim.of, claim.over or {}))
    return bool(claim.programs) and not of_one and all(program in AXES for program in claim.programs) and \
        all(" --cells " in text for text in claim.reproduce if text.startswith("solves "))


def cells_for(dofs: str, command: str) -> str:
    """Along an axis of the cube that has about so many degrees of freedom."""
    steps = max(1, round((int(dofs) / 3) ** (1 / 3)) - 1)  # between nodes
    return str(max(1, steps // 2) if re.search(r"--element (tet10|hex27)", command) else steps)


def sizes_selected(claim: Claim) -> str:
    wanted = claim.select.get("n_dof", "any")
    return " or ".join(wanted) if isinstance(wanted, list) else str(wanted)


def outside(claim: Claim, measured: Sequence[rows.Row]) -> list[str]:
    """A line where rows are of elements or sizes that the claim says nothing of."""
    def other(column: str) -> list[rows.Value]:
        found = {row[column] for row in measured if row.get(column)}
        return sorted(v for v in found if column in claim.select and not matches(v, claim.select[column]))

    if elements := other("element"):
        known = claim.select["element"]
        listed = ", ".join(known) if isinstance(known, list) else known
        return [f"rows of {', '.join(map(str, elements))} do not count: it is of {listed}; docs/claims.md has others"]
    if sizes := other("n_dof"):
        return [f"rows of {', '.join(map(str, sizes))} degrees of freedom do not count: it is of {sizes_selected(claim)}"]
    return []


def own_size(claim: Claim, dofs: str, mesh: str) -> Claim:
    """The claim with its commands at a reader's size and on a reader's mesh ("": its own). Fault where it has no such, or
    where it says nothing of such a size."""
    named = " ".join([f"DOFS={dofs}"] * bool(dofs) + [f"MESH={mesh}"] * bool(mesh))
    if not named:
        return claim
    if not takes_sizes(claim):
        other = next((program for program in claim.programs if program not in AXES or program == "solves"), "make bench")
        raise rows.Fault(f"{claim.name}: {named}: its command `{other}` takes no other size or mesh")
    if mesh and "solves" in claim.programs:
        raise rows.Fault(f"{claim.name}: {named}: its solves are of cubes; give DOFS, or run build/solves on your problem")
    if mesh.endswith(".msh"):
        if dofs:
            raise rows.Fault(f"{claim.name}: {named}: a file has its own size; give one of both")
        if not pathlib.Path(mesh).is_file():
            raise rows.Fault(f"MESH={mesh}: there is no such file")
        mesh = str(pathlib.Path(mesh).resolve())
    elif mesh and not re.fullmatch(r"irregular|slender|box|\d+x\d+x\d+", mesh):
        raise rows.Fault(f"MESH={mesh}: is not FILE.msh, irregular, slender, box or cells as 20x20x80")
    if dofs and not re.fullmatch(r"[1-9]\d{1,9}", dofs):
        raise rows.Fault(f"DOFS={dofs}: is no number of degrees of freedom, as 3000000")
    if dofs and not matches(int(dofs), claim.select.get("n_dof", f">= {dofs}")):
        raise rows.Fault(f"{claim.name}: DOFS={dofs}: it is of {sizes_selected(claim)} degrees of freedom")
    if re.fullmatch(r"\d+x\d+x\d+", mesh) and not any(
            matches(3 * math.prod(steps * int(cells) + 1 for cells in mesh.split("x")), claim.select.get("n_dof", ">= 1"))
            for steps in (1, 2)):  # of linear and quadratic elements
        raise rows.Fault(f"{claim.name}: MESH={mesh}: it is of {sizes_selected(claim)} degrees of freedom")
    commands = []
    for text in claim.reproduce:
        for flag, value in zip(AXES[text.split()[0]], (dofs, mesh)):
            if value or mesh.endswith(".msh"):  # a file has its own size
                text = re.sub(rf" {flag}\S+", "", text)
            own = cells_for(value, text) if value and flag == "--cells " else shlex.quote(value)
            text += f" {flag}{own}" * bool(value)
        commands.append(text)
    return dataclasses.replace(claim, reproduce=tuple(commands))


def sizes_of(claim: Claim) -> str:
    """At which size and on which mesh its commands measure."""
    told = [f"{flag.strip(' -=').removeprefix('fe_')} {value}" for text in claim.reproduce
            for flag in AXES[text.split()[0]] for value in re.findall(rf" {flag}('[^']*'|\S+)", text)]
    return "; ".join(dict.fromkeys(told))


def command_of(text: str, build: pathlib.Path, folder: pathlib.Path, process: int) -> tuple[list[str], dict[str, str]]:
    """A program of the build with its flags, or `make bench` with its variables; and where they leave rows."""
    program, *words = shlex.split(text)
    if program == "bench":
        own = dict(word.split("=", 1) for word in words)
        return [sys.executable, "-m", "runner.run"], own | {"BUILD": str(build), "RESULTS": str(folder / str(process))}
    rows_of = folder / f"{program}.csv"
    flags = ([f"--fe_rows={rows_of}", f"--fe_process={process}"] if program == "kernels" else
             ["--rows", str(rows_of), "--process", str(process)])
    return [str(build / program), *words, *flags], {}


def measure(claim: Claim, build: pathlib.Path, folder: pathlib.Path, processes: int) -> None:
    """Fault where a program fails. The first process is the last one where its rows are of what the claim says nothing of."""
    for process in range(1, processes + 1):
        for text in claim.reproduce:
            command, variables = command_of(text, build, folder, process)
            told = [f"{name}={value}" for name, value in variables.items()] + command
            print(f"process {process} of {processes}: {' '.join(told)}", flush=True)
            run = subprocess.run(command, capture_output=True, text=True, cwd=model.ROOT, env=os.environ | variables)
            if run.returncode:
                why = (run.stderr.strip().splitlines() or ["it said nothing"])[-1]
                raise rows.Fault(f"{told[0]} ended with {run.returncode}: {why}")
        if process == 1 and outside(claim, rows_in(folder)) and decide(claim, HERE, [folder], alone=True).verdict == MISSING:
            return


def rows_in(folder: pathlib.Path) -> list[rows.Row]:
    return [row for path in rows.files_below(folder) for row in rows.read(path)]


def disturbed(measured: Sequence[rows.Row]) -> list[str]:
    """A line where rows do not count for that."""
    told = [rows.disturbed(row) for row in measured if "noise" in row]
    if not any(told):
        return []
    return [f"{sum(told)} of {len(told)} rows do not count: other programs used the machine, or times spread too far"]


def known(verdicts: Sequence[Verdict]) -> list[str]:
    """What committed rows say of it."""
    return [claims.dated(claims.describe(v), v) for v in verdicts]


AGREES, DIFFERS, ALONE = "agrees", "differs", "not compared"
NOT_HERE = f"direction: {MISSING} here; ratio: {ALONE}"
AGAINST, OFF, UNDECIDED, UNMEASURED = 1, 3, 4, 5  # exits; 0: reproduced, 2: faults
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

Pair = tuple[Decided, Decided]  # a point of here, and the committed one


def agreement(own: Decided, other: Decided, tolerance: float) -> str:
    a, b = own.ratio, other.ratio
    if max(a.value, b.value) <= (1 + tolerance) * min(a.value, b.value):
        return AGREES
    return UNSURE if a.low <= b.high and b.low <= a.high else DIFFERS


def pairs_of(here: Verdict, there: Verdict | None) -> list[Pair]:
    """Points of the same places, beside the same strategy and of the same host. there: of the same kind of machine."""
    return [(own, other) for own in here.points for other in (there.points if there else ())
            if (own.where, own.beside, own.host) == (other.where, other.beside, other.host)]


def of_ratios(pairs: Sequence[Pair], tolerance: float) -> str:
    """Of all: one that differs decides."""
    told = {agreement(own, other, tolerance) for own, other in pairs}
    return ALONE if not told else DIFFERS if DIFFERS in told else AGREES if told == {AGREES} else UNSURE


def beside_known(pairs: Sequence[Pair], tolerance: float) -> list[str]:
    """How many ratios agree with the committed ones, and a line for each that does not."""
    if not pairs:
        return ["no committed ratio of this kind of machine is of these places"]
    told = [(own, other, agreement(own, other, tolerance)) for own, other in pairs]
    n = sum(word == AGREES for _, _, word in told)
    why = {DIFFERS: "differs", UNSURE: "farther off, but intervals meet"}
    return [f"{n} of {len(pairs)} ratios agree with the committed ones of this kind of machine (within "
            f"{100 * tolerance:g} %)"] + [
        claims.place(own) + f": {interval_of(own)} here, {interval_of(other)} in {other.commit[:7]}: " +
        why[word] + sources.WORDS * other.is_old for own, other, word in told if word != AGREES]


def interval_of(point: Decided) -> str:
    return interval(point.ratio.value, point.ratio.low, point.ratio.high)


def beside_others(here: Verdict, others: Sequence[Verdict]) -> list[str]:
    """What committed rows of further kinds of machines say of the points of here, each word once."""
    places = [point.where for point in here.points]
    told = {overall([p for p in v.points if p.where in places]) for v in others}
    return sorted(told - {MISSING})


def decisive(here: Verdict) -> int:
    """Of how many processes the points are that decide."""
    of = [p.ratio.processes for p in here.points if here.verdict != FAILS or p.verdict == FAILS]
    return max(of) if here.verdict == FAILS else min(of)


def number(n: int) -> str:
    return NUMBERS[n] if n < len(NUMBERS) else str(n)


def by_few(here: Verdict, processes: int) -> str:
    """By how few processes, where that is fewer than were asked for, or than a claim rests on."""
    n = decisive(here)
    if QUANTITIES[here.claim.quantity].counted or n >= max(processes, rows.LEAST_PROCESSES):
        return ""
    why = f" of {number(processes)}: the machine is busy" if n < processes else ""
    return f" (by {number(n)} process{'es' * (n > 1)}{why})"


def compared(here: Verdict, pairs: Sequence[Pair], before: str, others: Sequence[Verdict]) -> tuple[str, bool]:
    """What committed rows say of the direction, in words, and whether that is against the rows of here. before: their
    verdict on the pairs."""
    fails = here.verdict == FAILS
    if pairs:
        swapped = any({own.verdict, other.verdict} == {HOLDS, FAILS} for own, other in pairs)
        if before == here.verdict:
            return ", as in committed rows" + ", but not at the same points" * swapped, swapped
        return f", in committed rows: {before}", swapped or fails
    told = beside_others(here, others)
    if told == [here.verdict]:
        return ", as in committed rows of other machines", False
    return f", in committed rows of other machines: {' or '.join(told)}" if told else "", fails


def outcome(here: Verdict, pairs: Sequence[Pair], tolerance: float, others: Sequence[Verdict] = (),
            processes: int = 1) -> tuple[str, int]:
    """The last line, and the exit. others: committed rows of further kinds of machines. processes: asked for."""
    if here.verdict == MISSING:
        return NOT_HERE, UNMEASURED
    ratio = of_ratios(pairs, tolerance)
    within = {AGREES: f" within {100 * tolerance:g} %", DIFFERS: f" by more than {100 * tolerance:g} %"}
    before = overall([other for _, other in pairs])
    words, is_against = compared(here, pairs, before, others)
    is_few = not QUANTITIES[here.claim.quantity].counted and decisive(here) < rows.LEAST_PROCESSES
    code = (AGAINST if is_against else OFF if ratio == DIFFERS else
            UNDECIDED if ratio == UNSURE or (here.verdict == UNSURE and before != UNSURE) else 0)
    if is_few and code in (AGAINST, OFF):
        code = UNDECIDED
    return f"direction: {here.verdict}{by_few(here, processes)}{words}; ratio: {ratio}{within.get(ratio, '')}", code


def lacks(claim: Claim) -> str:
    """Why nobody can measure it here, or ""."""
    if not claim.reproduce:
        return f"needs {claim.needs}"
    gpus = gpus_here()
    if gpus >= gpus_of(claim):
        return ""
    return {0: "there is no GPU", 1: "there is 1 GPU"}.get(gpus, f"there are {gpus} GPUs")


def introduce(claim: Claim, processes: int) -> None:
    print(f"{claim.name}: {claim.asks}")
    if not claim.reproduce:
        return
    print(f"needs {hardware(claim)}; processes: {processes}, at most about {claim.minutes:g} min each at its own size")
    yours = "DOFS=N takes" if "solves" in claim.programs else "DOFS=N and MESH=FILE.msh or MESH=irregular take"
    print(f"measured here: {sizes_of(claim)}; {yours} yours" if takes_sizes(claim)
          else "its commands take no other size or mesh (DOFS=, MESH=)", flush=True)


def run(a: argparse.Namespace) -> int:
    (claim,) = chosen([a.claim])
    claim = own_size(claim, a.dofs, a.mesh)
    if not 1 <= a.processes <= 99:
        raise rows.Fault(f"--processes {a.processes}: is not from 1 to 99")
    processes = 1 if QUANTITIES[claim.quantity].counted else a.processes  # counts are those of any process
    if why := lacks(claim):
        introduce(claim, processes)
        print(f"{why}\n{NOT_HERE}")
        return UNMEASURED
    if a.check:
        return 0
    build = a.build.resolve()
    for program in claim.programs:
        if program != "bench" and not (build / program).exists():
            raise rows.Fault(f"{a.build / program} is not there: make")
    introduce(claim, processes)
    folder = build / "reproduce" / claim.name
    with locked(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return told_by(claim, build, folder, processes)


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """For one run at a time; Fault where another one measures this claim there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise rows.Fault(f"{folder}: another run measures this claim there: wait for it, or name another --build") from error
        yield


def told_by(claim: Claim, build: pathlib.Path, folder: pathlib.Path, processes: int) -> int:
    """Measures, compares with committed rows, and says it."""
    measure(claim, build, folder, processes)
    verdict = decide(claim, HERE, [folder], alone=True)
    (_, before), = decide_all([claim])
    measured = rows_in(folder)
    machines = {row.get("machine") for row in measured}
    same = next((v for v in before if v.machine in machines), None)
    pairs = pairs_of(verdict, same)
    last, code = outcome(verdict, pairs, claim.tolerance, [v for v in before if v is not same], processes)
    lines = [claims.sentence(claim, [verdict]), claims.describe(verdict), *disturbed(measured),
             *outside(claim, measured), *(beside_known(pairs, claim.tolerance) if verdict.points else ()),
             *(f"before on {text}" for text in known(before)), last]
    (folder / "verdict.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return code


def main(words: list[str] | None = None) -> int:
    parser = Parser("report.reproduce", __doc__)
    parser.add_argument("claim")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--dofs", default="")
    parser.add_argument("--mesh", default="")
    parser.add_argument("--check", action="store_true", help="only whether there is such a claim, such sizes of it, and the GPUs that it needs")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    try:
        return run(parser.parse_args(words))
    except rows.Fault as fault:
        print(f"reproduce: {fault}", file=sys.stderr)
        return 2
    except OSError as fault:
        print(f"reproduce: {f'{fault.filename}: {fault.strerror}' if fault.filename else fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
