"""Engines are entry points."""

from __future__ import annotations

import pytest

from metal.data.plugins import plugins
from metal.errors import UnknownName
from metal.raters.judges.engine import load_engine
from metal.raters.judges.runner import LocalRun


def test_engines_are_chosen_by_name() -> None:
    assert set(plugins("metal.engines")) >= {"local", "batch", "ray"}
    assert load_engine("local") is LocalRun
    with pytest.raises(UnknownName, match=r"engine 'bach'.*did you mean 'batch'"):
        load_engine("bach")
