"""The few marks that texts of the report have (code, links, bold, emphasis), put into Markdown, HTML and LaTeX."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

CODE, LINK, STRONG, EMPHASIS = r"`([^`]+)`", r"\[([^\]]+)\]\(([^)]+)\)", r"\*\*([^*]+)\*\*", r"\*([^*]+)\*"
MARKUP = re.compile(f"{CODE}|{LINK}|{STRONG}|{EMPHASIS}")

# What pdflatex's fonts lack or what TeX reads as its own.
TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "^": r"\^{}", "~": r"\textasciitilde{}", "×": r"$\times$", "µ": r"$\mu$", "≥": r"$\ge$", "≤": r"$\le$",
    "·": r"$\cdot$", "±": r"$\pm$", "–": "--", "“": "``", "”": "''", "…": r"\dots{}", "\u00a0": "~", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", **{digit: f"$^{n}$" for n, digit in enumerate("⁴⁵⁶⁷⁸⁹", 4)}
}


Put = Callable[[str], str]


def marked(text: str, plain: Put, code: Put, link: Callable[[str, str], str], strong: Put, emphasis: Put) -> str:
    """Text with its markup put into another language by five functions."""
    out, at = [], 0
    for m in MARKUP.finditer(text):
        out.append(plain(text[at:m.start()]))
        if m[1] is not None:
            out.append(code(m[1]))
        elif m[2] is not None:
            out.append(link(m[2], m[3]))
        elif m[4] is not None:
            out.append(strong(m[4]))
        else:
            out.append(emphasis(m[5]))
        at = m.end()
    return "".join(out) + plain(text[at:])


def to_tex(text: str) -> str:
    def plain(t: str) -> str:
        return "".join(TEX.get(c, c) for c in t)

    def code(t: str) -> str:
        letters = "-{}-".join(plain(part) for part in t.split("--"))  # not a dash
        return r"\code{" + letters.replace(r"\_", r"\_\allowbreak{}") + "}"

    return marked(text, plain, code, lambda t, _: plain(t), lambda t: rf"\textbf{{{plain(t)}}}",
                  lambda t: rf"\emph{{{plain(t)}}}")


def to_html(text: str) -> str:
    e = html.escape
    return marked(text, e, lambda t: f"<code>{e(t)}</code>", lambda t, a: f'<a href="{e(a)}">{e(t)}</a>',
                  lambda t: f"<strong>{e(t)}</strong>", lambda t: f"<em>{e(t)}</em>")


def glued(text: str) -> str:
    """No line between a number and its unit, or ≤ and a number."""
    return re.sub(r"(?<=≤) (?=\d)|(?<=\d) (?=[KM]\b)", "\u00a0", text)


def to_cell(text: str) -> str:
    """HTML of a cell, whose lines may break between a value, its interval and what follows, and nowhere else in numbers."""
    return re.sub(r"\([\d.]+–[\d.]+\)[^\s<]*", r"<span>\g<0></span>", to_html(glued(text)))


def to_md(text: str) -> str:
    return text.replace("|", r"\|")


def visible(text: str) -> str:
    return marked(text, str, str, lambda t, _: t, str, str)
