"""What `metal.design` and `metal.design_labels` return."""

from __future__ import annotations

from metal.api.results import Result
from metal.runs.design_run import DesignRun
from metal.runs.labels_run import LabelsRun


class Design(Result, DesignRun):
    """How many items and people a study needs."""

    shown = "needs"


class LabelPlan(Result, LabelsRun):
    """How many labels corrected scores need beside a judge."""

    shown = "labels"
