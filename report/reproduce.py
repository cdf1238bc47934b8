"""Runs the smallest set of points that decides a claim, on this machine.

    python3 -m report.reproduce CLAIM [--processes 3] [--build build]

Says first what it costs and needs. Each process measures all points of the claim, so that both sides of a ratio are of the
same runs. Ends with one of: holds, fails, cannot tell, not measured; exit 1 where it fails. Rows and the verdict stay in
BUILD/reproduce/CLAIM/, to be sent back.
"""

from __future__ import annotations

import argparse
import pathlib
import shlex
import shutil
import subprocess
import sys

from report import claims, rows


def has_gpu() -> bool:
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def measure(claim: claims.Claim, kernels: pathlib.Path, folder: pathlib.Path, processes: int) -> None:
    """Fault where the program fails."""
    for process in range(1, processes + 1):
        for text in claim.reproduce:
            command = [str(kernels), *shlex.split(text), f"--fe_rows={folder / 'kernels.csv'}"]
            print(f"process {process} of {processes}: {' '.join(command)}", flush=True)
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode:
                raise rows.Fault(f"{kernels} ended with {run.returncode}: {run.stderr.strip() or 'it said nothing'}")


def known(claim: claims.Claim) -> list[str]:
    """What committed rows say of it."""
    (_, verdicts), = claims.decide_all([claim])
    return [claims.describe(v) for v in verdicts]


def run(a: argparse.Namespace) -> int:
    (claim,) = claims.chosen([a.claim])
    if not claim.reproduce:
        raise rows.Fault(f"{claim.name}: rests on {claim.file}, which no short run makes: make bench")
    kernels = a.build / "kernels"
    if not kernels.exists():
        raise rows.Fault(f"{kernels} is not there: make")
    if not 1 <= a.processes <= 99:
        raise rows.Fault(f"--processes {a.processes}: is not from 1 to 99")
    needs = " and ".join("a GPU" if b == "cuda" else "the host" for b in sorted(claims.backends_of(claim)))
    print(f"{claim.name}: {claim.asks}\nneeds {needs}; {a.processes} processes, about {claim.minutes:g} minutes each on a card",
          flush=True)
    if "cuda" in claims.backends_of(claim) and not has_gpu():
        print(f"{claims.MISSING}: there is no GPU")
        return 0
    folder = a.build / "reproduce" / claim.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    measure(claim, kernels, folder, a.processes)
    verdict = claims.decide(claim, "here", [folder])
    lines = [claims.sentence(claim, [verdict]), claims.describe(verdict), *(f"before on {text}" for text in known(claim)),
             verdict.verdict]
    (folder / "verdict.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return verdict.verdict == claims.FAILS


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m report.reproduce", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claim")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    try:
        return run(parser.parse_args(words))
    except rows.Fault as fault:
        print(f"reproduce: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
