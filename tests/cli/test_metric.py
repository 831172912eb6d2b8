"""`metal metric`: the list, and trials whose outcome is the exit code."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from metal.raters.metrics import known_metrics
from tests.cli.forks import Metal, environment
from tests.saying import tells

OWN = '''
def overlap(output, references):
    """Share of the output's words that a reference has too."""
    expected = set(" ".join(references).split())
    words = output.split()
    return sum(word in expected for word in words) / len(words)

overlap.range = (0, 1)

def length(output):
    return 3 if "<" not in output else 1 / 0

def stops(output):
    raise SystemError("no\\nway")
'''


@pytest.fixture
def own(processes: Metal, tmp_path: Path) -> Metal:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return processes.at(tmp_path, environment(tmp_path))


def test_list(own: Metal) -> None:
    shown = own("metric", "list")
    assert max(map(len, shown.out.splitlines())) <= 80
    assert tells(shown.said, "character n-grams", "0 to 100")
    metrics = {metric["name"]: metric for metric in json.loads(own("metric", "list", "--json").out)}
    assert metrics.keys() >= known_metrics().keys()
    assert metrics["chrf"]["needs"] == ["references"]
    assert metrics["novelty"]["needs"] == ["source"]
    assert metrics["bertscore"]["ready"] != bool(metrics["bertscore"]["install"])


def test_check_of_a_metric_that_holds(own: Metal) -> None:
    done = own("metric", "check", "rouge-l")
    assert "ok identity: identical texts reach 1 in all 45 languages" in done.said
    assert tells(done.said, "passed every trial")


def test_the_example_in_the_help_holds(own: Metal) -> None:
    shown = own("metric", "--help").out
    example = textwrap.dedent(shown[shown.index("    # my/metric.py") : shown.index("  Examples:")])
    (own.cwd / "my").mkdir()
    (own.cwd / "my" / "metric.py").write_text(example, encoding="utf-8")
    assert "words that the output" in own("metric", "check", "my/metric.py:score").said


def test_check_of_a_metric_that_does_not(own: Metal) -> None:
    done = own("metric", "check", "own.py:overlap", "--json", expect=1)
    trials = {trial["trial"]: trial["holds"] for trial in json.loads(done.out)["trials"]}
    assert (trials["identity"], trials["Unicode forms"], trials["speed"]) == (True, False, None)
    assert done.err == ""
    shown = own("metric", "check", "own.py:length", expect=1)
    assert "not odd texts: 1 of 9 have no score: the metric raised ZeroDivisionError" in shown.said
    assert own("metric", "check", "own.py:stops", expect=1).err == ""


def test_check_on_texts_of_a_dataset(people: Metal) -> None:
    (people.cwd / "own.py").write_text(OWN, encoding="utf-8")
    done = people("metric", "check", "copy-rate", "--dataset", "mine")
    assert (
        "ok the dataset's texts: 4 of 9 outputs have a score, from 1 to 1; 5 without: fewer than 5"
        in done.said
    )
    done = people("metric", "check", "own.py:length", "--dataset", "mine", expect=1)
    assert (
        "not the dataset's texts: 8 of 9 outputs have a score, from 3 to 3; 1 without: the metric"
        " raised ZeroDivisionError: division by zero" in done.said
    )
    assert "has no references" in people.refused("metric", "check", "chrf", "--dataset", "mine")
