"""Names that a user of the library mistypes, and data in which nobody is a person: an error that
says what to do.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
import pytest

import metal
from metal.data.files import bundled
from metal.errors import UnknownName, UsageError
from tests.saying import tells


@cache
def audit() -> Any:
    return metal.audit(bundled("datasets/demo"), criteria=["task_quality"], resamples=100)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"language": "Spansih"}, "language 'Spansih' is not known; did you mean 'es' (Spanish)?"),
        ({"language": "Enlgish"}, "language 'Enlgish' is not known; did you mean 'en' (English)?"),
        ({"language": "de"}, "language 'de' is not known; known: ar (Arabic)"),
        (
            {"criterion": "task_qualty"},
            "criterion 'task_qualty' is not known; did you mean 'task_quality'",
        ),
        ({"judge": "nobody"}, "judge 'nobody' is not known; "),
    ],
)
def test_disagreements_in_what_was_not_audited_are_an_error(
    names: dict[str, str], message: str
) -> None:
    with pytest.raises(UnknownName) as refused:
        audit().disagreements(**names)
    assert message in str(refused.value)


def test_disagreements_of_what_was_audited_may_be_none_at_all() -> None:
    shown = audit().verdicts.iloc[0]
    rows = audit().disagreements(
        language=shown["language"], criterion=shown["criterion"], judge=shown["judge"]
    )
    assert {*rows["language"]} <= {shown["language"]}
    named = audit().disagreements(language="Spanish")
    assert named.equals(audit().disagreements(language="es"))


def test_the_figures_of_a_language_that_was_not_audited_are_an_error() -> None:
    shown = audit().verdicts.iloc[0]
    with pytest.raises(UnknownName, match="did you mean 'es'"):
        audit()[shown["judge"], "Spansih", shown["criterion"]]
    with pytest.raises(UnknownName, match="judge 'x' is not known"):
        audit()["x", "es", shown["criterion"]]


def test_bias_in_a_criterion_or_language_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnknownName, match="criterion 'task_qualty' is not known"):
        metal.bias_language(bundled("datasets/demo"), criteria="task_qualty", judges="people")
    with pytest.raises(UnknownName, match="did you mean 'es'"):
        metal.bias_language(bundled("datasets/demo"), languages=["en", "Spansih"], judges="people")


def test_who_audits_a_data_frame_without_people_is_told_of_kinds() -> None:
    rows = [
        {"output": f"o{n}", "language": "en", "rater": rater, "score": n % 2}
        for n in range(8)
        for rater in "AB"
    ]
    with pytest.raises(UsageError) as refused:
        metal.audit(metal.read(pd.DataFrame(rows), kinds={"*": "llm"}))
    assert "raters.jsonl" not in str(refused.value)
    assert tells(str(refused.value), "some of A, B", '`kinds={"NAME": "human"}`')
