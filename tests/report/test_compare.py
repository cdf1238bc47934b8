"""Verdicts of comparisons; how often they are wrong is measured, on simulated runs and on real ones."""

import collections
import contextlib
import io
import itertools
import math
import pathlib
import tempfile
import unittest

import numpy

from report import calibration, compare, environments, rows
from report.words import QUADRATIC
from tests.report.test_rows import HEADER, ROW, of_process

REAL = pathlib.Path("results/nvidia-h100-80gb-hbm3/2026-11-27-8bc1e2b0a163")


def simulated(random: numpy.random.Generator, points: int, processes: int, slower: float = 0.0) -> dict:
    """A run whose points spread by 0.1 to 0.5 % between processes."""
    run = {}
    for k in range(points):
        spread = 0.001 + 0.004 * (k % 5) / 4
        row = {name: 1 for name in rows.POINT} | {"backend": "cuda", "variant": f"v{k}", "status": "ok", "commit": "c", "numbering": ""}
        times = numpy.exp(spread * random.standard_normal(processes)) * (1 + slower)
        run[(k,) * len(rows.POINT)] = compare.Side([row | {"median_s": t} for t in times.tolist()])
    return run


def verdicts(a: dict, b: dict, margin: float = 0.02) -> list[str]:
    return [point.verdict for point in compare.compare(a, b, margin)]


