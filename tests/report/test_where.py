"""Where claims hold, as a phrase: groups of places, sizes, and what is left out."""

import unittest

from report import statistics, where
from report.claim import read_claims
from report.verdicts import FAILS, HOLDS, UNSURE, Decided, Verdict
from report.where import Place, groups, phrase, sizes

(CLAIM,) = [claim for claim in read_claims() if claim.name == "patch_over_matrix"]
CASES = {"box": "box9-distorted", "slender": "box2x2x8-distorted", "irregular": "irregular",
         "bracket": "bracket_hex8-refined1"}


def point(verdict: str, element: str = "hex8", mesh: str = "box", n: int = 1000000, operation: str = "jacvec",
          processes: int = 3, **more) -> Decided:
    lacks = more.pop("lacks", ())
    at = {"backend": "cuda", "variant": "patch", "element": element, "operation": operation, "case": CASES[mesh],
          "n_dof": n} | more
    r = statistics.Estimate(1.0, 0.9, 1.1, processes)
    return Decided(at, "assembled_bsr", r, verdict, "c1", False, lacks=lacks)


def verdict(machine: str, *points: Decided) -> Verdict:
    return Verdict(CLAIM, machine, "", points)


def told(h100: list[Decided], h200: list[Decided] | None = None, **more) -> str:
    return phrase([verdict("nvidia-h100-80gb-hbm3", *h100), verdict("nvidia-h200", *(h200 or []))], **more)


def text(at: list[tuple], wanted: str) -> str:
    """Of places (element, mesh, size, verdict) on one card."""
    index = {name: i for i, name in enumerate(where.AXES)}
    made = []
    for element, mesh, size, found in at:
        values = [""] * len(where.AXES)
        values[index["element"]], values[index["mesh"]] = element, mesh
        made.append(Place(tuple(values), size, found))
    return "; ".join(group.text for group in groups(tuple(made), wanted))


class Sizes(unittest.TestCase):
    def test_from_up_to_at_and_lists(self):
        for own, other, said in (([1e6], [], ""), ([1e6, 2e6], [1e5], "from 1.00 M DoF on"),
                                 ([1e4, 2e4], [1e5], "up to 20.0 K DoF"), ([1e6], [1e5], "at 1.00 M DoF"),
                                 ([1e4, 1e6], [1e5], "at 10.0 K and 1.00 M DoF"),
                                 ([1e4, 2e4, 1e6], [1e3, 1e5, 2e6], "at 10.0 K to 20.0 K and 1.00 M DoF"),
                                 ([1e4], [1e4], None)):
            self.assertEqual(sizes(own, other), said)


class Groups(unittest.TestCase):
    def test_what_is_alike_is_not_named(self):
        at = [("Hex8", "boxes", 1e5, HOLDS), ("Tet4", "boxes", 1e5, HOLDS), ("Hex8", "brackets", 1e5, FAILS),
              ("Tet4", "brackets", 1e6, FAILS)]
        self.assertEqual(text(at, HOLDS), "on boxes")
        self.assertEqual(text(at, FAILS), "on brackets")

    def test_as_few_groups_as_there_are(self):
        at = [("Hex8", "boxes", 1e5, HOLDS), ("Hex8", "brackets", 1e5, HOLDS), ("Tet4", "boxes", 1e5, HOLDS),
              ("Tet4", "brackets", 1e5, FAILS)]
        self.assertEqual(text(at, FAILS), "on brackets of Tet4")
        self.assertEqual(text(at, HOLDS), "on boxes of Tet4; with Hex8")

    def test_a_group_has_no_place_of_another_verdict(self):
        at = [("Hex8", "boxes", n, found) for n, found in ((1e4, FAILS), (1e5, HOLDS), (1e6, HOLDS))] + \
            [("Tet4", "boxes", n, found) for n, found in ((1e4, FAILS), (1e5, FAILS), (1e6, HOLDS))]
        for found in groups(tuple(Place(("", e, m, "", "", "", ""), n, v) for e, m, n, v in at), HOLDS):
            self.assertTrue(found.is_whole)
        self.assertEqual(text(at, HOLDS), "with Hex8, from 100 K DoF on; with Tet4, at 1.00 M DoF")
        self.assertEqual(text(at, FAILS), "with Tet4, up to 100 K DoF; with Hex8, at 10.0 K DoF")


