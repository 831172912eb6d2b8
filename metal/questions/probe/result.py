"""What `metal.probe_plan` and `metal.probe_report` return."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metal.api.results import Result
from metal.questions.probe.run import ProbeRun

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.dataset import Dataset


class ProbeReport(Result, ProbeRun):
    """What judges are blind to, in which languages."""

    shown = "probes"


@dataclass(frozen=True, repr=False)
class ProbePlan:
    """A dataset of probes, in `folder`.

    made: a row for each language and condition: how many outputs were changed, how many could not be, and why.
    """

    dataset: Dataset
    folder: Path
    made: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def calls(self) -> int:
        """How many calls one judge with one prompt makes."""
        return len(self.dataset.outputs) * len(self.dataset.asked)

    def __repr__(self) -> str:
        return f"<{self.calls:,} calls a judge: {len(self.dataset.outputs):,} outputs in {self.folder}>"

    def _repr_html_(self) -> str:
        html: str = self.made.to_html(index=False)
        return html
