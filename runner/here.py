"""What this machine and this build have, and in which words that is said."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterable, Mapping

from report import sources
from runner import points

PROGRAMS = ("kernels", "solves", "peers", "scaling", "solve")
SOURCES = ("common", "variants", "bench", "meshgen", "oracle")


class Failure(Exception):
    """Ends the run with one line and exit code 1 (2: bad input)."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def say(text: str) -> None:
    print(f"bench: {text}", flush=True)


def warn(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def output_of(command: list[str]) -> str | None:
    """None where it fails or is not there."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id")


def identity() -> list[str]:
    """What tells this machine from others of its kind: its GPUs, or where there is none its boot; hashed, since rows are
    published. Empty where neither is known."""
    listed = (output_of(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]) or "").splitlines()
    names = [line.strip() for line in listed if line.startswith("GPU-")]
    if not names and BOOT.is_file():
        names = [BOOT.read_text().strip()]
    return sorted(hashlib.sha256(name.encode()).hexdigest()[:12] for name in names)


CPUINFO, NODES = pathlib.Path("/proc/cpuinfo"), pathlib.Path("/sys/devices/system/node")
NUMBER, SWITCH = r"\d+(?:\.\d+)?", "Enabled|Disabled"
ASKED = {  # by key in machine.csv: what nvidia-smi calls it, and what it says where it is known
    "gpu_power_limit_w": ("enforced.power.limit", NUMBER),
    "gpu_max_sm_mhz": ("clocks.max.sm", NUMBER),
    "gpu_max_memory_mhz": ("clocks.max.memory", NUMBER),
    "gpu_ecc": ("ecc.mode.current", SWITCH),
    "gpu_persistence": ("persistence_mode", SWITCH),
    "gpu_mig": ("mig.mode.current", SWITCH),
}


def _of_gpus(fields: list[str]) -> list[list[str]]:
    """What nvidia-smi says, a line for each GPU; none where it is not there or does not know one of the fields."""
    said = output_of(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]) or ""
    lines = [[cell.strip() for cell in line.split(",")] for line in said.splitlines()]
    return lines if all(len(line) == len(fields) for line in lines) else []


def _gpu_facts() -> dict[str, list[str]]:
    """Of all GPUs; where a driver does not know all fields, each is asked for alone."""
    fields = [field for field, _ in ASKED.values()]
    columns = [list(cells) for cells in zip(*_of_gpus(fields))]
    columns = columns or [[line[0] for line in _of_gpus([field])] for field in fields]
    found = {}
    for (key, (_, known)), cells in zip(ASKED.items(), columns):
        told = [cell for cell in cells if re.fullmatch(known, cell)]
        found[key] = [f"{float(cell):g}" if known == NUMBER else cell.lower() for cell in told]
    return found


def _processors() -> list[dict[str, str]]:
    """What the system says of each core."""
    try:
        text = CPUINFO.read_text(errors="replace")
    except OSError:
        return []
    return [dict(re.findall(r"(?m)^(\w[^:\n]*?)[ \t]*:[ \t]*(.*)$", core)) for core in text.split("\n\n")]


def record_name(cores: int, threads: str) -> str:
    """Of the record of this machine: a run's folder has one of each that measures it."""
    said = " ".join([*identity(), str(cores), threads])
    return f"machine-{hashlib.sha256(said.encode()).hexdigest()[:12]}.csv"


def facts() -> dict[str, list[str]]:
    """Of host and GPUs what a reader needs to judge a number, by key in machine.csv: each different value once, none
    where the machine does not tell it."""
    cores, parts = _processors(), ("cpu family", "model", "stepping")
    nodes = len(list(NODES.glob("node[0-9]*")))
    found = {
        "system": [f"{platform.system()} {platform.release()}".strip()],
        "cpu_stepping": [" ".join(f"{part.removeprefix('cpu ')} {core[part]}" for part in parts)
                         for core in cores if all(map(core.get, parts))],
        "microcode": [core["microcode"] for core in cores if core.get("microcode")],
        "numa_nodes": [str(nodes)] if nodes else [],
    } | _gpu_facts()
    return {key: list(dict.fromkeys(value.replace(",", " ") for value in values if value))
            for key, values in found.items()}


@functools.cache
def _python_with_gmsh() -> str:
    """Empty where there is none."""
    pythons = ("python3", "/usr/bin/python3")
    return next((python for python in pythons if output_of([python, "-c", "import gmsh"]) is not None), "")


def find_gmsh(variables: Iterable[str]) -> str:
    """A Python that can make the bracket's fine meshes. Gmsh's module may be the distribution's alone."""
    if "bracket" not in variables:
        return ""
    if python := _python_with_gmsh():
        return python
    warn("Gmsh's Python interface is not there (apt-get install python3-gmsh): the bracket's coarse meshes, refined, "
         "alone")
    return ""


def capacity_of(programs: dict[str, pathlib.Path], cores: int) -> dict[str, int]:
    """Ranks that the host and its GPUs can have, by `scaling`; without it a GPU or none."""
    if "scaling" in programs:
        lines = [line.split() for line in (output_of([str(programs["scaling"]), "--capacity"]) or "").splitlines()]
        found = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}
    else:
        found = {"host": cores}
    gpu = output_of([str(programs["kernels"]), "--fe_backend=cuda", "--fe_slug"]) is not None
    return found | {"cuda": max(found.get("cuda", 0), 1) if gpu else 0}


