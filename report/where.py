"""Where a claim holds, fails and is undecided, as a short phrase: points merged over card, element, mesh, operation
and size."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from report import words
from report.cases import shape_of_mesh
from report.rows import LEAST_PROCESSES
from report.text import count, listed
from report.verdicts import FAILS, HOLDS, UNSURE, Decided, Verdict

# In the order in which an axis stops being named where the others say as much.
AXES = ("operation", "element", "mesh", "further", "strategy", "ranks", "card")
CARD = AXES.index("card")
# Groups of one verdict that a phrase lists, and letters; of more it has the number and what they span.
MOST, LONG, SHORT = 3, 200, 70
PLAIN = {HOLDS: "holds", FAILS: "fails", UNSURE: "undecided"}
EXPECTED = {HOLDS: "met", FAILS: "not met", UNSURE: "undecided"}


@dataclasses.dataclass(frozen=True)
class Place:
    """What points of one verdict have in common. at: a value for each axis, "" where it does not matter."""

    at: tuple[str, ...]
    size: float  # degrees of freedom, with the digits that are told; 0: of no mesh
    verdict: str


def is_apart(p: Decided) -> bool:
    """It cannot hold, because a strategy was not measured there: the sentence tells such points apart."""
    return bool(p.lacks) and p.verdict == UNSURE


def is_open(p: Decided) -> bool:
    """It is undecided, and fewer processes measured it than an interval takes."""
    return p.verdict == UNSURE and p.ratio.processes < LEAST_PROCESSES


def card(machine: str, where: Mapping[str, object]) -> str:
    """Of rows of a host beside a GPU: H100's host."""
    of_host = where.get("backend") == "host" and machine.startswith("nvidia-")
    return words.machine(machine) + "'s host" * of_host


def _further(where: Mapping[str, object]) -> str:
    """Of what is no product on a mesh."""
    if "problem" not in where:
        return ""
    return f"{where['problem']} ({where['jacobian']}, depth {where['depth']})"


def _operation(name: str) -> str:
    return "GMRES" if name.startswith("gmres") else words.several(name)


def places(verdicts: Iterable[Verdict]) -> tuple[Place, ...]:
    """One for all points that a phrase cannot tell apart."""
    at: dict[tuple[tuple[str, ...], float], list[Decided]] = {}
    for v in verdicts:
        for p in v.points:
            if is_apart(p):
                continue
            w = p.where
            element, mesh = str(w.get("element") or ""), shape_of_mesh(str(w.get("case") or ""))
            ranks = int(w.get("ranks") or 1)
            named = {"card": card(v.machine, w), "ranks": f"{ranks} GPUs" if ranks > 1 else "",
                     "element": words.ELEMENT.get(element, element), "mesh": words.MESHES.get(mesh, mesh),
                     "operation": _operation(str(w.get("operation") or "")), "further": _further(w),
                     "strategy": f"`{w['variant']}`" if w.get("variant") else ""}
            size = float(f"{int(w.get('n_dof') or 0):.3g}")
            at.setdefault((tuple(named[axis] for axis in AXES), size), []).append(p)
    return tuple(Place(*key, _verdict(some)) for key, some in at.items())


def _verdict(some: Sequence[Decided]) -> str:
    """Fails where one does, holds where all do. One of too few processes to decide leaves it to those that have enough.
    """
    enough = any(p.ratio.processes >= LEAST_PROCESSES for p in some)
    told = {p.verdict for p in some if not (enough and is_open(p))}
    return next(one for one in (FAILS, UNSURE, HOLDS) if one in told)


