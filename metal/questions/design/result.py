"""What `metal.design` and `metal.design_labels` return."""

from __future__ import annotations

from metal.api.results import Result
from metal.questions.design.run import DesignRun
from metal.questions.design.labels.run import LabelsRun


class Design(Result, DesignRun):
    """How many items and people a study needs."""

    shown = "needs"


class LabelPlan(Result, LabelsRun):
    """How many labels corrected scores need beside a judge."""

    shown = "labels"
