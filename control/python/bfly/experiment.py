# SPDX-License-Identifier: Apache-2.0
"""Experiments of `bfly measure`, and their results as tables."""
import json
import os
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import grpc

from .errors import Error
from .program import run

if TYPE_CHECKING:
    import pandas


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise Error(grpc.StatusCode.FAILED_PRECONDITION, "tables need pandas: install Debian's python3-pandas; without it "
                    "`summary` has the same figures as plain lists and dictionaries") from None
    return pandas


class Experiment:
    """A folder that `bfly measure` wrote."""

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = pathlib.Path(folder)
        try:
            self.summary: dict[str, Any] = json.loads((self.folder / "results.json").read_text())
        except FileNotFoundError:
            raise Error(grpc.StatusCode.NOT_FOUND, f"{self.folder} has no results.json; bfly measure writes it") from None
        except OSError as why:
            raise Error(grpc.StatusCode.FAILED_PRECONDITION, f"cannot read {self.folder}/results.json: {why.strerror}") from None
        except ValueError as why:
            raise Error(grpc.StatusCode.DATA_LOSS, f"{self.folder}/results.json is damaged ({why}); bfly measure writes it again") from None
        if not isinstance(self.summary, dict) or "measured" not in self.summary or not isinstance(self.summary.get("verdicts"), dict):
            raise Error(grpc.StatusCode.DATA_LOSS, f"{self.folder}/results.json is not what bfly measure writes; it writes it again")

    @property
    def verdicts(self) -> dict[str, int]:
        """How many claims have each verdict: PASS, FAIL, INVARIANT, VACUOUS, NOT APPLICABLE."""
        return dict(self.summary["verdicts"])

    @property
    def passed(self) -> bool:
        """Every trial was run, and no claim failed."""
        return bool(self.summary["measured"]) and not self.summary["verdicts"].get("FAIL")

    def results(self) -> "pandas.DataFrame":
        """What was measured, the rows of results.csv: one a point, or one a point and figure. Needs pandas."""
        return _pandas().read_csv(self.folder / "results.csv")

    def claims(self) -> "pandas.DataFrame":
        """One row a claim and point: what theory says, what was measured, the verdict. Needs pandas."""
        return _pandas().json_normalize(self.summary["claims"])


def measure(file: str | os.PathLike[str], out: str | os.PathLike[str], *, clock: str | None = None, jobs: int | None = None,
            settings: Mapping[str, object] | None = None) -> Experiment:
    """Runs an experiment file and writes its results to the folder `out`, which must not exist or holds it unfinished.

    `settings` lays values over the file's, such as {"d": [4, 6], "seeds": "1..10"}. A claim that fails is not an error: see
    `passed` and `claims()`. Raises Error if a claim that is named is judged at no point, or if the plots cannot be drawn.
    """
    words = ["measure", str(file), "--out", str(out)]
    for key, value in (settings or {}).items():
        words += ["--set", f"{key}={json.dumps(value) if isinstance(value, (list, tuple)) else value}"]
    words += [] if clock is None else ["--clock", clock]
    words += [] if jobs is None else ["--jobs", str(jobs)]
    before = _complete(out)
    try:
        run(*words)
    except Error as error:
        # Exit code 1 is also that of claims that failed. Then this run has left complete results with a FAIL.
        if before or error.code != grpc.StatusCode.UNKNOWN or not _complete(out) or Experiment(out).verdicts.get("FAIL", 0) == 0:
            raise
        if "judged at no point" in error.message:
            raise
    return Experiment(out)


def _complete(folder: str | os.PathLike[str]) -> bool:
    """Whether the folder holds the results of all trials and their plots."""
    try:
        return bool(Experiment(folder).summary.get("complete"))
    except Error:
        return False
