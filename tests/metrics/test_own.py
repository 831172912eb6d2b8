"""Metrics of the user's own, from a file and from an installed package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metal.errors import UnknownName, UsageError
from metal.raters.metrics import Item, find_metric, known_metrics, score_all, scored
from tests.conftest import offer

METRIC = '''
def overlap(output, reference):
    """Share of the reference's letters that the output has.

    More is not said on one line.
    """
    return sum(letter in output for letter in reference) / len(reference)

overlap.range = (0, 1)
overlap.version = "2"

def distance(output, *, references, source, language="en"):
    return min(abs(len(output) - len(one)) for one in references) + len(source) + len(language)

distance.direction = "lower"

def shaky(output):
    if output == "raise":
        raise ValueError("no such text\\nsecond line")
    return {"none": None, "words": "too odd", "list": []}.get(output, len(output))

def wrong(output, gold):
    return 0

LIMIT = 3
'''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(METRIC, encoding="utf-8")
    return tmp_path / "mine.py"


def test_a_function_with_a_reference_is_called_for_each(path: Path) -> None:
    metric = find_metric(f"{path}:overlap")
    assert (metric.name, metric.low, metric.high, metric.needs) == (
        f"{path}:overlap",
        0,
        1,
        ("references",),
    )
    assert metric.summary == "Share of the reference's letters that the output has."
    assert score_all(metric, [Item("abc", ("xyza", "ab"))]) == [1.0]
    assert find_metric(metric.name) == metric


def test_a_function_with_all_references_and_more(path: Path) -> None:
    metric = find_metric(f"{path}:distance")
    assert (metric.direction, metric.needs, metric.multi_reference) == (
        "lower",
        ("references", "source"),
        True,
    )
    assert score_all(metric, [Item("abc", ("a", "ab"), "xy", "hi"), Item("abc", ("a",))]) == [
        1 + 2 + 2,
        None,
    ]


def test_what_a_function_gives_beside_numbers_is_a_reason(path: Path) -> None:
    result = scored(
        find_metric(f"{path}:shaky"),
        [Item(text) for text in ("raise", "none", "words", "list", "five5")],
    )
    assert [item.reason for item in result] == [
        "the metric raised ValueError: no such text",
        "the metric gave none",
        "too odd",
        "the metric gave list, no finite number",
        "",
    ]
    assert result[-1].score == 5


def test_the_signature_changes_with_the_file(path: Path) -> None:
    before = find_metric(f"{path}:overlap").signature
    assert before.endswith("|version:2")
    path.write_text(METRIC + "\n# changed\n", encoding="utf-8")
    assert find_metric(f"{path}:overlap").signature != before


def test_what_is_wrong_with_a_file(path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.py: no such file"):
        find_metric("nowhere.py:score")
    with pytest.raises(UnknownName, match="'overlop' is not known; did you mean 'overlap'"):
        find_metric(f"{path}:overlop")
    with pytest.raises(UnknownName, match="'LIMIT'"):
        find_metric(f"{path}:LIMIT")
    with pytest.raises(UsageError, match="parameter 'gold' is not known"):
        find_metric(f"{path}:wrong")
    path.write_text("import nothing_of_this_name", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be run: ModuleNotFoundError"):
        find_metric(f"{path}:overlap")


# ---------------------------------------------------------------- packages


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python takes for installed packages, with one that offers metrics."""
    (tmp_path / "far_away.py").write_text(
        "from metal.raters.metrics import Metric, MetricFactory\ndef letters(output):\n    'Letters"
        " of the output.'\n    return len(output)\nwhole = Metric('whole', 'All.', lambda items:"
        " [1.0] * len(items), 'w1', ())\ndef open_same(asked):\n    name, options ="
        " asked.fill(n=1)\n    return Metric(name, 'The same.', lambda items: [float(options['n'])]"
        " * len(items), 's1', ())\nsame = MetricFactory('The same.', open_same)\n",
        encoding="utf-8",
    )
    offer(
        tmp_path,
        "far-away",
        "metal.metrics",
        "letters = far_away:letters\nwhole = far_away:whole\nother = far_away:whole\nsame ="
        " far_away:same\n",
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("far_away", None)


def test_metrics_of_a_package(site: Path) -> None:
    assert known_metrics()["letters"] == "from far_away:letters"
    letters = find_metric("letters")
    assert letters.signature == "letters|far_away:letters|package:1.5"
    assert score_all(letters, [Item("four")]) == [4.0]
    assert find_metric("whole").summary == "All."
    assert find_metric("same").name == "same"
    assert score_all(find_metric("same(n=7)"), [Item("four")]) == [7.0]


def test_what_is_wrong_with_a_package(site: Path) -> None:
    with pytest.raises(UsageError, match="is a metric called 'whole'; use one name for both"):
        find_metric("other")
    with pytest.raises(UsageError, match="letters is from far_away:letters and has no options"):
        find_metric("letters(n=2)")
    with pytest.raises(UnknownName, match="did you mean 'letters'"):
        find_metric("leters")


@pytest.mark.parametrize("name", ["letters", "chrf"])
def test_a_name_that_is_taken_is_refused(
    name: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = site / "other"
    other.mkdir()
    offer(other, "another", "metal.metrics", f"{name} = another:{name}\n")
    monkeypatch.syspath_prepend(other)
    with pytest.raises(UsageError, match=f"another:{name}.* both offer '{name}' in metal.metrics"):
        find_metric("letters")
