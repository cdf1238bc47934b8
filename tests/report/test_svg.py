"""Slimmed SVGs show what gnuplot's do: each line, word and point is where it was and looks as it did."""

import re
import unittest
from xml.etree import ElementTree

from report import svg

AXIS = """<g fill="none" color="black" stroke="currentColor" stroke-width="0.45" stroke-linecap="butt">
<path stroke='rgb(226, 226, 226)' class="gridline"  d='M{x},151.18 L{x},18.91  '/></g>
<g fill="none" color="black" stroke="currentColor" stroke-width="0.60">
<path stroke='rgb( 34,  34,  34)'  d='M{x},151.18 L{x},144.13  '/>	<g transform="translate({x},164.82)" stroke="none" fill="rgb(34,34,34)" font-family="Helvetica" font-size="9.40"  text-anchor="middle">
<text><![CDATA[{word}]]></text>
</g>
</g>
"""
PICTURE = """<?xml version="1.0" encoding="utf-8"  standalone="no"?>
<svg viewBox="0 0 321 279" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<title>Gnuplot</title><desc>Produced by GNUPLOT</desc>
<g id="gnuplot_canvas">
<rect x="0" y="0" width="321" height="279" fill="#ffffff"/>
<defs>
<path id='gpPt1' stroke-width='0.284' stroke='currentColor' d='M-1,-1 L1,1 M1,-1 L-1,1'/>
<rect id='gpPt3' stroke-width='0.284' stroke='currentColor' x='-1' y='-1' width='2' height='2'/>
<rect id='gpPt4' stroke-width='0.284' stroke='currentColor' fill='currentColor' x='-1' y='-1' width='2' height='2'/>
<use xlink:href='#gpPt3' id='gpPt11' stroke='currentColor' transform='rotate(45)'/>
<use xlink:href='#gpPt11' id='gpPt12' fill='currentColor' stroke='none'/>
<filter id='textbox'><feFlood/></filter>
</defs>
AXES
<g stroke='none' shape-rendering='crispEdges'>
<polygon fill='rgb(0, 114, 178)' points='1.00,2.04 3.00,2.04 3.00,4.00 '/>
<polygon fill='rgb(0, 0, 0)' points='5.00,5.00 5.00,9.00 8.00,9.00 8.00,5.00 '/>
<polygon fill='rgb(0, 0, 0)' points='7.00,5.00 9.00,5.00 9.00,9.00 7.00,9.00 '/></g>
<g id="gnuplot_plot_1" ><title>data index</title>
<g fill="none" color="black" stroke="currentColor" stroke-width="1.50">
<path stroke='rgb(213, 94, 0)' stroke-dasharray='5.2,3.4' d='M1.00,2.00 L3.00,4.00 L3.00,9.01 M5.00,6.00 L5.01,6.02 M7.00,8.00 L9.00,8.00  '/></g>
<use xlink:href='#gpPt1' transform='translate(10.00,20.00) scale(1.76)' color='rgb(0, 0, 0)'/>
<use xlink:href='#gpPt1' transform='translate(10.00,20.00) scale(1.76)' color='rgb(0, 0, 0)'/>
<use xlink:href='#gpPt12' transform='translate(11.00,21.00) scale(1.76)' color='rgb(0, 0, 0)'/>
<use xlink:href='#gpPt4' transform='translate(12.00,22.00) scale(1.76)' color='rgb(230, 159, 0)'/>
<g transform="translate(7.87,86.94) rotate(270)" stroke="none" fill="black" font-family="Helvetica" font-size="9.40"  text-anchor="middle">
<text>a &lt; b</text>
</g>
</g>
</g>
</svg>
"""
AXES = [AXIS.replace("{x}", x).replace("{word}", word) for x, word in (("40.98", "1 K"), ("64.86", "10 K"))]
PICTURE = PICTURE.replace("AXES", "".join(AXES))


class Slim(unittest.TestCase):
    def setUp(self):
        self.text = svg.slim(PICTURE)
        self.root = ElementTree.fromstring(self.text)

    def found(self, tag: str) -> list[ElementTree.Element]:
        return [e for e in self.root.iter() if e.tag.endswith("}" + tag)]

    def test_lines_of_a_kind_are_one_path(self):
        paths = {(p.get("stroke"), p.get("stroke-width")): p.get("d") for p in self.found("path")}
        self.assertEqual(paths["#e2e2e2", "0.45"], "M41 151.2v-132.3m23.9 132.3v-132.3")
        self.assertEqual(paths["#222", "0.60"], "M41 151.2v-7.1m23.9 7.1v-7.1")
        self.assertEqual(paths["#d55e00", "1.50"], "M1 2l2 2v5m4-1h2")  # without what has no length
        self.assertIn('stroke-dasharray="5.2,3.4"', self.text)

    def test_words_are_where_they_were(self):
        words = {t.text: (t.get("x"), t.get("y"), t.get("transform")) for t in self.found("text")}
        self.assertEqual(words, {"1 K": ("41", "164.8", None), "10 K": ("64.9", "164.8", None),
                                 "a < b": ("7.9", "86.9", "rotate(270 7.9 86.9)")})
        self.assertEqual(len(re.findall('font-size="9.40"', self.text)), 1)

    def test_points_have_their_shapes(self):
        uses = [(u.get("href"), u.get("x"), u.get("y")) for u in self.found("use")]
        self.assertEqual(uses, [("#a", "10", "20"), ("#b", "11", "21")])  # what stands there twice is seen once
        shapes = {e.get("id"): e for e in self.root.iter() if e.get("id")}
        self.assertEqual(shapes["a"].get("transform"), "scale(1.76)")
        self.assertEqual(shapes["b"].get("transform"), "scale(1.76) rotate(45)")
        self.assertEqual(shapes["b"].get("fill"), "currentColor")
        square = next(p for p in self.found("path") if p.get("stroke-linecap") == "square")
        self.assertEqual((square.get("d"), square.get("stroke"), square.get("stroke-width")),
                         ("M12 22h.1", "#e69f00", "4.02"))  # 1.76 (2 + 0.284)

    def test_areas_keep_their_edges(self):
        (area,) = self.found("polygon")
        self.assertEqual(area.get("points"), "1 2 3 2 3 4")
        self.assertEqual((area.get("fill"), area.get("shape-rendering")), ("#0072b2", "crispEdges"))
        rectangles = next(p for p in self.found("path") if p.get("fill") == "#000")
        self.assertEqual(rectangles.get("d"), "M5 5h3v4h-3zm2 0h2v4h-2z")  # the same way round

    def test_what_is_not_known_is_refused(self):
        for bad in ("<ellipse rx='1'/>", "<g transform='scale(2)'><text>a</text></g>"):
            with self.assertRaises(ValueError):
                svg.slim(PICTURE.replace("<g stroke='none'", bad + "<g stroke='none'"))


if __name__ == "__main__":
    unittest.main()