def sizes(own: Iterable[float], other: Iterable[float]) -> str | None:
    """Which sizes are the own ones, of those that are there; "": all of them; None: what cannot be said."""
    mine, others = sorted(set(own)), sorted(set(other))
    if not others:
        return ""
    if set(mine) & set(others):
        return None
    if len(mine) > 1 and mine[0] > others[-1]:
        return f"from {count(mine[0])} DoF on"
    if len(mine) > 1 and mine[-1] < others[0]:
        return f"up to {count(mine[-1])} DoF"
    runs = [list(run) for _, run in itertools.groupby(mine, key=lambda n: sum(o < n for o in others))]
    return "at " + listed(" to ".join(dict.fromkeys(count(n) for n in (run[0], run[-1]))) for run in runs) + " DoF"


Chosen = dict[int, frozenset[str]]  # values of an axis by its number; what is not in it may have any


class Group:
    """All places whose values are among those chosen."""

    def __init__(self, all_places: Sequence[Place], verdict: str, chosen: Chosen) -> None:
        self.chosen = chosen
        inside = [p for p in all_places if all(p.at[axis] in some for axis, some in chosen.items())]
        self.own = frozenset(p for p in inside if p.verdict == verdict)
        self.sizes = sizes((p.size for p in self.own), (p.size for p in inside if p.verdict != verdict))
        self.inside = len(inside)

    @property
    def is_whole(self) -> bool:
        return self.sizes is not None

    @property
    def limit(self) -> str:
        """Sizes, where others of the group are all smaller or all larger."""
        return "" if (self.sizes or "").startswith("at ") else self.sizes or ""

    @property
    def text(self) -> str:
        return ", ".join(part for part in (self.without_sizes, self.sizes) if part)

    @property
    def without_sizes(self) -> str:
        at = {name: sorted(self.chosen.get(i, ()), key=str.lower) for i, name in enumerate(AXES)}
        subject = " of ".join(listed(some) for some in (at["mesh"], at["element"]) if some)
        operations = listed(at["operation"]).replace("elastic products and tangent", "tangent and elastic")
        strategies = listed(at["strategy"]) if len(at["strategy"]) <= MOST else f"{len(at['strategy'])} strategies"
        parts = [("on", listed(at["card"])), ("with", listed(at["ranks"])), ("on" if at["mesh"] else "with", subject),
                 ("in", operations), ("by", strategies), ("on", listed(at["further"]))]
        return ", ".join(f"{where} {what}" for where, what in parts if what)


def _named(all_places: Sequence[Place], group: Group, verdict: str) -> Group:
    """The same places with as few axes named as tell them."""
    for axis in list(group.chosen):
        fewer = Group(all_places, verdict, {i: some for i, some in group.chosen.items() if i != axis})
        if fewer.inside == group.inside:
            group = fewer
    return group


def _grown(group_of: Callable[[Chosen], Group], values: Sequence[Sequence[str]], seed: Place,
           order: Sequence[int]) -> Group:
    """From one place along axis after axis, as far as no other verdict is inside."""
    group = group_of({axis: frozenset([value]) for axis, value in enumerate(seed.at)})
    for axis in order:
        for value in values[axis]:
            wider = group_of({**group.chosen, axis: group.chosen[axis] | {value}})
            if wider.is_whole and len(wider.own) > len(group.own):
                group = wider
    return group


@functools.cache
def groups(all_places: tuple[Place, ...], verdict: str) -> list[Group]:
    """As few as a greedy search finds, which together are the places of a verdict: each time the one with most of those
    that are left, the shorter one of equals."""
    made: dict[tuple[frozenset[str], ...], Group] = {}

    def group_of(chosen: Chosen) -> Group:
        key = tuple(chosen[axis] for axis in range(len(AXES)))
        if key not in made:
            made[key] = Group(all_places, verdict, chosen)
        return made[key]

    values = [sorted({p.at[axis] for p in all_places}) for axis in range(len(AXES))]
    orders = list(itertools.permutations(axis for axis, some in enumerate(values) if len(some) > 1))
    left, found = {p for p in all_places if p.verdict == verdict}, []
    while left:
        seeds = {p.at: p for p in sorted(left, key=lambda p: (p.at, p.size))}.values()
        grown = [_grown(group_of, values, seed, order) for seed in seeds for order in orders]
        best = max(grown, key=lambda g: (len(g.own & left), not g.sizes, -len(g.text)))
        left -= best.own
        found.append(best)
    return [_named(all_places, group, verdict) for group in _trimmed(all_places, found, verdict)]


