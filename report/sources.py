"""Which sources a row depends on, and whether they have changed since its commit.

What counts is what was measured, not what measures: a change of bench/ that changes the meaning of a row raises its
schema number.

    a strategy          its folder in variants/, and the folders of strategies that its sources name
    scaling.csv         also common/ranks and common/krylov
    solves, anderson, communication
                        also common/ranks, common/krylov, common/multigrid and common/solver
    forms.csv           also bench/forms
    with contact        also common/contact
    all                 the headers that these include, directly or not, without those of bench/, and the files beside
                        a header that have its name (device.h: device.c; state.h: state_host.c, state_cuda.cu); the
                        orders of a mesh
    backend             host: no *.cu, *_cuda.h and cuda*; cuda: no host* and *_host.c

    a run               everything above, whatever strategy, with the problems and meshes of INPUTS

A row's sources are those files with their contents, as git hashes them, comments included, Markdown not. Unknown, and
told by no mark, is what has no commit here (a clone without history, uncommitted changes, no git).
"""

from __future__ import annotations

import functools
import hashlib
import pathlib
import re
import subprocess
from collections.abc import Mapping

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "†"
NOTE = f"{MARK}: measured from sources that have changed since, those of a strategy or what it shares with others."
FOOT = f"{NOTE[:-1]} ([rule](../report/sources.py))."
WORDS = ", from older sources"  # behind what rows of a machine say, where there is no foot

SUFFIXES = (".c", ".h", ".cu", ".cc")
FOLDERS = ("common", "variants", "bench")
ORDERS = tuple(f"common/mesh/{name}.c" for name in ("arrange", "bisect", "cuthill_mckee", "pieces", "reorder"))
SOLVER = ("common/ranks/", "common/krylov/", "common/multigrid/", "common/solver/")
FURTHER = {"scaling.csv": SOLVER[:2], "solves.csv": SOLVER, "anderson.csv": SOLVER, "communication.csv": SOLVER,
           "forms.csv": ("bench/forms/",)}

MEASURED = ("common/", "variants/", "bench/forms/", "bench/element_only")  # what a row of any file can depend on
UNTIMED = ("common/base/alike.", "common/base/file.", "common/base/lock.")  # but for names, texts and locks of files
# What is solved and on which meshes; no row tells it, and a run is of one.
INPUTS = ("bench/problems/", "meshgen/irregular.c", "meshgen/box.c", "meshgen/bracket/", "variants/variants.def")

COMMIT = re.compile(r"[0-9a-f]{7,40}")  # with "-dirty" behind it nobody knows what was changed
Tree = dict[str, str]  # hash of each file by its path


