"""Command lines of the report's programs."""

from __future__ import annotations

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Of a module, whose text is the help. What it cannot take is one line, and exit code 2."""

    def __init__(self, module: str, text: str | None) -> None:
        super().__init__(prog=f"python3 -m {module}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help says what it takes\n")
