"""What an option may be on the command line, its settings record takes too."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

import metal
from metal.api.options import options_of
from metal.auditing.settings import AuditSettings
from metal.boards.settings import BoardSettings
from metal.questions.design.cells import DesignSettings
from metal.questions.design.labels.compute import LabelSettings
from metal.questions.leaderboard.compute import LeaderboardSettings

RECORDS = {
    "audit": AuditSettings(),
    "billboard": BoardSettings(),
    "design": DesignSettings(),
    "design_labels": LabelSettings(),
    "leaderboard": LeaderboardSettings(),
}
ENDS = [
    (verb, name, end)
    for verb, record in RECORDS.items()
    for name, (_, about, _) in options_of(getattr(metal, verb)).items()
    if name in {field.name for field in fields(record)} and not about.open_ends
    for end in (about.least, about.most)
    if end is not None
]


@pytest.mark.parametrize(("verb", "name", "end"), ENDS)
def test_the_ends_of_an_option_are_settings(verb: str, name: str, end: Any) -> None:
    record = RECORDS[verb]
    whole = isinstance(getattr(record, name), int)
    assert getattr(replace(record, **{name: int(end) if whole else end}), name) == end