@functools.cache
def _all_of(commit: str) -> Tree | None:
    """Of all files of FOLDERS and meshgen. None where there is no such commit here."""
    if not COMMIT.fullmatch(commit):
        return None
    try:
        done = subprocess.run(["git", "ls-tree", "-r", commit, "--", *FOLDERS, "meshgen"], cwd=ROOT, capture_output=True,
                              text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return {path: about.split()[2] for about, path in lines}


@functools.cache
def _all_now() -> Tree:
    """Of the files as they are, of those that count."""
    found: Tree = {}
    for folder in (*FOLDERS, "meshgen"):
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            if (path.suffix in SUFFIXES or name.startswith(INPUTS)) and path.is_file():
                data = path.read_bytes()
                found[name] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    return found


def _sources(tree: Tree) -> Tree:
    return {path: found for path, found in tree.items() if path.startswith(tuple(f"{f}/" for f in FOLDERS)) and path.endswith(SUFFIXES)}


@functools.cache
def tree_of(commit: str) -> Tree | None:
    """None where there is no such commit here."""
    tree = _all_of(commit)
    return None if tree is None else _sources(tree)


@functools.cache
def tree_now() -> Tree:
    return _sources(_all_now())


@functools.cache
def strategies() -> tuple[str, ...]:
    """In the order of variants/variants.def."""
    return tuple(re.findall(r"^FE_VARIANT\((\w+)\)", (ROOT / "variants/variants.def").read_text(), re.MULTILINE))


@functools.cache
def folders_of(variant: str) -> tuple[str, ...]:
    """Of a strategy and of those that its sources name; none of what is no strategy."""
    texts = {folder.name: "".join(path.read_text() for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES)
             for folder in sorted((ROOT / "variants").iterdir()) if folder.is_dir()}
    home = {name: folder for folder, text in texts.items() for name in re.findall(r'\.name = "(\w+)"', text)}
    wanted = [home[variant]] if variant in home else []
    for folder in wanted:
        named = re.findall(r'"(\w+)"|#include "variants/(\w+)/', texts[folder])
        wanted += [other for pair in named for word in pair if (other := home.get(word, word)) in texts
                   and other not in wanted]
    return tuple(f"variants/{folder}/" for folder in dict.fromkeys(wanted))


def _of_backend(path: str, backend: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    if backend == "host":
        return not (name.endswith((".cu", "_cuda.h")) or name.startswith("cuda"))
    return backend != "cuda" or name == "host_device.h" or not (name.startswith("host") or name.endswith("_host.c"))


@functools.cache
def files_of(kind: str, variant: str, backend: str, contact: bool = False) -> tuple[str, ...]:
    """Paths, as the sources are now: where another file was included earlier, the one that included it has changed."""
    places = FURTHER.get(kind, ()) + (("common/contact/",) if contact else ()) + (folders_of(variant) or (f"bench/{variant}",))
    there = tree_now()
    found = [path for path in there if path.startswith(places)]
    for path in found:  # grows
        for name in re.findall(r'#include "((?:common|variants)/[^"]+)"', (ROOT / path).read_text()):
            if name in there and name not in found:
                found.append(name)
    stems = {path.removesuffix(".h") for path in found if path.endswith(".h")}
    beside = [path for path in there if re.sub(r"(_host|_cuda)?\.(c|cu|cc)$", "", path) in stems]
    return tuple(sorted(path for path in {*found, *beside, *ORDERS} if _of_backend(path, backend)))


@functools.cache
def changed(commit: str, kind: str, variant: str, backend: str, contact: bool = False) -> bool | None:
    """Whether the sources of such rows differ between a commit and now; None where nobody can tell. kind: of file.
    contact: of operations with contact."""
    tree = tree_of(commit)
    if tree is None:
        return None
    return any(tree.get(path) != tree_now().get(path) for path in files_of(kind, variant, backend, contact))


def is_old(kind: str, row: Mapping[str, object]) -> bool:
    """Whether the sources of a row have changed since; False where nobody can tell."""
    return bool(changed(str(row["commit"]), kind, str(row["variant"]), str(row.get("backend", "")),
                        has_contact(row.get("operation"))))


def alike(one: str, other: str, kind: str, variant: str, backend: str, contact: bool = False) -> bool:
    """Whether the sources of such rows are the same at two commits; without their trees only those of one commit."""
    tree, other_tree = tree_of(one), tree_of(other)
    if tree is None or other_tree is None:
        return one == other and COMMIT.fullmatch(one) is not None
    return all(tree.get(path) == other_tree.get(path) for path in files_of(kind, variant, backend, contact))


def _measured(tree: Tree) -> list[tuple[str, str]]:
    """What a run is of: files that a row of any kind can depend on, problems and meshes. Markdown does not count."""
    def counts(path: str) -> bool:
        if path.startswith(INPUTS):
            return not path.endswith(".md")
        return path.startswith(MEASURED) and path.endswith(SUFFIXES) and not path.startswith(UNTIMED)

    return sorted((path, found) for path, found in tree.items() if counts(path))


def all_alike(one: str, other: str) -> bool:
    """Whether no file that a run is of differs between two commits."""
    tree, other_tree = _all_of(one), _all_of(other)
    return tree is not None and other_tree is not None and _measured(tree) == _measured(other_tree)


def digest() -> str:
    """Of the files that a run is of, as they are: where two are equal, nobody needs their commits."""
    return hashlib.sha256(repr(_measured(_all_now())).encode()).hexdigest()[:12]


def has_contact(operation: object) -> bool:
    return "_contact" in str(operation)


def marked(commit: str, is_changed: bool | None, length: int = 7) -> str:
    """The commit's first letters, with a mark where the sources have changed since."""
    return commit[:length] + (MARK if is_changed else "")


def marked_row(commit: str, kind: str, variant: str, backend: str) -> str:
    """The same of such a row. kind: of file."""
    return marked(commit, changed(commit, kind, variant, backend))


def without_marks(text: str) -> str:
    """A generated text as it is when nothing has changed, for comparing: marks go with code, and must not make a
    document out of date. Lines break where they do, so that blanks do not count."""
    flat = re.sub(r"\s+", " ", text).strip()
    for mark in (FOOT, NOTE, WORDS, MARK):
        flat = flat.replace(mark, "")
    return re.sub(r"\s+", " ", flat).strip()
