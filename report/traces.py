"""Solves whose kernels were traced: what rows of communication.csv say."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from report.communication import COMMUNICATION
from report.model import Model, Run
from report.rows import Row


@dataclasses.dataclass(frozen=True)
class Solve:
    """One that was traced: rows of communication.csv, of all its GPUs. Shares are means over these."""

    rows: tuple[Row, ...]

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def gpus(self) -> list[Row]:
        """A row of each."""
        return list({row["gpu"]: row for row in self.rows}.values())

    @property
    def sent(self) -> list[Row]:
        return [row for row in self.rows if row["category"] in COMMUNICATION]

    def busy(self, category: str) -> float | None:
        """Share of the time at work, where each moment is divided between the kernels of it; None where it has no kernel."""
        return self._share("busy_share", category)

    def span(self, category: str) -> float | None:
        """The same as a share of the time from the first kernel to the end of the last one."""
        return self._share("span_share", category)

    def _share(self, column: str, category: str) -> float | None:
        some = [row[column] for row in self.rows if row["category"] == category]
        return sum(some) / len(self.gpus) if some else None

    @property
    def communication(self) -> float:
        """Share of the time from the first kernel to the end of the last one."""
        return sum(self.span(category) or 0.0 for category in COMMUNICATION)

    @property
    def alone(self) -> float:
        """The same while nothing else ran on the GPU."""
        return sum(row["alone_s"] / row["span_s"] for row in self.sent) / len(self.gpus)

    @property
    def idle(self) -> float:
        """The same while neither a kernel nor a copy ran."""
        return 1 - sum(row["busy_s"] / row["span_s"] for row in self.gpus) / len(self.gpus)

    @property
    def launches(self) -> float:
        """Of a GPU."""
        return sum(row["launches"] for row in self.rows) / len(self.gpus)

    @property
    def sent_launches(self) -> float:
        return sum(row["launches"] for row in self.sent) / len(self.gpus)

    @property
    def slower(self) -> float | None:
        """Time of the load steps with tracing over the time without."""
        return self.first["solve_s"] / self.first["untraced_s"] if self.first["untraced_s"] else None


def solves(rows: Iterable[Row]) -> list[Solve]:
    """By element, size and preconditioner in their order, then strategy, ranks, transport and graphs."""
    meshes: dict[tuple, int] = {}
    of: dict[tuple, list[Row]] = {}
    for row in rows:
        at = meshes.setdefault(tuple(row[c] for c in ("element", "n_dof", "precondition")), len(meshes))
        of.setdefault((at, *(row[c] for c in ("variant", "ranks", "transport", "graphs"))), []).append(row)
    return [Solve(tuple(some)) for _, some in sorted(of.items(), key=lambda entry: entry[0])]


def traced(model: Model) -> list[tuple[Run, Solve]]:
    """Of each solve on each card the newest."""
    found: dict[tuple, tuple[Run, Solve]] = {}
    for run in model.runs:
        for solve in solves(model.studies.get((run, "communication.csv"), ())):
            key = tuple(solve.first[c] for c in ("device", "element", "n_dof", "precondition", "variant", "ranks",
                                                 "transport", "graphs"))
            found.setdefault(key, (run, solve))
    return [found[key] for key in sorted(found)]
