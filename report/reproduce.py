"""Runs the smallest set of points that decides a claim, on this machine.

    python3 -m report.reproduce CLAIM [--processes 3] [--dofs N] [--mesh MESH] [--build build]

--dofs and --mesh (FILE.msh, irregular, slender, box, or 20x20x80 cells) instead of the claim's own size and mesh, where
its commands have such. Says first what it costs and needs. Each process measures all points of the claim, so that both
sides of a ratio are of the same runs. Says how far the ratios are from the committed ones of this kind of machine: they
agree within a tenth, which is what runs differ by, or where their intervals meet. Ends with one of: holds, fails, cannot
tell, not measured; exit 1 where it fails. Rows and the verdict stay in BUILD/reproduce/CLAIM/, to be sent back.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence

from report import packages

if __name__ == "__main__":
    packages.need("reproduce")

from report import claims, model, rows
from report.claim import Claim, chosen, gpus_of, hardware, matches
from report.model import ONE_PROCESS
from report.quantities import QUANTITIES
from report.text import digits
from report.verdicts import FAILS, MISSING, Decided, Verdict, decide, decide_all


def gpus_here() -> int:
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return len(done.stdout.splitlines()) if done.returncode == 0 else 0


AXES = {"kernels": ("--fe_dofs=", "--fe_mesh="), "scaling": ("--dofs ", "--mesh ")}  # size and mesh


def takes_sizes(claim: Claim) -> bool:
    return bool(claim.programs) and all(program in AXES for program in claim.programs)


def sizes_selected(claim: Claim) -> str:
    wanted = claim.select.get("n_dof", "any")
    return " or ".join(wanted) if isinstance(wanted, list) else str(wanted)


def outside(claim: Claim, measured: Sequence[rows.Row]) -> list[str]:
    """A line where rows are of elements or sizes that the claim says nothing of."""
    def other(column: str) -> list[rows.Value]:
        found = {row[column] for row in measured if row.get(column)}
        return sorted(v for v in found if column in claim.select and not matches(v, claim.select[column]))  # type: ignore[type-var]

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
        other = next((program for program in claim.programs if program not in AXES), "make bench")
        raise rows.Fault(f"{claim.name}: {named}: its command `{other}` takes no other size or mesh")
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
    commands = []
    for text in claim.reproduce:
        for flag, value in zip(AXES[text.split()[0]], (dofs, mesh)):
            if value or mesh.endswith(".msh"):  # a file has its own size
                text = re.sub(rf" {flag}\S+", "", text)
            text += f" {flag}{shlex.quote(value)}" * bool(value)
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
    """Fault where a program fails."""
    for process in range(1, processes + 1):
        for text in claim.reproduce:
            command, variables = command_of(text, build, folder, process)
            told = [f"{name}={value}" for name, value in variables.items()] + command
            print(f"process {process} of {processes}: {' '.join(told)}", flush=True)
            run = subprocess.run(command, capture_output=True, text=True, cwd=model.ROOT, env=os.environ | variables)
            if run.returncode:
                why = (run.stderr.strip().splitlines() or ["it said nothing"])[-1]
                raise rows.Fault(f"{told[0]} ended with {run.returncode}: {why}")


def disturbed(measured: Sequence[rows.Row]) -> list[str]:
    """A line where rows do not count for that."""
    told = [rows.disturbed(row) for row in measured if "noise" in row]
    if not any(told):
        return []
    return [f"{sum(told)} of {len(told)} rows do not count: other programs used the machine, or times spread too far"]


def known(verdicts: Sequence[Verdict]) -> list[str]:
    """What committed rows say of it."""
    return [claims.dated(claims.describe(v), v) for v in verdicts]


def agree(own: Decided, other: Decided) -> bool:
    a, b = own.ratio, other.ratio
    return max(a.value, b.value) <= ONE_PROCESS * min(a.value, b.value) or (a.low <= b.high and b.low <= a.high)


def beside_known(here: Verdict, there: Verdict | None) -> list[str]:
    """Ratios of here over the committed ones of the same places; there: of the same kind of machine, or None."""
    if not here.points:
        return []
    pairs = [(own, other) for own in here.points for other in (there.points if there else ())
             if (own.where, own.beside) == (other.where, other.beside)]
    if not pairs:
        return ["no committed ratio of this kind of machine is of these places"]
    off = [(own, other) for own, other in pairs if not agree(own, other)]
    told = [f"{claims.place(own)}: {digits(own.ratio.value)} here, {digits(other.ratio.value)} "
            f"({digits(other.ratio.low)}–{digits(other.ratio.high)}) in {other.commit[:7]}: differs" for own, other in off]
    return [f"{len(pairs) - len(off)} of {len(pairs)} ratios agree with the committed ones of this kind of machine (within "
            f"{100 * (ONE_PROCESS - 1):.0f} %, or intervals meet)", *told]


def run(a: argparse.Namespace) -> int:
    (claim,) = chosen([a.claim])
    claim = own_size(claim, a.dofs, a.mesh)
    if not claim.reproduce:
        if not a.check:
            print(f"{claim.name}: {claim.asks}\nneeds {claim.needs}\n{MISSING}")
        return 0
    if a.check:
        return 0
    build = a.build.resolve()
    for program in claim.programs:
        if program != "bench" and not (build / program).exists():
            raise rows.Fault(f"{a.build / program} is not there: make")
    if not 1 <= a.processes <= 99:
        raise rows.Fault(f"--processes {a.processes}: is not from 1 to 99")
    processes = 1 if QUANTITIES[claim.quantity].counted else a.processes  # counts are those of any process
    print(f"{claim.name}: {claim.asks}\nneeds {hardware(claim)}; processes: {processes}, at most about "
          f"{claim.minutes:g} min each at its own size")
    print(f"measured here: {sizes_of(claim)}; DOFS=N and MESH=FILE.msh or MESH=irregular take yours" if takes_sizes(claim)
          else "its commands take no other size or mesh (DOFS=, MESH=)", flush=True)
    if gpus_here() < gpus_of(claim):
        print(f"{MISSING}: there {'is no GPU' if gpus_here() == 0 else f'are {gpus_here()} GPUs'}")
        return 0
    folder = build / "reproduce" / claim.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    measure(claim, build, folder, processes)
    verdict = decide(claim, "here", [folder], alone=True)
    (_, before), = decide_all([claim])
    measured = [row for path in rows.files_below(folder) for row in rows.read(path)]
    machines = {row.get("machine") for row in measured}
    same = next((v for v in before if v.machine in machines), None)
    lines = [claims.sentence(claim, [verdict]), claims.describe(verdict), *disturbed(measured),
             *outside(claim, measured), *beside_known(verdict, same),
             *(f"before on {text}" for text in known(before)), verdict.verdict]
    (folder / "verdict.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return verdict.verdict == FAILS


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m report.reproduce", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claim")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--dofs", default="")
    parser.add_argument("--mesh", default="")
    parser.add_argument("--check", action="store_true", help="only whether there is such a claim, and such sizes of it")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    try:
        return run(parser.parse_args(words))
    except (rows.Fault, OSError) as fault:
        print(f"reproduce: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
