"""Starts programs beside the runner, which so hears an interruption at once, and stops them."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess

# Open MPI: a process on each hardware thread, in containers too
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
PATIENCE = 10  # seconds that a program has to end


class Launcher:
    def __init__(self) -> None:
        self.child: subprocess.Popen | None = None

    def launch(self, command: list[str], log: pathlib.Path, limit: float | None, held: int | None = None) -> int | None:
        """Exit code, negative for a signal; None: stopped after `limit` seconds. held: a lock that the child holds as
        well."""
        with open(log, "wb") as out:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                          env={**os.environ, **OPEN_MPI}, process_group=0,
                                          pass_fds=() if held is None else (held,))
        try:
            code = self.child.wait(limit)
        except subprocess.TimeoutExpired:
            self.stop()
            return None
        self.child = None
        return code

    def stop(self) -> None:
        """Ends the child and all that it started, if there is one."""
        child, self.child = self.child, None
        if not child or child.poll() is not None:
            return
        for kind in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(child.pid, kind)
                child.wait(PATIENCE)
                return
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def lines_of(path: pathlib.Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def last_line(path: pathlib.Path) -> str:
    return (lines_of(path) or [""])[-1]