class Phrase(unittest.TestCase):
    def test_what_holds_everywhere_names_the_cards(self):
        self.assertEqual(told([point(HOLDS)], [point(HOLDS, "tet4")]), "holds on H100 and H200")
        self.assertEqual(told([point(HOLDS)]), "holds on H100")
        self.assertEqual(told([]), "")

    def test_exceptions(self):
        boxes = [point(HOLDS, element, n=n) for element in ("hex8", "tet4") for n in (32000, 1000000)]
        irregular = [point(FAILS, mesh="irregular"), point(HOLDS, "tet4", "irregular")]
        self.assertEqual(told(boxes + irregular, boxes),
                         "holds on H100 and H200, but fails on irregular meshes of Hex8")
        self.assertEqual(told(boxes + [point(FAILS, n=9000)], boxes),
                         "holds on H100 and H200, from 32.0 K DoF on, but fails on H100, with Hex8, at 9.00 K DoF")
        small = point(UNSURE, "tet4", n=5000, operation="residual")
        self.assertEqual(told(boxes + irregular, boxes + [small]), "holds on H100 and H200, in tangent products, but "
                         "fails on irregular meshes of Hex8; undecided in residuals")

    def test_the_verdict_of_most_places_comes_first(self):
        self.assertEqual(told([point(FAILS)], [point(FAILS, n=n) for n in (1000, 3000)] + [point(HOLDS, "tet4")]),
                         "fails on H100 and H200, with Hex8, but holds with Tet4")
        self.assertEqual(told([point(UNSURE, n=n) for n in (1000, 2000, 3000)] + [point(HOLDS, "tet4")]),
                         "undecided on H100, with Hex8, but holds with Tet4")

    def test_of_too_many_exceptions_the_number_and_what_they_span(self):
        points = [point((HOLDS, UNSURE)[k % 2], n=1000 * (k + 1)) for k in range(19)]
        self.assertEqual(told(points, undecided=20), "holds at 10 of 19 places, on H100, but undecided at 9")
        self.assertIn("but undecided at 2.00 K, 4.00 K, 6.00 K", told(points))

    def test_points_that_a_phrase_cannot_tell_apart_are_one_place(self):
        for others, said in (([FAILS], "fails"), ([UNSURE], "undecided"), ([HOLDS], "holds")):
            self.assertEqual(told([point(HOLDS), *(point(other, n=1000001) for other in others)]), f"{said} on H100")

    def test_who_has_too_few_processes_to_decide_leaves_it_to_others(self):
        self.assertEqual(told([point(HOLDS), point(UNSURE, processes=1)]), "holds on H100")
        self.assertEqual(told([point(HOLDS, processes=1), point(UNSURE, processes=1)]), "undecided on H100")
        self.assertEqual(told([point(HOLDS), point(FAILS, processes=1)]), "fails on H100")

    def test_points_without_a_rival_stand_apart(self):
        lacking = point(UNSURE, "tet4", lacks=("assembled_symmetric",))
        self.assertEqual(told([point(HOLDS), lacking]), "holds on H100")
        self.assertEqual(told([lacking]), "")

    def test_several_cards_ranks_strategies_and_hosts(self):
        self.assertEqual(told([point(HOLDS, ranks=2), point(FAILS, ranks=4)]),
                         "holds on H100, with 2 GPUs, but fails with 4 GPUs")
        self.assertEqual(told([point(HOLDS), point(FAILS, variant="node_csr")]),
                         "holds on H100, by `patch`, but fails by `node_csr`")
        host = verdict("amd-epyc-2-cores", point(HOLDS, backend="host"))
        self.assertEqual(phrase([host, verdict("nvidia-h200", point(HOLDS, backend="host"))]),
                         "holds on AMD EPYC with 2 cores and H200's host")

    def test_every_verdict_of_every_place_is_told(self):
        """Groups of all verdicts together are all places, and none has two verdicts."""
        points = [point((HOLDS, FAILS, UNSURE)[(3 * k + k // 4) % 3], element, mesh, 1000 * (k + 1), operation)
                  for k, (element, mesh, operation) in enumerate(
                      (e, m, o) for e in ("hex8", "tet4") for m in ("box", "slender", "bracket") for o in
                      ("residual", "jacvec", "jacvec_elastic"))]
        found = where.places([verdict("nvidia-h200", *points)])
        for one in (HOLDS, FAILS, UNSURE):
            own = frozenset(p for p in found if p.verdict == one)
            some = groups(found, one)
            self.assertEqual(frozenset().union(*(g.own for g in some)), own)
            self.assertTrue(all(g.is_whole for g in some))


if __name__ == "__main__":
    unittest.main()
