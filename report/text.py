"""How numbers, sizes and paragraphs are written, in all documents, tables and figures."""

import math
import textwrap
from collections.abc import Iterable


def digits(value: float) -> str:
    """Three significant digits, never an exponent: 23.7, 0.0123, 1290."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    decimals = 2 - math.floor(math.log10(abs(float(f"{value:.2e}"))))
    return f"{value:.{max(decimals, 0)}f}" if decimals >= 0 else f"{round(value, decimals):.0f}"


def interval(value: float, low: float, high: float) -> str:
    return f"{digits(value)} ({digits(low)}–{digits(high)})"


def count(n: float) -> str:
    """Degrees of freedom: 98.3 K, 6.44 M."""
    return f"{digits(n / 1e6)} M" if n >= 999_500 else f"{digits(n / 1e3)} K" if n >= 1000 else f"{n:.0f}"


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value / 1e-9)} ns"


def listed(words: Iterable[str]) -> str:
    """a, b and c"""
    items = list(words)
    return ", ".join(items[:-1]) + " and " + items[-1] if len(items) > 1 else "".join(items)


def table(head: list[str], lines: list[list[str]], words: int, behind: int = 0, aligned: bool = False) -> list[str]:
    """Markdown. So many columns at the left and behind hold words, those between numbers. aligned: columns stand below
    each other."""
    left = [i < words or i >= len(head) - behind for i in range(len(head))]
    widths = [max(len(line[i]) for line in [head, *lines]) if aligned else 0 for i in range(len(head))]
    rule = "|".join("-" * max(w + 2, 3) if of_words else "-" * max(w + 1, 3) + ":" for w, of_words in zip(widths, left))

    def padded(line: list[str]) -> str:
        return " | ".join(t.ljust(w) if of_words else t.rjust(w) for t, w, of_words in zip(line, widths, left))

    first, *others = [f"| {padded(line)} |" for line in [head, *lines]]
    return [first, f"|{rule}|", *others]


def wrap(paragraph: str, indent: str = "") -> list[str]:
    """Lines of a document; further ones begin with `indent`."""
    return textwrap.wrap(paragraph, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