def _trimmed(all_places: Sequence[Place], found: list[Group], verdict: str) -> list[Group]:
    """Without values whose places other groups have, too."""
    for group in list(found):
        k = found.index(group)
        needed = group.own - frozenset().union(*(g.own for g in found[:k] + found[k + 1:]))
        chosen = {axis: frozenset(p.at[axis] for p in needed) for axis in group.chosen}
        less = Group(all_places, verdict, chosen)
        found[k:k + 1] = [less if less.is_whole else group] * bool(needed)
    return found


def _spanned(all_places: Sequence[Place], verdict: str) -> Group:
    """What the places of a verdict span; others may lie between them."""
    own = [p for p in all_places if p.verdict == verdict]
    chosen = {i: frozenset(p.at[i] for p in own) for i in range(len(AXES))}
    return _named(all_places, Group(all_places, verdict, chosen), verdict)


def _each(all_places: tuple[Place, ...], verdict: str, letters: int) -> str:
    """Group by group; of too many the number, and what they span."""
    found = groups(all_places, verdict)
    text = ", and ".join(group.text for group in found)
    if len(found) <= MOST and len(text) <= letters:
        return text
    n, span = sum(p.verdict == verdict for p in all_places), _spanned(all_places, verdict).without_sizes
    return ", ".join(part for part in (f"at {n} of {len(all_places)} places", span) if part)


def _told(all_places: tuple[Place, ...], main: str, told: Mapping[str, str], undecided: int) -> tuple[int, str]:
    """One verdict by what its places span, the others as exceptions from that. Where one of these is a number, it has
    its own, of all, too: nobody should have to subtract. Before it, of how many exceptions there is only a number."""
    span = _spanned(all_places, main)
    on_cards = frozenset(p.at[CARD] for p in all_places if p.verdict == main)
    span = Group(all_places, main, {**span.chosen, CARD: on_cards})
    where = ", ".join(part for part in (span.without_sizes, span.limit) if part)
    others = [verdict for verdict in told if verdict != main and any(p.verdict == verdict for p in all_places)]
    said = [f"{told[verdict]} {_each(all_places, verdict, undecided if verdict == UNSURE else LONG)}"
            for verdict in others]
    of_all = f" of {len(all_places)} places"
    if numbers := sum(of_all in one for one in said):
        where = f"at {sum(p.verdict == main for p in all_places)}{of_all}, {where}"
    return numbers, ", but ".join([f"{told[main]} {where}", *["; ".join(said).replace(of_all, "")] * bool(said)])


def phrase(verdicts: Sequence[Verdict], undecided: int = LONG) -> str:
    """holds on H100 and H200, but fails on H200, boxes of Tet4, at 986 K DoF. One verdict is told by what its places
    span, the others as exceptions: that of most places, or one of more than a quarter with which more can be listed or
    that is shorter. "" without points that can hold. undecided: letters that list where it is so."""
    told = EXPECTED if any(v.claim.judges_expectation for v in verdicts) else PLAIN
    found = places(verdicts)
    number = collections.Counter(p.verdict for p in found)
    most = max(number.values(), default=0)
    mains = [verdict for verdict in told if 0 < number[verdict] == most or 4 * number[verdict] > len(found)]
    if len(mains) > 1 and 2 * number[UNSURE] < len(found):
        mains = [verdict for verdict in mains if verdict != UNSURE]
    texts = [_told(found, main, told, undecided) for main in mains]
    return min(texts, key=lambda one: (one[0], len(one[1])), default=(0, ""))[1]
