"""Python packages that programs of the report cannot do without. Reports and `make bench` need none: they say what they
leave out."""

from __future__ import annotations

import importlib
import sys

DEBIAN = {"numpy": "python3-numpy", "scipy": "python3-scipy"}


def need(program: str) -> None:
    """Ends a program with one line and 2, like its other faults, where NumPy or SciPy cannot be imported. Called before
    the modules that import them."""
    missing = []
    for name in DEBIAN:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        print(f"{program}: {sys.executable} cannot import {' and '.join(missing)}: apt-get install "
              f"{' '.join(DEBIAN[name] for name in missing)} (for /usr/bin/python3)", file=sys.stderr)
        sys.exit(2)
