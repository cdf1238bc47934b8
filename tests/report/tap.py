"""Runs all unit tests of this folder and prints TAP, past what a test does to standard output."""

import sys
import unittest


def tell(text: str) -> None:
    print(text, file=sys.__stdout__, flush=True)


class Tap(unittest.TestResult):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def say(self, ok: bool, test: unittest.TestCase, note: str = "") -> None:
        self.n += 1
        tell(f"{'ok' if ok else 'not ok'} {self.n} - {test.id().removeprefix('tests.report.')}{note}")

    def say_fault(self, test: unittest.TestCase, error) -> None:
        self.say(False, test)
        tell("\n".join("# " + line for line in self._exc_info_to_string(error, test).splitlines()[-20:]))

    def addSuccess(self, test):
        self.say(True, test)

    def addFailure(self, test, err):
        self.say_fault(test, err)

    def addError(self, test, err):
        self.say_fault(test, err)

    def addSkip(self, test, reason):
        tell(f"skipped: {reason}")
        self.say(True, test, " # SKIP")

    def addSubTest(self, test, subtest, err):
        if err is not None:  # a test with a subtest that failed is no success to unittest
            self.say_fault(subtest, err)


def main() -> int:
    result = Tap()
    unittest.defaultTestLoader.discover("tests/report", top_level_dir=".").run(result)
    tell(f"1..{result.n}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
