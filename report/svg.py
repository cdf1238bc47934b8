"""Slims an SVG of gnuplot: the same picture in about a quarter of the text.

Gnuplot writes each tick, word and point with all that it is drawn by, in groups of its own. Here what lies in a row
and looks the same shares a path or a group, a shape has its size in its definition, and coordinates have one digit
behind the point: a twentieth of a pixel is 0.013 mm in print.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

Attributes = tuple[tuple[str, str], ...]
SHAPES = ("path", "rect", "circle")
MOVED = re.compile(r"translate\((-?[\d.]+),\s*(-?[\d.]+)\)(?: rotate\((-?[\d.]+)\))?")
INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "text-anchor",
             "shape-rendering", "class")


@dataclasses.dataclass(frozen=True)
class Drawn:
    """One thing: path, polygon, text or use of a shape."""

    tag: str
    look: Attributes  # what may be said once for several of them
    what: str  # d, points, or what stands between the tags
    at: tuple[str, str] = ("", "")  # of text and shapes
    turn: str = ""  # of text, degrees
    is_grid: bool = False


def number(text: str) -> str:
    """With one digit behind the point, or none."""
    return f"{float(text):.1f}".removesuffix(".0").replace("-0.", "-.").removeprefix("0") or "0"


def numbers(text: str) -> list[str]:
    return [number(n) for n in re.findall(r"-?[\d.]+", text)]


def color(text: str) -> str:
    if found := re.fullmatch(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)", text):
        digits = "".join(f"{int(n):02x}" for n in found.groups())
        return "#" + (digits[::2] if digits[::2] == digits[1::2] else digits)
    return text


def tag_of(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def attributes_of(element: ElementTree.Element) -> dict[str, str]:
    return {name.rpartition("}")[2]: color(value) for name, value in element.attrib.items()}


def track(d: str) -> str:
    """A path of gnuplot, which has absolute M and L alone. Further points of a line need no letter, those straight
    above or beside one number; what has no length is left out."""
    said, command, at = "", "", ("", "")
    for letter, x, y, end in re.findall(r"([ML])\s*(-?[\d.]+),(-?[\d.]+)|(Z)", d, flags=re.I):
        if end:
            said, command = said + "z", "z"
            continue
        to = (number(x), number(y))
        if letter.upper() == "M":
            if command == "M":  # a point alone
                said = said[:said.rindex("M")]
            said, command = f"{said}M{to[0]} {to[1]}", "M"
        elif to != at:
            short = f"H{to[0]}" if to[1] == at[1] else f"V{to[1]}" if to[0] == at[0] else ""
            said += short or f"{' ' if command in ('M', 'L') else 'L'}{to[0]} {to[1]}"
            command = short[:1] or "L"
        at = to
    return said[:said.rindex("M")] if command == "M" else said


def relative(d: str) -> str:
    """A path of this module, each place told from the one before, which is shorter; in tenths, so nothing adds up."""
    said, here, start, is_first = "", (0, 0), (0, 0), False

    def tell(letter: str, *by: int) -> str:
        texts = [number(str(n / 10)) for n in by]
        return letter + texts[0] + "".join(text if text.startswith("-") else " " + text for text in texts[1:])

    for letter, x, y in re.findall(r"([MLHVh ]|z)(-?[\d.]+)?(?: (-?[\d.]+))?", d):
        if letter in "zh":  # h: DOT
            said, here = said + (letter if letter == "z" else DOT), start if letter == "z" else (here[0] + 1, here[1])
            continue
        first = round(10 * float(x))
        to = {"H": (first, here[1]), "V": (here[0], first)}.get(letter) or (first, round(10 * float(y)))
        by = (to[0] - here[0], to[1] - here[1])
        if letter == "M":
            said += tell("m" if said else "M", *(by if said else to))
            start = to
        else:
            line = "l" if letter == "L" or is_first else " "  # what follows a capital M without a letter is absolute
            said += tell(*{"H": ("h", by[0]), "V": ("v", by[1])}.get(letter, (line, *by)))
        is_first = letter == "M" and len(said) == len(tell("M", *to))
        here = to
    return re.sub(r" -", "-", said)


def polygon(look: Attributes, places: list[str]) -> Drawn:
    """Rectangles along the axes are parts of one path; all turn the same way round, so that they may overlap."""
    x, y = places[::2], places[1::2]
    if len(set(x)) == len(set(y)) == 2 and len(set(zip(x, y))) == 4:
        (x0, x1), (y0, y1) = sorted(set(x), key=float), sorted(set(y), key=float)
        return Drawn("path", look, f"M{x0} {y0}H{x1}V{y1}H{x0}z")
    return Drawn("polygon", look, " ".join(places))


def join(attributes: Iterable[tuple[str, str]]) -> str:
    return "".join(f' {name}="{value}"' for name, value in attributes)


def walk(element: ElementTree.Element, inherited: dict[str, str],
         shapes: dict[tuple[str, str], str]) -> Iterator[Drawn]:
    """In the order in which they are drawn. shapes: those that are used, by name and size, get a letter."""
    own = attributes_of(element)
    look = inherited | {name: own[name] for name in INHERITED if name in own}
    tag = tag_of(element)
    if tag in ("defs", "title", "desc"):
        return
    if tag == "path":
        names = ["stroke", "stroke-width", "stroke-dasharray"]
        yield Drawn("path", tuple((n, look[n]) for n in names if n in look), track(own["d"]),
                    is_grid=look.get("class") == "gridline")
    elif tag == "polygon":
        names = ["fill", "shape-rendering"]
        yield polygon(tuple((n, look[n]) for n in names if n in look), numbers(own["points"]))
    elif tag == "use":
        x, y, *size = re.findall(r"-?[\d.]+", own["transform"])
        key = (own["href"].removeprefix("#"), size[0] if size else "1")
        letter = shapes.setdefault(key, chr(ord("a") + len(shapes)))
        yield Drawn("use", (("color", own["color"]),), letter, (number(x), number(y)))
    elif tag == "text":
        names = ["fill", "font-size"] + ["text-anchor"] * (look["text-anchor"] != "start")
        x, y = inherited["at"].split()
        yield Drawn("text", tuple((n, look[n]) for n in names), escape("".join(element.itertext()).strip()), (x, y),
                    inherited["turn"])
    elif tag == "rect":
        yield Drawn("rect", (("fill", own["fill"]),), join((n, own[n]) for n in ("x", "y", "width", "height")))
    elif tag in ("g", "svg"):
        if moved := MOVED.fullmatch(own.get("transform", "")):
            look["at"] = " ".join([number(moved[1]), number(moved[2])])
            look["turn"] = moved[3] or ""
        elif "transform" in own:
            raise ValueError(f"transform {own['transform']}")
        for child in element:
            yield from walk(child, look, shapes)
    else:
        raise ValueError(f"element {tag}")


def definition(name: str, size: str, letter: str, defs: dict[str, ElementTree.Element]) -> str:
    """A shape with its size. Shapes may be uses of others, turned or filled."""
    turns, fill, element = [f"scale({size})"] if float(size) != 1 else [], "", defs[name]
    while tag_of(element) == "use":
        own = attributes_of(element)
        turns += [own["transform"]] if "transform" in own else []
        fill = fill or own.get("fill", "")
        element = defs[own["href"].removeprefix("#")]
    own = attributes_of(element)
    if tag_of(element) not in SHAPES:
        raise ValueError(f"shape {tag_of(element)}")
    own |= {"id": letter} | ({"fill": fill} if fill and "fill" not in own else {})
    own |= {"transform": " ".join(turns)} if turns else {}
    return f"<{tag_of(element)}{join(own.items())}/>"


def grid_first(drawn: list[Drawn]) -> Iterator[Drawn]:
    """Axes: a line of the grid, a tick, and its word in turns. First all lines of the grid, then ticks, then words,
    which do not overlap, so that each is one path or group."""
    for is_axis, run in itertools.groupby(drawn, lambda d: d.tag == "text" or d.tag == "path"):
        some = list(run)
        if is_axis and any(d.is_grid for d in some):
            last = max(i for i, d in enumerate(some) if d.is_grid)
            # the tick and the word of the last line of the grid belong to the axis, too
            end = next((i for i in range(last + 1, len(some)) if some[i].tag == "text"), last) + 1
            axis, some = some[:end], some[end:]
            yield from (d for d in axis if d.is_grid)
            yield from (d for d in axis if not d.is_grid and d.tag == "path")
            yield from (d for d in axis if d.tag == "text")
        yield from some


def turned(d: Drawn) -> str:
    return f' transform="rotate({d.turn} {d.at[0]} {d.at[1]})"' if d.turn else ""


def told(run: list[Drawn]) -> str:
    """A row of things that look the same; what stands there twice is seen once."""
    first = run[0]
    look = join(first.look)
    if first.tag == "path":
        return f'<path{look} d="{relative("".join(d.what for d in run))}"/>'
    inner = {
        "polygon": lambda d: f'points="{d.what}"/>', "rect": lambda d: d.what.lstrip() + "/>",
        "use": lambda d: f'href="#{d.what}" x="{d.at[0]}" y="{d.at[1]}"/>',
        "text": lambda d: f'x="{d.at[0]}" y="{d.at[1]}"{turned(d)}>{d.what}</text>'}[first.tag]
    inside = list(dict.fromkeys(f"<{d.tag} {inner(d)}" for d in run))
    if len(inside) == 1:
        return inside[0].replace(f"<{first.tag}", f"<{first.tag}{look}", 1)
    return f"<g{look}>\n" + "\n".join(inside) + "\n</g>"


DOT = "h.1"  # a tenth: of lines without length librsvg leaves some ends out


def dots(d: Drawn, shape: str) -> Drawn:
    """Circles and squares that are filled: points of a line that is as thick and has such ends."""
    sizes = dict(re.findall(r'([\w-]+)="([^"]*)"', shape))
    size = re.fullmatch(r"scale\(([\d.]+)\)", sizes.get("transform", "scale(1)"))
    if sizes.get("fill") != "currentColor" or not shape.startswith(("<circle", "<rect")) or not size:
        return d
    scale = float(size[1])
    side = 2 * float(sizes["r"]) if "r" in sizes else float(sizes["width"])
    width = scale * (side + float(sizes["stroke-width"]))
    cap = "round" if shape.startswith("<circle") else "square"
    return Drawn("path", (("stroke", dict(d.look)["color"]), ("stroke-width", f"{width:.2f}"), ("stroke-linecap", cap)),
                 f"M{d.at[0]} {d.at[1]}{DOT}")


def slim(svg: str) -> str:
    """ValueError where gnuplot wrote what is not known here."""
    root = ElementTree.fromstring(svg.encode())
    shapes: dict[tuple[str, str], str] = {}
    drawn = list(grid_first([d for d in walk(root, {}, shapes) if d.tag == "use" or d.what]))
    defs = {e.attrib["id"]: e for e in root.iter() if "id" in e.attrib and tag_of(e) in (*SHAPES, "use")}
    symbols = {letter: definition(*key, letter, defs) for key, letter in shapes.items()}
    drawn = [dots(d, symbols[d.what]) if d.tag == "use" else d for d in drawn]
    used = {d.what for d in drawn if d.tag == "use"}
    family = next((e.attrib["font-family"] for e in root.iter() if "font-family" in e.attrib), "Helvetica")
    lines = [f'<svg viewBox="{root.attrib["viewBox"]}" xmlns="http://www.w3.org/2000/svg">']
    if used:
        lines += ["<defs>", *(text for letter, text in symbols.items() if letter in used), "</defs>"]
    sizes = collections.Counter(dict(d.look)["font-size"] for d in drawn if d.tag == "text").most_common(1)
    usual = ("font-size", sizes[0][0] if sizes else "")
    drawn = [dataclasses.replace(d, look=tuple(a for a in d.look if a != usual)) for d in drawn]
    lines.append(f'<g fill="none" font-family="{family}"{join([usual] if sizes else [])}>')
    lines += [told(list(run)) for _, run in itertools.groupby(drawn, lambda d: (d.tag, d.look))]
    return "\n".join(lines + ["</g>", "</svg>"]) + "\n"
