"""What docs/predictions.md says of products on chips that were not measured, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from report import captions, choice, prediction_check, sources, text
from report.model import Model
from report.places import places
from report.predict import (CARDS, FREE, OPEN, PRODUCTS, WITH_MATRIX, Operation, Pair, balances, chips, groups, matched,
                            measured, split_all, who_must_win)
from report.rows import LEAST_PROCESSES, Fault
from report.text import digits, wrap
from report.words import ELEMENT, ELEMENTS, MAIN, OPERATION, machine

WHO = {FREE: "no matrix", WITH_MATRIX: "matrix", OPEN: "open"}
Groups = dict[tuple[str, str], list[Pair]]


def ordered(read: Model) -> Groups:
    found = groups(read)
    return {key: found[key] for element in ELEMENTS for product in PRODUCTS if (key := (element, product)) in found}


def heads(element: str, operation: str) -> list[str]:
    return [ELEMENT[element], OPERATION[operation]]


def rounded(balance: float | None, up: bool) -> str:
    """To two digits, outwards, so that what is said of chips beyond it stays true."""
    if balance is None:
        return "-"
    unit = 10.0 ** (math.floor(math.log10(balance)) - 1)
    return f"{unit * (math.ceil if up else math.floor)(balance / unit):.2g}"


def verdicts(read: Model, found: Groups) -> list[str]:
    """Who was the fastest on cards that are here, what the other one foretold, and who must win on other chips."""
    there = places(read.kernels)
    lines = []
    for key, some in found.items():
        line = heads(*key)
        for i in range(len(CARDS)):
            place = prediction_check.place_of((some[0].narrow, some[0].wide)[i])
            ratio = prediction_check.matrix_over_free(there.get(place, []))
            line += [choice.told(ratio, False) if ratio else "-", WHO[prediction_check.foretold(some, i)]]
        parts = tuple(split_all(some))
        below, above = balances(parts)
        line += [WHO[who_must_win(parts, chip)] for chip in chips()]
        lines.append([*line, rounded(below, False), rounded(above, True)])
    names = [machine(m) for m in CARDS]
    told = [words for of, other in (names, names[::-1]) for words in (f"{of}, measured", f"foretold by {other}")]
    head = ["element", "product", *told, *(c.name for c in chips()), "matrix below", "no matrix above"]
    return text.table(head, lines, 2)


def errors(found: Groups) -> list[str]:
    """What one card tells of the other, strategy by strategy."""
    lines = []
    for key, some in found.items():
        line = heads(*key)
        for of in (1, 0):
            e = prediction_check.errors(some, of)
            line += [f"{e.within} of {len(some)}", f"{signed(e.off[0])} to {signed(e.off[-1])}" if e.off else "-"]
        lines.append(line)
    narrow, wide = map(machine, CARDS)
    return text.table(["element", "product", f"{wide} from {narrow}: within bounds", "one number off by",
                       f"{narrow} from {wide}: within bounds", "one number off by"], lines, 2)


def signed(share: float) -> str:
    return f"{100 * share:+.0f} %".replace("-", "−")


def shown(there: Sequence[Operation]) -> list[Operation]:
    """The main strategies, and those that are the fastest at worst on some chip."""
    fastest = {min(there, key=lambda o: o.seconds(chip)[1]).variant for chip in chips()}
    return sorted((o for o in there if o.variant in fastest.union(MAIN)), key=lambda o: o.seconds(chips()[0])[1])


def throughputs(found: Groups) -> list[str]:
    """Of each strategy on each chip, as intervals; bold: no other one is sure to be faster."""
    lines = []
    for key, some in found.items():
        there = split_all(some)
        sure = [min(o.seconds(chip)[1] for o in there) for chip in chips()]
        for o in shown(there):
            cells = []
            for chip, lead in zip(chips(), sure):
                best, worst = o.seconds(chip)
                said = f"{digits(o.n_dof / worst / 1e9)}–{digits(o.n_dof / best / 1e9)}"
                cells.append(f"**{said}**" if best <= lead else said)
            lines.append([*heads(*key), f"`{o.variant}`", *cells])
    return text.table(["element", "product", "strategy", *(c.name for c in chips())], lines, 3)


def lacking(read: Model, found: Groups) -> str:
    """What is not predicted, and why."""
    full = any(operation == "jacvec_full" for _, operation in found)
    floats = any(matched(read, points) for points in measured(read, in_floats=True))
    words = ["products in floats"] * (not floats) + ["products with tangents of 21 numbers"] * (not full)
    why = f"Of {' and of '.join(words)} no sources were measured on both cards. So they are not predicted."
    return " ".join([why] * bool(words) + ["Products in floats are not predicted."] * floats)


def winners(read: Model, found: Groups) -> list[str]:
    """With the rows that all parts are from."""
    points = [p for some in found.values() for pair in some[:1] for p in (pair.narrow, pair.wide)]
    meshes = " and ".join(dict.fromkeys(text.count(p.n_dof) for p in points))
    return [*wrap(f"From rows of {captions.where(p.run for p in points)}, boxes with {meshes} degrees of freedom. "
                  f"{sources.NOTE} {lacking(read, found)} ¹: fewer than {LEAST_PROCESSES} processes."), "",
            *verdicts(read, found)]


def check(read: Model, found: Groups) -> list[str]:
    times = prediction_check.foretold_each(read)
    cases = sum(times.values())
    said = (f"Both cards measured {cases // 2} products with both matrices, on all meshes together. In these "
            f"{cases} cases the other card alone foretold the winner {times['right']} times. It left the winner open "
            f"{times[OPEN]} times, and it was wrong {times['wrong']} times.")
    return [*wrap(said), "", *errors(found)]


PARTS: dict[str, Callable[[Model, Groups], list[str]]] = {
    "winners": winners, "check": check, "throughputs": lambda _, found: throughputs(found)}


def part(name: str, read: Model) -> list[str]:
    """Fault where there is no such part."""
    if name not in PARTS:
        raise Fault(f"<!-- predictions: {name} -->: is not one of {', '.join(PARTS)}")
    return PARTS[name](read, ordered(read))