def first_kernels(build: pathlib.Path) -> pathlib.Path:
    """In doubles alone, built before all others."""
    return build / "first" / "kernels"


def find_programs(build: pathlib.Path, first_look: bool = False) -> dict[str, pathlib.Path]:
    if first_look:
        return {"kernels": first_kernels(build)}
    found = {name: build / name for name in PROGRAMS if os.access(build / name, os.X_OK)}
    if "kernels" not in found:
        raise Failure(f"{build}/kernels is not there: make info says what it needs")
    if "peers" in found and not shutil.which("mpirun"):
        del found["peers"]
    losses = {"solves": "no whole solves", "scaling": "no points on several ranks", "peers": "no PETSc"}
    for name, without in losses.items():
        if name not in found:
            warn(f"{build}/{name} is not there (make info says what it needs): {without}")
    return found


def peers_of(said: str) -> frozenset[tuple[str, str]]:
    """What `peers --version` says: "gamg: host, cuda" is ("gamg", "host") and ("gamg", "cuda")."""
    lines = [line.split(":") for line in said.splitlines() if line.startswith(("gamg:", "boomeramg:"))]
    return frozenset((name, backend.strip()) for name, where in lines for backend in where.split(","))


def find_here(environment: Mapping[str, str], few: Iterable[str],
              first_look: bool = False) -> tuple[points.Here, int]:
    """And how many cores there are. few: strategies of solves and scaling; none: all."""
    build = pathlib.Path(environment.get("BUILD") or "build")
    programs = find_programs(build, first_look)
    kernels = str(programs["kernels"])
    cores = int(output_of(["sh", "packaging/cores.sh"]) or 1)
    listed = [line.split()[0] for line in (output_of([kernels, "--fe_list"]) or "").splitlines() if line.split()]
    chosen = list(dict.fromkeys((environment.get("VARIANTS") or "").replace(",", " ").split()))
    for name in chosen:
        if listed and name not in ("element_only", *listed):
            raise Failure(f"VARIANTS: {name}: there is no such strategy in {kernels}; it has {' '.join(listed)}", 2)
    options = {name: output_of([str(path), "--help"]) or "" for name, path in programs.items()}
    counted = frozenset(name for name, text in options.items()
                        if f"--{'fe_' if name == 'kernels' else ''}process" in text)
    version = (output_of([kernels, "--version"]) or "").split()
    slug = (output_of([kernels, "--fe_slug"]) or "").strip()
    if len(version) < 2 or not slug or not listed:
        raise Failure(f"{kernels} does not run: it says neither its version, nor the machine, nor strategies")
    return points.Here(
        programs=programs, scratch=pathlib.Path(), strategies=tuple(chosen) or ("element_only", *listed),
        few=tuple(name for name in chosen or few or listed if name in listed), capacity=capacity_of(programs, cores),
        threads=environment.get("THREADS") or "", chose_strategies=bool(chosen), counts_processes=counted,
        peers=peers_of(output_of([str(programs["peers"]), "--version"]) or "" if "peers" in programs else ""),
        keeps_samples=frozenset(name for name, text in options.items() if "--samples" in text),
        quadratic="hex27" in options["kernels"], build=build,
        commit=version[1], machine=slug, record=record_name(cores, environment.get("THREADS") or "")), cores


def checksum(paths: Iterable[pathlib.Path]) -> int:
    """Of the files that are there."""
    found = 0
    for path in paths:
        if path.is_file():
            found = zlib.crc32(path.read_bytes(), found)
    return found


def flags_of(build: pathlib.Path) -> str:
    """A sum of the compilers' flags, without paths, which tell where a library is and not what is built, and warnings."""
    words = [word for path in sorted(build.glob("flags-*")) for word in path.read_text(errors="replace").split()
             if "/" not in word and not word.startswith("-W")]
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:12]


def settings_line(here: points.Here, repetitions: int, paper: bool) -> str:
    """Runs with one text belong into one folder: of one build, or of a paper, whose pieces may come from several builds
    of one commit."""
    version = output_of([str(here.programs["kernels"]), "--version"]) or ""
    shared = f"{'; '.join(version.splitlines())}; threads {here.threads or 'all'}, strategies " \
        f"{' '.join(here.strategies)} and {' '.join(here.few)}, repetitions {repetitions or 'as listed'}"
    dirty = here.commit.endswith("-dirty")
    flags = flags_of(here.build)
    if paper and not dirty:
        return f"paper; sources {sources.digest()}; flags {flags}; {shared}"
    changes = dirty or here.commit == "unknown"  # nothing else tells what was built
    files = sorted(path for top in SOURCES for path in pathlib.Path(top).rglob("*")) if changes else []
    sums = f"flags {flags}, sources {checksum(files)}"
    return f"{'paper; ' if paper else ''}{sums}; {shared}"
