"""What a board can be told, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from metal.boards.settings import BoardSettings
from metal.errors import UsageError


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"resamples": 99}, "99 resamples: an interval needs at least 100"),
        ({"permutations": 99}, "99 permutations: a test needs at least 100"),
        ({"nonzero": 0}, "an ensemble of 0: use 1 or more"),
        ({"alpha": 0.0}, "alpha 0.0: use a number above 0"),
        ({"alpha": float("nan")}, "alpha nan"),
        ({"rule": "largest"}, "rule 'largest': one of smallest, middle"),
        ({"seed": -1}, "seed -1: use 0 or a positive whole number"),
        ({"members": ("metric", "people")}, "members 'people': one of human, llm, metric, baseline"),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        BoardSettings(**wrong)
    assert said in str(raised.value)


def test_as_plain_values() -> None:
    plain = BoardSettings().to_dict()
    assert plain == {
        "reference": "",
        "common": False,
        "members": ["metric"],
        "nonzero": 3,
        "rule": "smallest",
        "resamples": 2000,
        "permutations": 1000,
        "seed": 0,
        "version": 1,
        "exclude_noisy": "",
    }
    chosen = BoardSettings(reference="expert", raters=("a", "b"), alpha=2.3, families={"g": "f"})
    plain = chosen.to_dict()
    assert (plain["raters"], plain["alpha"], plain["families"]) == (["a", "b"], 2.3, {"g": "f"})
    assert BoardSettings(**{key: tuple(v) if isinstance(v, list) else v for key, v in plain.items()}) == chosen
