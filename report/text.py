"""How sizes and paragraphs are written."""

import textwrap


def size(n_dof: float | int | str | None) -> str:
    """Degrees of freedom: 6.44 M, 98.3 K."""
    n = float(n_dof or 0)
    return f"{n / 1e6:.3g} M" if n >= 1e6 else f"{n / 1e3:.3g} K"


def wrap(paragraph: str, indent: str = "") -> list[str]:
    """Lines of a document; further ones begin with `indent`."""
    return textwrap.wrap(paragraph, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
