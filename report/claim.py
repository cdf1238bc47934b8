"""Claims as claims/*.toml have them: claims/README.md says what a claim is."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import itertools
import operator
import pathlib
import re
import tomllib
from collections.abc import Callable, Sequence

from report import rows, text
from report.cases import CASE_PARTS
from report.model import ROOT
from report.quantities import QUANTITIES

FOLDER = ROOT / "claims"
USUAL = {"kernels.csv": rows.USUAL, "solves.csv": rows.USUAL_SOLVE}  # of columns that a claim does not select
CASE = "case."  # in front of a part of the case of several ranks (report/cases.py)

Selection = dict[str, object]


@dataclasses.dataclass(frozen=True)
class Claim:
    name: str
    asks: str
    sentence: str
    file: str
    quantity: str
    select: Selection
    of: Selection
    over: Selection | None
    free: tuple[str, ...]
    above: float | None
    below: float | None
    expected: str
    reproduce: tuple[str, ...]
    minutes: float
    told_as: str  # "": the ratio or quantity; percent: the ratio in per cent; share: see shown
    needs: str  # what it would take to measure it, where nothing here can
    headline: bool = False  # the README and the report begin with it
    rivals: int = 1  # a place counts where it is held beside so many strategies
    means: str = ""  # in words what its bounds are: "it takes less than a quarter longer"
    strongest: tuple[str, ...] = ()  # of `over`: where it holds none of these may be missing, each could be the strongest
    over_file: str = ""  # where the rows of `over` stand, if in another kind of file of the same run
    tolerance: float = 0.1  # share by which a ratio that is measured anew may differ from a committed one

    def file_of(self, side: Selection | None) -> str:
        """The kind of file that has the rows of a side."""
        return self.over_file if self.over_file and side is self.over else self.file

    @property
    def has_rivals(self) -> bool:
        """It is held beside several strategies, of which the strongest counts."""
        return isinstance((self.over or {}).get("variant"), list)

    @property
    def rival_names(self) -> list[str]:
        listed = (self.over or {}).get("variant")
        return list(map(str, listed)) if isinstance(listed, list) else []

    @property
    def needs_some(self) -> bool:
        """Of the strategies that it is held beside some must not be missing, and others may."""
        return bool(self.strongest) and set(self.strongest) < set(self.rival_names)

    @property
    def judges_expectation(self) -> bool:
        """Its bounds are what was expected, not what its sentence says."""
        return bool(self.expected) and not self.means

    def shown(self, ratio: float) -> float:
        """As the sentence has it. A share is the part of `of` by which it exceeds `over`, in per cent."""
        if self.told_as:
            return 100 * (1 - 1 / ratio if self.told_as == "share" else ratio)
        return ratio if self.over is not None else ratio * QUANTITIES[self.quantity].factor

    def bound(self, shown: float) -> float:
        """The inverse: of a bound."""
        if self.told_as:
            return 1 / (1 - shown / 100) if self.told_as == "share" else shown / 100
        return shown if self.over is not None else shown / QUANTITIES[self.quantity].factor

    @property
    def unit(self) -> str:
        return "%" if self.told_as else "times" if self.over is not None else QUANTITIES[self.quantity].unit

    @property
    def programs(self) -> list[str]:
        return [text.split()[0] for text in self.reproduce]


PROGRAMS = ("kernels", "solves", "scaling", "bench")
KEYS = {"asks", "sentence", "file", "over_file", "quantity", "select", "of", "over", "free", "above", "below", "expected",
        "reproduce", "minutes", "as", "needs", "headline", "means", "rivals", "strongest", "tolerance"}


def usual_tolerance(quantity: str) -> float:
    """Of a claim that has none of its own. Independent runs of one point on one kind of card have differed by a tenth
    (model.ONE_PROCESS). Counts are those of any process; what rounding changes of a solve's result is less than 1 %."""
    return 0.01 if QUANTITIES[quantity].counted else 0.1


def read_claims(folder: pathlib.Path = FOLDER) -> list[Claim]:
    """All claims, in the order of files and of claims in them. Fault where one is not what claims/README.md says."""
    claims: list[Claim] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            with open(path, "rb") as file:
                tables = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise rows.Fault(f"{path}: {error}") from error
        for name, table in tables.items():
            if name in (claim.name for claim in claims):
                raise rows.Fault(f"{path}: [{name}]: there is another claim of this name")
            claims.append(_claim(path, name, table))
    return claims


