"""How numbers, sizes and paragraphs are written, in all documents, tables and figures."""

import math
import textwrap


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


def table(head: list[str], lines: list[list[str]], words: int, behind: int = 0) -> list[str]:
    """Markdown. So many columns at the left and behind hold words, those between numbers."""
    marks = ["---"] * words + ["---:"] * (len(head) - words - behind) + ["---"] * behind
    return ["| " + " | ".join(head) + " |", "|" + "|".join(marks) + "|"] + ["| " + " | ".join(line) + " |" for line in lines]


def wrap(paragraph: str, indent: str = "") -> list[str]:
    """Lines of a document; further ones begin with `indent`."""
    return textwrap.wrap(paragraph, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
