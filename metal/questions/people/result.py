"""What `metal.monitor` returns."""

from __future__ import annotations

from metal.api.results import Result
from metal.questions.people.run import MonitorRun


class Monitor(Result, MonitorRun):
    """How far each rater can be relied on."""

    shown = "raters"
