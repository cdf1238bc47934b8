#!/usr/bin/env python3
"""Opens a curve (solve --curve) with Python's csv module, then with pandas, and compares every number with the
result file of the same run. Usage: check_curve.py CURVE.csv RESULT.json FIRST, where FIRST is the step of the
first row. Exit 0: equal; 1: not; 77: equal, but pandas is not installed."""
import csv
import json
import sys

SCALARS = ("elastic_energy", "plastic_work", "int_peeq", "max_abs_u", "norm_u", "max_mises", "max_peeq",
           "max_gradient", "plastic_gp")


def fail(text):
    print(f"check_curve.py: {text}", file=sys.stderr)
    sys.exit(1)


def row_of(step):
    """The row that a step of the result must have, without times."""
    row = {"step": step["step"]}
    row |= {f"factor_{name}": factor for name, factor in step["factors"].items()}
    row |= {f"u_{name}_{axis}": value for name, u in step["probes"].items() for axis, value in zip("xyz", u)}
    row |= {f"reaction_{group}_{axis}": value
            for group, components in step["reactions"].items() for axis, value in components.items()}
    row |= {f"{key}_{axis}": value
            for key in ("total_reaction", "applied") for axis, value in zip("xyz", step[key])}
    row |= {key: step[key] for key in SCALARS}
    return row | {"newton_iterations": step["newton"]["iterations"],
                  "krylov_iterations": step["newton"]["krylov_iterations"]}


def check_row(columns, got, want):
    if sorted(columns) != sorted([*want, "seconds"]) or columns[0] != "step":
        fail(f"columns {columns}, expected {[*want, 'seconds']}")
    for key, value in want.items():
        if float(got[key]) != value:
            fail(f"step {want['step']}: {key} is {got[key]}, expected {value}")


def main():
    curve, result, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(result, encoding="utf-8") as text:
        steps = json.load(text)["steps"]
    wanted = [row_of(step) for step in steps]
    if not wanted:
        fail(f"{result}: no step")
    wanted = [dict.fromkeys(wanted[0], 0), *wanted][first:]
    with open(curve, encoding="utf-8", newline="") as text:
        reader = csv.DictReader(text, strict=True)
        rows = list(reader)
        if [int(row["step"]) for row in rows] != [row["step"] for row in wanted]:
            fail(f"rows of the steps {[row['step'] for row in rows]}")
        for got, want in zip(rows, wanted):
            check_row(reader.fieldnames, got, want)
    try:
        import pandas
    except ImportError as missing:
        print(f"check_curve.py: {missing}", file=sys.stderr)
        sys.exit(77)
    frame = pandas.read_csv(curve, float_precision="round_trip")
    if len(frame) != len(wanted):
        fail(f"pandas sees {len(frame)} rows")
    for k, want in enumerate(wanted):
        check_row(list(frame.columns), frame.iloc[k], want)


main()