class Reliability(unittest.TestCase):
    def test_false_alarms_are_as_rare_as_it_says(self):
        random = numpy.random.default_rng(1)
        alarms = 0
        for _ in range(300):
            told = verdicts(simulated(random, 30, 3), simulated(random, 30, 3), margin=1e-6)
            alarms += "faster" in told or "slower" in told
        self.assertLess(alarms / 300, 0.09)  # 0.05, and three standard errors

    def test_a_kernel_slower_by_two_percent_is_seen(self):
        random = numpy.random.default_rng(2)
        seen = [v for _ in range(20) for v in verdicts(simulated(random, 30, 5), simulated(random, 30, 5, 0.02), 0.005)]
        self.assertGreater(seen.count("slower") / len(seen), 0.9)
        self.assertEqual(seen.count("faster"), 0)

    def test_processes_of_an_h100(self):
        c = compare.calibrate(compare.load(REAL))
        self.assertEqual((c.processes, c.points), (3, 40))
        self.assertLess(c.false_alarms, 0.1)
        self.assertEqual(c.beyond_margin, 0)
        self.assertGreater(c.covered, 0.92)
        self.assertGreater(c.power[1], 0.95)
        kept = [r for r in calibration.read() if r["commit"] == "8bc1e2b0a163"]
        self.assertEqual([float(r["false_alarms"]) for r in kept], [round(c.false_alarms, 4)])
        self.assertEqual([float(r["power_1"]) for r in kept], [round(c.power[0], 4)])

    def test_two_runs_of_an_h100(self):
        """What is kept includes the spread of other runs; without it half of the comparisons raise a false alarm."""
        runs = [compare.load(path) for path in (REAL, REAL.with_name("2026-11-27-3427642f882c"))]
        commits = "8bc1e2b0a163 3427642f882c"
        c = compare.calibrate(*runs, calibration.largest(frozenset(commits.split())))
        self.assertEqual((c.runs, c.processes, c.points), (2, 3, 40))
        self.assertIn(compare.calibration_row("nvidia-h100-80gb-hbm3", commits, c), calibration.read())
        self.assertGreater(compare.calibrate(*runs).false_alarms, 0.4)
        lines = list(compare.describe(*runs, compare.compare(*runs, compare.MARGIN)))
        self.assertEqual(sum(line.startswith("reliability on") for line in lines), 2)
        self.assertIn("a false alarm in at most 5.7 % of comparisons; at least 94.5 % of 95 % intervals hold 1; calls "
                      "at least 100 % of points the same within 2 %; sees", "\n".join(lines))

    def test_runs_of_h200(self):
        """Three like each other, and two that are not like them: what is kept, judged by pairs of other runs."""
        folder = pathlib.Path("results/nvidia-h200")
        runs = {path.name[11:23]: compare.load(path) for path in map(folder.joinpath, (
            "2026-11-28-0b840b61179b-2", "2026-11-29-411c7e9a3c16", "2026-11-29-0824f1531227"))}
        kept = {r["commit"]: r for r in calibration.read() if r["machine"] == "nvidia-h200" and r["runs"] == "2"
                and r["samples"] == "burst"}
        self.assertEqual(len(kept), 19)
        self.assertEqual(max(float(r["false_alarms"]) for r in kept.values()), 0)
        self.assertGreater(min(float(r["covered"]) for r in kept.values()), 0.9)
        self.assertGreater(min(float(r["ratios_covered"]) for r in kept.values()), 0.9)
        self.assertGreater(min(float(r["same"]) for r in kept.values()), 0.85)
        self.assertEqual({float(r["margin"]) for r in kept.values()},
                         {compare.margin_of(float(r["told_apart"])) for r in kept.values()})
        self.assertEqual(calibration.largest(), calibration.Spread(
            *(max(float(r[name]) for r in kept.values()) for name in ("apart", "ratios_apart"))))
        for a, b in itertools.combinations(runs, 2):
            others = calibration.largest(frozenset((a, b)))
            self.assertEqual(others.times, max(float(r["apart"]) for r in calibration.read() if r["samples"] == "burst"
                                               and not {a, b} & set(r["commit"].split())))
            c = compare.calibrate(runs[a], runs[b], others)
            self.assertEqual(compare.calibration_row("nvidia-h200", f"{a} {b}", c), kept[f"{a} {b}"])
        alone = compare.calibrate(runs["411c7e9a3c16"], runs["0824f1531227"])
        self.assertEqual(alone.false_alarms, 1)  # as if all runs were alike
        self.assertLess(max(alone.covered, alone.ratios_covered), 0.6)

    def test_the_one_kernel_that_has_changed_is_found(self):
        """On other cards: corner_gather is not the same in both, all others are. Sustained operations differ more."""
        folder = pathlib.Path("results/nvidia-h200")
        a, b = (compare.load(folder / name) for name in ("2026-11-29-0f799374c696", "2026-11-30-4342a39b8e34"))
        apart = compare.measured_apart()
        told = [p for p in compare.compare(a, b, None, apart) if p.ratio and p.ratio.processes >= 3]
        self.assertEqual({rows.named(p.key)["variant"] for p in told if p.verdict in ("faster", "slower")}, {"corner_gather"})
        self.assertGreaterEqual(sum(p.verdict == "same" for p in told), 0.95 * len(told))
        self.assertGreater(apart[calibration.SUSTAINED], apart[calibration.BURST])
        within = {p.why for p in told if p.verdict == "same" and rows.named(p.key)["condition"] == "sustained"}
        self.assertEqual(within, {f"within {100 * compare.margin_of(apart[calibration.SUSTAINED]):g} %"})
        self.judged_again(a, b, "0f799374c696 4342a39b8e34", calibration.BURST, calibration.SUSTAINED)

    def judged_again(self, a: dict, b: dict, commits: str, *kinds: str) -> None:
        """What is kept of two runs, of which one strategy has changed."""
        for kind in kinds:
            one, other = ({key: side for key, side in run.items() if rows.named(key)["variant"] != "corner_gather"
                           and calibration.samples_of(rows.named(key)) == kind} for run in (a, b))
            c = compare.calibrate(one, other, calibration.largest(frozenset(commits.split()), kind))
            self.assertIn(compare.calibration_row("nvidia-h200", commits, c, kind), calibration.read())

    def test_small_meshes_differ_more_between_runs(self):
        """The host takes part in operations of microseconds. By the spread of larger meshes points would be told apart."""
        folder = pathlib.Path("results/nvidia-h200")
        a, b = (compare.load(folder / name) for name in ("2026-11-29-0824f1531227", "2026-11-30-4342a39b8e34"))
        self.judged_again(a, b, "0824f1531227 4342a39b8e34", *calibration.SAMPLES[:2])
        apart = compare.measured_apart()
        self.assertGreater(apart[calibration.SMALL], 3 * apart[calibration.BURST])

        def alarms(apart: compare.Apart) -> collections.Counter[str]:
            return collections.Counter(
                calibration.samples_of(rows.named(p.key)) for p in compare.compare(a, b, None, apart)
                if p.verdict in ("faster", "slower") and rows.named(p.key)["variant"] != "corner_gather")  # which has changed

        usual, alike = alarms(apart), alarms(dict.fromkeys(calibration.SAMPLES, apart[calibration.BURST]))
        self.assertEqual(usual[calibration.BURST], 0)
        self.assertLess(usual[calibration.SMALL], alike[calibration.SMALL])

    def test_one_binary_and_slowed_operations_on_an_h200(self):
        run = compare.load(pathlib.Path("results/nvidia-h200/2026-11-29-0f799374c696"))
        c = compare.calibrate(run)
        self.assertEqual((c.processes, c.points, c.false_alarms), (3, 156, 0))
        self.assertGreater(c.slowed[1], 0.8)
        self.assertEqual(c.slowed[2], 1)
        self.assertLess(c.slowed_by[0], c.slowed_by[1])
        self.assertIn(compare.calibration_row("nvidia-h200", "0f799374c696", c), calibration.read())
        lines = "\n".join(compare.describe(run, run, compare.compare(run, run, compare.MARGIN)))
        self.assertIn("; of operations that really were as much slower 16, 85, 100 %", lines)

    def test_runs_of_the_same_kernels_are_called_the_same(self):
        """With the usual margin. Within 2 % it cannot be told, because the spread between runs is as wide."""
        folder = pathlib.Path("results/nvidia-h200")
        one, other, third = (compare.load(folder / name) for name in (
            "2026-11-28-0b840b61179b-2", "2026-11-29-0824f1531227", "2026-11-29-411c7e9a3c16"))
        apart = compare.measured_apart()
        self.assertEqual(compare.margin_of(apart[calibration.BURST]), 0.05)
        for a, b in ((one, other), (third, other), (one, third)):  # the last two differ by 1 %
            told = [p for p in compare.compare(a, b, None, apart) if p.ratio and p.ratio.processes >= 3
                    and rows.named(p.key)["element"] not in QUADRATIC]  # their kernels have changed in between
            self.assertGreaterEqual(len(told), 156)
            self.assertGreater(sum(p.verdict == "same" for p in told) / len(told), 0.95)
            self.assertEqual({p.why for p in told if p.verdict == "same"}, {"within 5 %"})
            self.assertNotIn("same", [p.verdict for p in compare.compare(a, b, 0.02, apart)])

    def test_the_margin_follows_the_spread_of_runs(self):
        self.assertEqual([compare.margin_of(s) for s in (0.0, 0.005, 0.006, 0.0106, 0.02)],
                         [0.02, 0.02, 0.03, 0.05, 0.09])
        random = numpy.random.default_rng(6)
        same = of = 0
        for _ in range(100):  # each point differs between the two runs by its own 1 %
            a, b = simulated(random, 30, 3), simulated(random, 30, 3)
            for side in b.values():
                shift = numpy.exp(0.01 * random.standard_normal())
                side.rows = [row | {"median_s": row["median_s"] * shift} for row in side.rows]
            found = compare.compare(a, b, None, dict.fromkeys(calibration.SAMPLES, 0.01))
            same, of = same + sum(p.verdict == "same" for p in found), of + len(found)
        self.assertGreater(same / of, 0.93)

    def test_what_is_slower_by_the_margin_is_hardly_called_the_same(self):
        random = numpy.random.default_rng(7)
        wrong = of = 0
        for _ in range(100):
            a, b = simulated(random, 30, 3), simulated(random, 30, 3, slower=compare.margin_of(0.01))
            for side in b.values():
                shift = numpy.exp(0.01 * random.standard_normal())
                side.rows = [row | {"median_s": row["median_s"] * shift} for row in side.rows]
            found = compare.compare(a, b, None, dict.fromkeys(calibration.SAMPLES, 0.01))
            wrong, of = wrong + sum(p.verdict == "same" for p in found), of + len(found)
        self.assertLess(wrong / of, 0.025 + 3 * (0.025 * 0.975 / of) ** 0.5)

    def test_a_spread_between_machines_is_part_of_each_interval(self):
        random = numpy.random.default_rng(4)
        hits = alarms = 0
        for _ in range(100):  # each point differs between the two machines by its own 1 %
            b = simulated(random, 30, 3)
            for side in b.values():
                shift = numpy.exp(0.01 * random.standard_normal())
                side.rows = [row | {"median_s": row["median_s"] * shift} for row in side.rows]
            found = compare.compare(simulated(random, 30, 3), b, 0.02, dict.fromkeys(calibration.SAMPLES, 0.01))
            alarms += any(p.verdict in ("faster", "slower") for p in found)
            hits += sum(p.ratio.low <= 1 <= p.ratio.high for p in found)
        self.assertLess(alarms / 100, 0.05 + 3 * (0.05 * 0.95 / 100) ** 0.5)
        self.assertLess(abs(hits / 3000 - 0.95), 0.02)

    def test_spreads_of_times_and_of_ratios_are_found(self):
        """30 strategies at a place, on two machines where each differs by its own 1 %: ratios of two by 1.4 %."""
        random = numpy.random.default_rng(5)
        found = []
        for _ in range(20):
            a, b = simulated(random, 30, 3), simulated(random, 30, 3)
            for side in b.values():
                shift = numpy.exp(0.01 * random.standard_normal())
                side.rows = [row | {"median_s": row["median_s"] * shift} for row in side.rows]
            found.append(compare.calibrate(a, b, compare.Spread(0.01, 0.01 * 2**0.5)))
        for of, wanted in ((lambda c: c.spread.times, 0.01), (lambda c: c.spread.ratios, 0.01 * 2**0.5)):
            self.assertLess(abs(numpy.mean([of(c)**2 for c in found])**0.5 / wanted - 1), 0.1)
        self.assertLess(abs(numpy.mean([c.ratios_covered for c in found]) - 0.95), 0.02)

    def test_runs_that_differ_cover_less(self):
        random = numpy.random.default_rng(3)
        same = compare.calibrate(simulated(random, 30, 6))
        apart = compare.calibrate(simulated(random, 30, 4), simulated(random, 30, 4, slower=0.01))
        self.assertGreater(same.covered, 0.9)
        self.assertLess(apart.covered, 0.6)
        self.assertEqual((same.runs, apart.runs), (1, 2))


    def test_operations_that_really_were_slower(self):
        """Points of `kernels --fe_slower=5` beside those of the same run; they count for nothing else."""
        def under(condition: str, run: dict) -> dict:
            return {tuple(condition if name == "condition" else value for name, value in zip(rows.POINT, key)): side
                    for key, side in run.items()}

        random = numpy.random.default_rng(4)
        usual, other = (under("burst", simulated(random, 30, 6)) for _ in range(2))
        c = compare.calibrate(usual | under("slower5", simulated(random, 30, 5, slower=0.05)))
        self.assertEqual((c.points, c.processes), (30, 3))
        self.assertGreater(c.slowed[2], 0.95)
        self.assertLess(abs(c.slowed_by[2] - 0.05), 0.002)
        self.assertTrue(math.isnan(c.slowed[0]))
        self.assertEqual(compare.calibration_row("m", "c", c)["slowed_5"], f"{c.slowed[2]:.4f}")
        beside = compare.calibrate(usual, other | under("slower5", simulated(random, 20, 5, slower=0.05)))
        self.assertEqual(beside.points, 30)
        self.assertGreater(beside.slowed[2], 0.95)
        faster = compare.calibrate(usual | under("slower5", simulated(random, 30, 5, slower=-0.05)))
        self.assertEqual(faster.slowed[2], 0)


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def run_of(self, name: str, *lines: str) -> pathlib.Path:
        folder = pathlib.Path(self.folder.name) / name
        folder.mkdir()
        (folder / "kernels.csv").write_text("\n".join((HEADER,) + lines) + "\n")
        return folder

    def times(self, name: str, *seconds: float, **changes: str) -> pathlib.Path:
        row = ROW
        for old, new in changes.values():
            row = row.replace(old, new)
        return self.run_of(name, *(of_process(row.replace("1e-5,9e-6", f"{t},9e-6"), n)
                                   for n, t in enumerate(seconds, 1)))

    def program(self, *words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = compare.main(list(words))
        return code, out.getvalue(), err.getvalue()

    def said(self, a: pathlib.Path, b: pathlib.Path, *flags: str) -> str:
        code, out, _ = self.program(str(a), str(b), *flags)
        self.assertEqual(code, 0)
        return out

    def test_words(self):
        a = self.times("a", 1.0, 1.001, 0.999)
        self.assertIn("slower", self.said(a, self.times("b", 1.1, 1.101, 1.102)))
        self.assertIn("faster", self.said(a, self.times("c", 0.9, 0.901, 0.902)))
        self.assertIn("same: within 2 %", self.said(a, self.times("d", 1.001, 1.002, 1.0)))
        self.assertIn("more processes of each would tell", self.said(a, self.times("e", 1.0, 1.05, 0.96)))
        self.assertIn("cannot tell: 1 process, 3 are needed", self.said(a, self.times("f", 1.1)))
        self.assertIn("reliability on m: not measured", self.said(a, a))

    def test_runs_differ_unless_both_are_of_one_card(self):
        card = {"m": (",m,", ",nvidia-h200,"), "g": (",host,", ",cuda,"), "n": (",375,", ",3750000,")}
        a, b = (self.times(name, *(f * t for t in (1.0, 1.001, 0.999)), **card) for name, f in (("a", 1), ("b", 1.018)))
        self.assertIn("same: within 5 %", self.said(a, b))
        self.assertIn("the same on GPUs: within 5 %", self.said(a, b))
        two = ("--margin", "0.02")
        self.assertIn("cannot tell: runs of the same kernels differ by as much", self.said(a, b, *two))
        self.assertIn("runs on GPUs: taken to differ", self.said(a, b, *two))
        self.assertNotIn("the same on GPUs", self.said(a, b, *two))
        self.assertIn("slower", self.said(a, b, "--apart", "0").splitlines()[0])
        for cards, said in ((("one", "one"), "slower"), (("one", "other"), "cannot tell"), (("one two", "one two"), "cannot tell"),
                            (("one", "one two"), "cannot tell")):  # of two cards nobody knows which
            for folder, named in zip((a, b), cards):
                (folder / "machine.csv").write_text(f"key,value\nidentity,{named}\n")
            self.assertIn(said, self.said(a, b, *two).splitlines()[0])
        self.assertEqual(self.program(str(a), str(b), "--apart", "2")[0], 2)
        small = (self.times(name, f, f, f, m=card["m"], g=card["g"]) for name, f in (("c", 1), ("d", 1.1)))
        self.assertRegex(self.said(*small), r"\nthe same on GPUs: within \d\d % below 250 K degrees of freedom, as")

    def test_what_cannot_be_compared(self):
        a = self.times("a", 1.0, 1.001, 0.999)
        self.assertIn("status out_of_memory", self.said(a, self.times("b", 1.0, s=(",ok", ",out_of_memory"))))
        self.assertIn("numbering lexicographic and morton", self.said(a, self.times("c", 1.0, n=("lexicographic,double", "morton,double"))))
        other = self.said(a, self.times("d", 1.0, e=("hex8", "tet4")))
        self.assertIn("1 points only in A: not shown", other)
        self.assertIn("1 points only in B: not shown", other)
        self.assertIn("2 points: 2 not comparable", other)
        self.assertNotIn("\nonly in A: ", other)
        new = self.times("g", 1.0, 1.001, 0.999, v=(",patch,", ",scatter_sum,"))
        self.assertIn("\nonly in A: patch (1 points)\nonly in B: scatter_sum (1 points)\n", self.said(a, new))
        mixed = self.run_of("e", ROW, of_process(ROW.replace(",abc,", ",abd,"), 3))
        self.assertIn("of commits abc, abd", self.said(a, mixed))
        (mixed / "settings.txt").write_text("paper; sources 0123456789ab; febench abc\n")  # of the same, says its sum
        compare._is_paper.cache_clear()
        self.assertNotIn("of commits", self.said(a, mixed))
        zeros = self.times("z", 0.0, 0.0, 0.0)
        for one, other in ((zeros, zeros), (a, zeros)):
            self.assertIn("1 points: 1 not comparable", self.said(one, other))

    def test_disturbed_rows_do_not_count(self):
        a = self.times("a", 1.0, 1.001, 0.999)
        noisy = self.run_of("b", *(of_process(ROW.replace(",,ok", ",loaded,ok"), n) for n in (1, 2, 3)))
        self.assertIn("all processes were disturbed", self.said(a, noisy))

    def test_a_process_is_a_run_and_a_number(self):
        """Of three runs, each with its first process; another file of a run adds none."""
        for name, t in (("1", 1.0), ("2", 1.001), ("3", 0.999)):
            self.times(name, t).rename(self.made("runs") / name)
        self.assertIn("1 same", self.said(self.made("runs"), self.times("b", 1.0, 1.001, 1.002)))
        again = self.made("b") / "kernels-again.csv"
        again.write_text("\n".join((HEADER, *(of_process(ROW, n) for n in (1, 2, 3, 4)))) + "\n")
        (side,) = compare.load(self.made("b")).values()
        self.assertEqual(side.medians, [1.0, 1.001, 1.002])

    def made(self, name: str) -> pathlib.Path:
        folder = pathlib.Path(self.folder.name) / name
        folder.mkdir(exist_ok=True)
        return folder

    def test_other_builds_are_points_of_their_own(self):
        folder = self.made("s")
        for name, column, ways in (("storage.csv", "storage", ("FULL", "FLOATS", "RECORDS")),
                                   ("forms.csv", "form", ("ATOMICS", "COLORS"))):
            (folder / name).write_text("\n".join([f"{column},{HEADER}", *(f"{way},{ROW}" for way in ways)]) + "\n")
        text = self.said(folder, folder)
        self.assertEqual(text.count("cannot tell: 1 process"), 5)
        self.assertIn("storage=RECORDS", text)
        self.assertIn("form=COLORS", text)

    def test_environments_are_told(self):
        a = self.times("a", 1.0, 1.001, 0.999)
        self.assertIn("commit: abc and abd", self.said(a, self.times("b", 1.0, 1.0, 1.0, c=(",abc,", ",abd,"))))
        self.assertIn("environments: no difference", self.said(a, a))

    def test_records_and_samples_are_told_where_they_differ(self):
        gpu = (",host,", ",cuda,")
        a, b = (self.times(name, 1.0, 1.001, 0.999, g=gpu) for name in "ab")
        self.assertIn("environments: no difference", self.said(a, b))  # neither has a record
        alike = "key,value\ncompiler,gcc 13\ncuda,13.0\ncuda_fma_gflop_per_s,33000\nhost_copy_gb_per_s,30\n"
        (a / "machine.csv").write_text(alike + "driver,580.1\ncuda_copy_gb_per_s,4555\n")
        (b / "machine.csv").write_text(alike.replace("33000", "33100").replace(",30", ",60") +
                                       "driver,580.2\ncuda_copy_gb_per_s,4469\n")
        columns = rows.columns_of("samples.csv")
        (point,) = (side.rows[0] for side in compare.load(a).values())
        for folder, clock, watt in ((a, 1980, 601), (b, 1935, 602)):
            common = {name: point.get(name) for name in columns} | {"start": "", "sm_mhz": clock, "watt": watt}
            samples = [common | {"sample": 1, "seconds": 1.0}, common | {"sample": 2, "seconds": 1.0},
                       common | {"sample": 1, "seconds": 1.0, "operation": "residual", "sm_mhz": 100}]  # another point
            lines = [",".join("" if s[name] is None else str(s[name]) for name in columns) for s in samples]
            (folder / "samples.csv").write_text("\n".join([",".join(columns), *lines]) + "\n")
        told = self.said(a, b).split("1 points: 1 same\n")[1].splitlines()
        self.assertEqual(told[:3], ["driver: 580.1 and 580.2", "copy rate of the GPU: 4555 and 4469 GB/s",
                                    "median clock of multiprocessors: 1980 and 1935 MHz"])
        self.assertIn("runs on GPUs", told[3])  # power, CUDA and FP64 rate are alike; no row is of a host

    def test_what_is_set_on_a_machine_is_told_where_it_differs(self):
        """Of a GPU only beside its rows; nothing where a record does not have it or the machine does not say."""
        gpu, both = (",host,", ",cuda,"), "key,value\nmicrocode,0x1\ngpu_mig,-\ngpu_max_sm_mhz,1980\n"
        sides = [[self.times(f"{name}{of}", 1.0, 1.001, 0.999, g=g) for name in "ab"]
                 for of, g in (("host", (",host,", ",host,")), ("gpu", gpu))]
        for a, b in sides:
            (a / "machine.csv").write_text(both + "gpu_power_limit_w,700\nsystem,Linux 6\n")
            (b / "machine.csv").write_text(both.replace("-", "enabled") + "gpu_power_limit_w,600; 700\n")
        told = [self.said(a, b).split("1 points: 1 same\n")[1].splitlines() for a, b in sides]
        self.assertIn("environments: no difference", told[0][0])
        self.assertEqual(told[1][0], "power limit of the GPU in W: 700 and 600, 700")
        self.assertIn("runs on GPUs", told[1][1])

    def test_environments_of_two_committed_runs(self):
        runs = [pathlib.Path("results/nvidia-h200") / name
                for name in ("2026-11-29-411c7e9a3c16", "2026-11-29-0824f1531227")]
        told = list(environments.differences(runs, [[row for side in compare.load(run).values() for row in side.rows]
                                                    for run in runs]))
        self.assertIn("copy rate of the GPU: 4555 and 4469 GB/s", told)
        self.assertTrue(any(line.startswith("median clock of multiprocessors: ") for line in told))
        self.assertFalse(any(line.startswith("driver") for line in told))

    def test_threads_of_the_host_tell_nothing_of_a_gpu(self):
        gpu = (",host,", ",cuda,")
        a, b = self.times("a", 1.0, 1.001, 0.999, g=gpu), self.times("b", 1.0, 1.001, 0.999, g=gpu, t=(",1,2,patch", ",1,16,patch"))
        self.assertIn("1 same", self.said(a, b, "--apart", "0"))

    def test_rows_are_written(self):
        a, out = self.times("a", 1.0, 1.001, 0.999), pathlib.Path(self.folder.name) / "out.csv"
        self.said(a, a, "--rows", str(out))
        self.assertIn(",same,", out.read_text())

    def test_bad_input_is_one_line(self):
        a = self.times("a", 1.0)
        for words, part in (((str(a),), "two runs"), ((str(a), "nowhere"), "nowhere: holds no rows"),
                            ((str(a), str(a), "--margin", "2"), "--margin"), ((str(a), "--calibrate"), "6 processes")):
            code, _, err = self.program(*words)
            self.assertEqual((code, err.count("\n")), (2, 1))
            self.assertIn(part, err)