def _claim(path: pathlib.Path, name: str, table: dict) -> Claim:
    def fault(what: str) -> rows.Fault:
        return rows.Fault(f"{path}: [{name}]: {what}")

    if unknown := sorted(set(table) - KEYS):
        raise fault(f"{unknown[0]!r} is not a key of a claim")
    for key in ("asks", "sentence", "file", "quantity", "select", "of"):
        if key not in table:
            raise fault(f"has no {key!r}")
    if table["file"] not in rows.schema()["file"]:
        raise fault(f"file {table['file']!r}: results/schema.toml has none of this name")
    over_file = table.get("over_file", "")
    if over_file and (table["file"], over_file, table["quantity"]) != ("solves.csv", "kernels.csv", "time_per_evaluation"):
        raise fault(f"over_file {over_file!r}: it may be \"kernels.csv\", of a claim on time_per_evaluation of solves.csv")
    if over_file and "over" not in table:
        raise fault("over_file: is of a claim with 'over'")
    if table["quantity"] not in QUANTITIES:
        raise fault(f"quantity {table['quantity']!r} is not one of {', '.join(QUANTITIES)}")
    if "above" not in table and "below" not in table:
        raise fault("has neither 'above' nor 'below'")
    is_over_several = isinstance(table.get("over", {}).get("variant"), list)
    if "rivals" in table and not is_over_several:
        raise fault("rivals: is of a claim with several strategies in 'over'")
    if "as" in table and (table["as"] not in ("share", "percent") or "over" not in table):
        raise fault(f"as {table['as']!r}: it may be \"share\" or \"percent\", of a claim with 'over'")
    for command in table.get("reproduce", ()):
        if command.split()[:1] not in [[name] for name in PROGRAMS]:
            raise fault(f"reproduce: {command!r} does not begin with one of {', '.join(PROGRAMS)}")
    tolerance = table.get("tolerance", usual_tolerance(table["quantity"]))
    if not isinstance(tolerance, float) or not 0 < tolerance <= 1:
        raise fault(f"tolerance {tolerance!r}: is no share above 0 and up to 1, as 0.25")
    strongest = table.get("strongest", [])
    if strongest and not (is_over_several and list(table["over"]) == ["variant"] and (
            strongest is True or set(strongest) <= set(table["over"]["variant"]))):
        raise fault("strongest: it may be true of a claim over a list of variants, or name some of them")
    if not table.get("reproduce") and not table.get("needs"):
        raise fault("has neither 'reproduce' nor 'needs'")
    sides = {side.get("backend") for side in (table["of"], table.get("over", {}))}
    if sides == {"cuda", "host"} and "{host}" not in table["sentence"]:
        raise fault("compares a GPU with a host, and its sentence has no {host}: which host that is")
    columns = rows.columns_of(table["file"])
    of_files = {"select": {table["file"], over_file or table["file"]}, "of": {table["file"]},
                "over": {over_file or table["file"]}}
    for part, files in of_files.items():
        for column, file in itertools.product(table.get(part, {}), sorted(files)):
            if column not in rows.columns_of(file):
                raise fault(f"{part}: {column!r} is no column of {file}")
    apart = [*rows.columns_of_point(dict.fromkeys(columns))]
    apart += [CASE + name for name in CASE_PARTS] if table["file"] == "scaling.csv" else []
    for column in table.get("free", ()):
        if column not in apart:
            raise fault(f"free: {column!r} tells no points apart; those of {table['file']} have {', '.join(apart)}")
    return Claim(name, table["asks"], table["sentence"], table["file"], table["quantity"], table["select"], table["of"],
                 table.get("over"), tuple(table.get("free", ())), table.get("above"), table.get("below"),
                 table.get("expected", ""), tuple(table.get("reproduce", ())),
                 table.get("minutes", 0.0), table.get("as", ""), table.get("needs", ""), table.get("headline", False),
                 table.get("rivals", 1), table.get("means", ""),
                 tuple(table["over"]["variant"] if strongest is True else strongest), over_file, tolerance)


def backends_of(claim: Claim) -> set[str]:
    """Those that a claim's sides name; where none does, the host's will do. Profiles are of a GPU."""
    named = {str(s["backend"]) for s in (claim.select, claim.of, claim.over or {}) if "backend" in s}
    return named or {"cuda" if claim.file == "profile.csv" else "host"}


def gpus_of(claim: Claim) -> int:
    """That its commands need: as many as the most ranks."""
    if "cuda" not in backends_of(claim):
        return 0
    return max([1] + [int(n) for command in claim.reproduce for n in re.findall(r"--ranks (\d+)", command)])


def hardware(claim: Claim) -> str:
    n = gpus_of(claim)
    return "a host" if n == 0 else "a GPU" if n == 1 else f"{n} GPUs"


Test = Callable[[rows.Value], bool]
COMPARED: dict[str, Callable[[float, float], bool]] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def test_of(wanted: object) -> Test:
    """Tests whether a cell is what a selection asks for."""
    if isinstance(wanted, list):
        tests = [test_of(one) for one in wanted]
        return lambda value: any(test(value) for test in tests)
    return _test_of_text(wanted) if isinstance(wanted, str) else lambda value: value == wanted


@functools.cache
def _test_of_text(wanted: str) -> Test:
    if bound := re.fullmatch(r"([<>]=?)\s*([\d.e+-]+)", wanted):
        is_so, limit = COMPARED[bound[1]], float(bound[2])
        return lambda value: value is not None and is_so(float(value), limit)
    if span := re.fullmatch(r"([\d.e+-]+) to ([\d.e+-]+)", wanted):
        low, high = float(span[1]), float(span[2])
        return lambda value: value is not None and low <= float(value) <= high
    if wanted.startswith("!= "):
        return lambda value: str(value) != wanted[3:]
    return lambda value: value == wanted


def matches(value: rows.Value, wanted: object) -> bool:
    """Whether a cell is what a selection asks for."""
    return test_of(wanted)(value)


def chosen(names: Sequence[str]) -> list[Claim]:
    claims = read_claims()
    for name in names:
        if name not in {claim.name for claim in claims}:
            near = difflib.get_close_matches(name, [claim.name for claim in claims])
            raise rows.Fault(f"{name}: there is no such claim{f'; there is {text.listed(near)}' if near else ''}; docs/claims.md "
                             "has all names")
    return [claim for claim in claims if not names or claim.name in names]
