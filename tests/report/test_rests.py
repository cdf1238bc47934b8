"""What sentences of documents rest on: marks, what they demand of claims, and paragraphs without one."""

import pathlib
import unittest

from report import documents, model, rests, rows
from report.verdicts import FAILS, HOLDS, UNSURE
from tests.report.test_where import CLAIM, point, verdict

PAGE = pathlib.Path("docs/x.md")


def broken(text: str, *points, machine: str = "nvidia-h200") -> str:
    (demand,) = rests.demands(f"{CLAIM.name} {text}", "x.md:1")
    return rests.broken(demand, [verdict(machine, *points)])


class Demands(unittest.TestCase):
    def test_each_verb(self):
        """Which of them stand where points of two elements have these verdicts."""
        for some, stand in (((HOLDS, HOLDS), ("holds", "never fails")), ((HOLDS, UNSURE), ("never fails",)),
                            ((HOLDS, FAILS), ()), ((FAILS, FAILS), ("fails", "never holds")),
                            ((FAILS, UNSURE), ("never holds",)), ((UNSURE, UNSURE), ("never holds",)), ((), ())):
            points = [point(found, element) for found, element in zip(some, ("hex8", "tet4"))]
            stood = [verb for verb in ("holds", "fails", "never fails", "never holds") if not broken(verb, *points)]
            self.assertEqual(stood, list(stand), some)

    def test_undecided_counts_where_it_says_something(self):
        few, lacking = point(UNSURE, "tet4", processes=1), point(UNSURE, "tet4", lacks=("assembled_symmetric",))
        for other in (few, lacking):
            self.assertEqual(broken("holds", point(HOLDS), other), "")
            self.assertEqual(broken("fails", point(FAILS), other), "")
            self.assertEqual(broken("holds where element=tet4", point(HOLDS), other),
                             "no point of it holds")
        self.assertEqual(broken("never holds", few), "")
        self.assertEqual(broken("never holds", lacking), "no point of it could hold")

    def test_where(self):
        points = point(HOLDS, "hex8", n=1000), point(FAILS, "tet4", "irregular", 2000, "residual", ranks=2)
        for where in ("element=hex8", "mesh=box", "to=1500", "operation=jacvec", "from=1e3 to=1e3",
                      "card=H200 mesh=box"):
            self.assertEqual(broken(f"holds where {where}", *points), "", where)
        for where in ("element=tet4", "mesh=irregular", "from=1.5e3", "operation=residual", "ranks=2", "variant=patch"):
            self.assertIn("it fails on H200 at tet4 residual, 2.00 K DoF on 2 ranks",
                          broken(f"holds where {where}", *points))
        self.assertEqual(broken("holds where card=H100", *points), "no point of it holds")

    def test_of_several_values_each_needs_a_point(self):
        self.assertEqual(broken("holds where card=H100,H200", point(HOLDS)), "no point of it with card=H100 holds")
        self.assertEqual(broken("never fails where mesh=box,slender", point(HOLDS), point(UNSURE, mesh="slender")),
                         "no point of it with mesh=slender holds")
        self.assertEqual(broken("fails where element=hex8,tet4", point(FAILS), point(FAILS, "tet4")), "")

    def test_marks_that_are_wrong_are_named(self):
        for text, part in (("a is so", "is not like"), ("a holds where", "is not like"),
                           ("a holds; b", "b -->: is not like"),
                           ("a holds where elements=hex8", "'elements' is not one of card, mesh"),
                           ("a holds where from=many", "from and to are numbers")):
            with self.assertRaises(rows.Fault) as caught:
                rests.demands(text, "x.md:7")
            self.assertIn(part, str(caught.exception))
            self.assertIn("x.md:7: <!-- rests on: ", str(caught.exception))


class Documents(unittest.TestCase):
    def test_a_sentence_whose_claim_does_not_hold_is_named_with_its_line(self):
        name = CLAIM.name
        text = f"# X\nTake `patch`.\n<!-- rests on: {name} holds where element=hex8;\n{name} never fails -->\n"
        for found, faults in ((HOLDS, 0), (FAILS, 2)):
            known = {name: (CLAIM, [verdict("nvidia-h200", point(found))])}
            said = rests.faults(PAGE, text, known)
            self.assertEqual(len(said), faults)
        self.assertIn(f"docs/x.md:3: a sentence rests on “{name} holds where element=hex8”, but it fails on H200 at hex8 "
                      "jacvec, 1.00 M DoF (box9-distorted, beside assembled_bsr): 1.00 (0.900–1.10): change the sentence",
                      said)
        with self.assertRaisesRegex(rows.Fault, "there is no such claim"):
            rests.faults(PAGE, text, {})

    def test_a_paragraph_that_compares_needs_a_mark(self):
        text = "# The fastest\nWords.\n\nHere `patch` is\nfaster.\n\nThe faster matrix.\n\n| faster |\n\n" \
            "Take `patch`.\n<!-- rests on: c holds -->\n"
        (fault,) = rests.unmarked(PAGE, text)
        self.assertTrue(fault.startswith("docs/x.md:4: “faster”: compares strategies and rests on no claim"), fault)

    def test_parts_that_rows_decide_and_code_need_none(self):
        text = "A.\n\n<!-- claims: a -->\nIt is faster.\n<!-- end -->\n\n```\nfaster\n```\n\nB is slower.\n"
        self.assertEqual([fault.split(": compares")[0] for fault in rests.unmarked(PAGE, documents.typed(text))],
                         ["docs/x.md:11: “slower”"])

    def test_readme_is_short(self):
        text = (model.ROOT / "README.md").read_text()
        self.assertLessEqual(text.count("\n"), 120)
        section = text.partition("## Which strategy should I take?\n")[2].partition("\n## ")[0]
        prose = rests.MARK.sub("", documents.typed(section))
        self.assertLessEqual(len(prose.split()), 250)
        self.assertLessEqual((model.ROOT / "docs/findings.md").read_text().count("\n"), 200)


if __name__ == "__main__":
    unittest.main()
