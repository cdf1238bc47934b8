"""Which rows are older than their sources, in a small repository."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from report import documents, model, sources
from report.claim import read_claims
from report.verdicts import decide_all

FILES = {
    "common/variant.h": "#include \"common/base.h\"\n",
    "common/base.h": "int base;\n",
    "common/base.c": "int a;\n",
    "common/base_host.c": "int b;\n",
    "common/other.h": "int other;\n",
    "common/solver/solve.c": "int solve;\n",
    "common/README.md": "words\n",
    "variants/a/variant.c": '#include "common/variant.h"\n.name = "a", \n.name = "a_ordered"\n',
    "variants/a/cuda.cu": "int kernel;\n",
    "variants/b/variant.c": '.name = "b"\nfind("a");\n',
    "variants/c/variant.c": '.name = "c"\n',
    "bench/sums.c": '#include "bench/sums.h"\n#include "bench/case.h"\n#include "common/base.h"\n',
    "bench/sums.h": "int sums;\n",
    "bench/case.h": "int size;\n",
    "bench/case.c": "int size;\n",
    "common/contact/contact_host.c": "int pass;\n",
    "common/contact/contact_cuda.cu": "int pass;\n",
}


@unittest.skipUnless(shutil.which("git"), "there is no git")
class Repository(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name) / "one"
        for path, text in FILES.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.git("init", "-q")
        self.commit = self.committed()
        self.patch = mock.patch.object(sources, "ROOT", self.root)
        self.patch.start()
        self.forget()

    def tearDown(self):
        self.patch.stop()
        self.forget()
        self.folder.cleanup()

    def git(self, *words: str) -> str:
        names = ["-c", "user.name=t", "-c", "user.email=t@t"]
        done = subprocess.run(["git", *names, *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def committed(self) -> str:
        self.git("add", ".")
        self.git("commit", "-qm", "more")
        return self.git("rev-parse", "HEAD")[:12]

    def forget(self) -> None:
        for cached in vars(sources).values():
            if hasattr(cached, "cache_clear") and cached.__module__ == sources.__name__:
                cached.cache_clear()

    def changed_by(self, path: str, *questions: tuple) -> list[bool | None]:
        """kind, strategy, backend, and whether with contact"""
        old = (self.root / path).read_text()
        (self.root / path).write_text(old + "int more;\n")
        self.forget()
        told = [sources.changed(self.commit, *question) for question in questions]
        (self.root / path).write_text(old)
        self.forget()
        return told

    def test_nothing_has_changed(self):
        self.assertEqual(sources.changed(self.commit, "kernels.csv", "a", "cuda"), False)

    def test_a_strategy_and_those_that_it_names(self):
        of = [("kernels.csv", name, "cuda") for name in ("a", "a_ordered", "b", "c")]
        self.assertEqual(self.changed_by("variants/a/variant.c", *of), [True, True, True, False])

    def test_what_it_includes_and_what_stands_beside(self):
        of = [("kernels.csv", name, "host") for name in ("a", "c")]
        for path in ("common/base.h", "common/base.c", "common/base_host.c"):
            self.assertEqual(self.changed_by(path, *of), [True, False], path)
        self.assertEqual(self.changed_by("common/other.h", *of), [False, False])
        self.assertEqual(self.changed_by("common/README.md", *of), [False, False])

    def test_backends_and_programs(self):
        of = [("kernels.csv", "a", "cuda"), ("kernels.csv", "a", "host")]
        self.assertEqual(self.changed_by("variants/a/cuda.cu", *of), [True, False])
        self.assertEqual(self.changed_by("common/base_host.c", *of), [False, True])
        whole = [(kind, "a", "host") for kind in ("solves.csv", "communication.csv")]
        self.assertEqual(self.changed_by("common/solver/solve.c", *whole, *of), [True, True, False, False])

    def test_operations_with_contact(self):
        of = [("kernels.csv", "a", "host", sources.has_contact(o)) for o in ("jacvec_contact0.01", "jacvec")]
        self.assertEqual(self.changed_by("common/contact/contact_host.c", *of), [True, False])
        self.assertEqual(self.changed_by("common/contact/contact_cuda.cu", *of), [False, False])

    def test_of_what_measures_only_files_of_its_name(self):
        of = [("kernels.csv", "sums", "host"), ("kernels.csv", "a", "host")]
        self.assertEqual(self.changed_by("bench/sums.c", *of), [True, False])
        self.assertEqual(self.changed_by("bench/sums.h", *of), [True, False])
        self.assertEqual(self.changed_by("common/base.c", *of), [True, True])
        for path in ("bench/case.h", "bench/case.c"):
            self.assertEqual(self.changed_by(path, *of), [False, False], path)

    def test_a_commit_counts_by_its_contents(self):
        (self.root / "README.md").write_text("later\n")
        later = self.committed()
        (self.root / "common/base.h").write_text("int changed;\n")
        last = self.committed()
        self.forget()
        self.assertEqual([sources.changed(c, "kernels.csv", "a", "cuda") for c in (self.commit, later, last)],
                         [True, True, False])

    def test_commits_are_alike_by_what_a_row_depends_on(self):
        (self.root / "README.md").write_text("later\n")
        words = self.committed()
        (self.root / "variants/c/variant.c").write_text('int changed; .name = "c"\n')
        last = self.committed()
        self.forget()
        for variant, wanted in (("a", [True, True]), ("c", [True, False])):
            told = [sources.alike(self.commit, c, "kernels.csv", variant, "cuda") for c in (words, last)]
            self.assertEqual(told, wanted)

    def test_commits_are_all_alike_by_what_any_row_depends_on(self):
        commits = [self.commit]
        for folder in ("common/base", "bench/problems", "meshgen"):
            (self.root / folder).mkdir()
        for path in ("README.md", "bench/case.c", "common/base/lock.c", "bench/element_only.cu"):
            (self.root / path).write_text("int changed;\n")
            commits.append(self.committed())
        self.assertEqual([sources.all_alike(self.commit, c) for c in commits], [True, True, True, True, False])
        for path in ("bench/problems/tube.json", "meshgen/irregular.c"):  # what is solved, and on what
            sums = sources.digest()
            (self.root / path).write_text("changed\n")
            before, after = commits[-1], self.committed()
            self.forget()
            self.assertFalse(sources.all_alike(before, after))
            self.assertNotEqual(sources.digest(), sums)
            commits.append(after)
        self.assertFalse(sources.all_alike(self.commit, "1234567"))
        self.assertFalse(sources.all_alike("1234567", "1234567"))

    def test_without_trees_only_one_commit_is_alike(self):
        for one, other, wanted in (("1234567", "1234567", True), ("1234567", "89abcde", False),
                                   ("unknown", "unknown", False), ("1234567-dirty", "1234567-dirty", False),
                                   (self.commit, "1234567", False)):
            self.assertEqual(sources.alike(one, other, "kernels.csv", "a", "cuda"), wanted)

    def test_what_nobody_knows(self):
        for commit in (self.commit + "-dirty", "0123456789ab", "c1", ""):
            self.assertIsNone(sources.changed(commit, "kernels.csv", "a", "cuda"))
        first, _ = self.commit, (self.root / "common/base.h").write_text("int changed;\n")
        self.committed()
        clone = self.root.with_name("shallow")
        subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{self.root}", str(clone)], check=True)
        with mock.patch.object(sources, "ROOT", clone):
            self.forget()
            self.assertIsNone(sources.changed(first, "kernels.csv", "a", "cuda"))
        with mock.patch.dict("os.environ", {"PATH": "/nonexistent"}):
            self.forget()
            self.assertIsNone(sources.changed(first, "kernels.csv", "a", "cuda"))


class Marks(unittest.TestCase):
    def test_what_is_not_timed_is_behind_no_row(self):
        for kind in (*sources.FURTHER, "kernels.csv"):
            for strategy in sources.strategies():
                for backend in ("host", "cuda"):
                    found = sources.files_of(kind, strategy, backend, contact=True)
                    self.assertEqual([path for path in found if path.startswith(sources.UNTIMED)], [])

    def test_marks_are_not_compared(self):
        plain = "- it is so; rows of abc1234, and of def5678 in\n  a line (H100: holds; [rows](x))\n"
        marked = (f"{sources.FOOT}\n- it is so; rows of abc1234{sources.MARK}, and of\n  def5678 in a line (H100: "
                  f"holds{sources.WORDS}; [rows](x))\n{sources.NOTE}\n")
        self.assertEqual(sources.without_marks(marked), sources.without_marks(plain))
        self.assertNotEqual(sources.without_marks(marked), sources.without_marks(plain.replace("abc", "abd")))

    def test_documents_are_checked_without_them(self):
        """Whatever has changed since: with all marks and with none the committed page is what the rows say."""
        committed = (model.ROOT / documents.PAGE).read_text()
        for told in (None, True):
            with mock.patch.object(sources, "changed", lambda *_, told=told: told):
                page = documents.page(decide_all(read_claims()))
            self.assertEqual(sources.MARK in page, bool(told))
            self.assertEqual(sources.without_marks(page), sources.without_marks(committed))
