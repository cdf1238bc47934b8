"""Runs all unit tests of this folder and prints TAP, past what a test does to standard output."""

import sys
import unittest


class Tap(unittest.TestResult):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def say(self, ok: bool, test: unittest.TestCase, note: str = "") -> None:
        self.n += 1
        print(f"{'ok' if ok else 'not ok'} {self.n} - {test.id().removeprefix('tests.report.')}{note}", file=sys.__stdout__, flush=True)

    def say_fault(self, test: unittest.TestCase, error) -> None:
        self.say(False, test)
        print("\n".join("# " + line for line in self._exc_info_to_string(error, test).splitlines()[-20:]),
              file=sys.__stdout__)

    def addSuccess(self, test):
        self.say(True, test)

    def addFailure(self, test, err):
        self.say_fault(test, err)

    def addError(self, test, err):
        self.say_fault(test, err)

    def addSkip(self, test, reason):
        print(f"skipped: {reason}", file=sys.__stdout__)
        self.say(True, test, " # SKIP")

    def addSubTest(self, test, subtest, err):
        if err is not None:  # a test with a subtest that failed is no success to unittest
            self.say_fault(subtest, err)


def main() -> int:
    result = Tap()
    unittest.defaultTestLoader.discover("tests/report", top_level_dir=".").run(result)
    print(f"1..{result.n}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
