"""Two runs beside each other: the answers that have changed, and the reasons for both."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metal
from metal.app.comparing import marked_words
from metal.app.server import View
from metal.data.dataset import Card, Dataset, assemble
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source
from metal.errors import UsageError
from metal.questions.drift.changed import changed_answers
from tests.app.shop import SIZES, check_looks
from tests.app.test_guard import asked
from tests.saying import tells

BEFORE = "It has what matters, but not the <b>date</b>."
NOW = "It lacks what matters, and not the <script>alert(1)</script>."
BOTH = "compare?run=runs/judged&run=runs/later"


@pytest.fixture(scope="module")
def two(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """The app on a shelf with a later run of the same judge, which gives some other answers."""
    folder = tmp_path_factory.mktemp("two") / "shelf"
    shutil.copytree(shelf, folder)
    judged, later = folder / "runs" / "judged", folder / "runs" / "later"
    shutil.copytree(judged, later)
    for run, comment in ((judged, BEFORE), (later, NOW)):
        table = pq.read_table(run / "ratings.parquet")
        ratings = table.to_pandas().assign(comment=comment)
        if run == later:
            rows = ratings.index[ratings["criterion"] == "task_quality"][::2]
            ratings.loc[rows, "score"] = (ratings.loc[rows, "score"] + 1) % 3
        changed = pa.Table.from_pandas(ratings, schema=table.schema, preserve_index=False)
        pq.write_table(changed, run / "ratings.parquet")
    os.utime(judged / "run.toml", (1e9, 1e9))
    os.utime(judged / "journal.jsonl", (1e9, 1e9))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        view = View.begin(folder, 0)
    yield view
    view.stop()


def rated(scores: dict[str, list[float | None]], measure: str = "ordinal") -> Dataset:
    levels = (Level(0, "Bad"), Level(1, "Medium"), Level(2, "Good"))
    rows = [
        {"output": f"o{number}", "criterion": "q", "rater": rater, "score": score}
        | {"reason": "refused" if score is None else ""}
        for rater, by_output in scores.items()
        for number, score in enumerate(by_output)
    ]
    return assemble(
        Card("d"),
        [Criterion("q", Scale("nominal" if measure == "nominal" else "ordinal", levels))],
        [Source("s", "en")],
        [Output(f"o{number}", "s", "g", "en") for number in range(5)],
        [Rater(rater, "llm", "g") for rater in scores],
        tidy_facts(pd.DataFrame(rows)),
    )


def test_changed_answers_come_with_the_largest_change_first() -> None:
    #        o0 the same; o1 one of two steps; o2 both; o3 answered now; o4 no answer both times
    before = rated({"old": [1, 0, 0, None, None], "other": [0, 0, 0, 0, 0]})
    after = rated({"new": [1, 1, 2, 2, None]})
    changed = changed_answers(after, before, {"new": "old"})
    assert changed["output"].tolist() == ["o2", "o1", "o3"]
    assert changed["size"].tolist()[:2] == [1.0, 0.5]
    assert math.isnan(changed["size"][2])
    assert changed["judge"].unique().tolist() == ["new"]
    assert changed["before_judge"].unique().tolist() == ["old"]
    nominal = changed_answers(
        rated({"new": [1, 1, 2]}, "nominal"), rated({"new": [1, 0, 0]}, "nominal"), {"new": "new"}
    )
    assert nominal["size"].tolist() == [1.0, 1.0]
    assert not len(changed_answers(after, before, {"new": "old"}, languages=["hi"]))


def test_words_are_marked_and_nothing_else_is_markup() -> None:
    before, now = marked_words(BEFORE, NOW)
    assert before == "It <del>has</del> what matters, <del>but</del> not the" + (
        " <del>&lt;b&gt;date&lt;/b&gt;.</del>"
    )
    assert "<ins>&lt;script&gt;alert(1)&lt;/script&gt;.</ins>" in now
    assert marked_words("", "<a>") == ("", "&lt;a&gt;")
    assert marked_words("यह ठीक है", "यह बुरा है")[1] == "यह <ins>बुरा</ins> है"
    long = "x " * 100_000
    assert "<" not in marked_words(long, f"{long} y")[1]


def test_the_diff_has_what_has_changed(two: View) -> None:
    runs = two.folder / "runs"
    diff = metal.diff(runs / "later", runs / "judged")
    assert len(diff.changed_answers) == 60
    assert set(diff.changed_answers["criterion"]) == {"task_quality"}


def test_changed_answers_are_listed_below_the_figures(two: View) -> None:
    status, text, _ = asked(two, BOTH)
    assert status == 200
    assert tells(unescape(text), "fake:blind", "runs/later", "with the earlier", "runs/judged")
    assert "60</span>" in text
    assert text.count('role="rowheader"') == 50
    assert text.index("Undecided") < text.index("Changed answers")
    assert asked(two, f"{BOTH}&page=2")[1].count('role="rowheader"') == 10
    of_arabic = asked(two, f"{BOTH}&language=ar")[1]
    assert 0 < of_arabic.count('role="rowheader"') < 60
    status, text, _ = asked(two, BOTH.replace("compare", "comparison"))
    assert status == 200
    assert "judges before and after" in text


def test_both_reasons_stand_side_by_side(two: View, browser: Any) -> None:
    page = browser.new_page()
    page.goto(two.address + BOTH)
    page.locator("tbody th.output a").first.click()
    changes = page.locator(".changes tbody tr")
    assert changes.count() == 1
    assert changes.locator("del").first.inner_text() == "has"
    assert "<script>" in changes.locator("ins").last.inner_text()
    first = page.get_by_role("heading", level=1).inner_text()
    page.get_by_text("Next (j)").click()  # the next one that has changed
    assert page.get_by_role("heading", level=1).inner_text() != first
    assert page.locator(".changes tbody tr").count() == 1
    page.get_by_role("link", name="changed answers").click()
    page.get_by_role("heading", name="Changed answers").wait_for()
    page.close()


def test_what_cannot_be_compared_is_refused(two: View) -> None:
    assert asked(two, "comparison?run=runs/audit")[0] == 404
    assert asked(two, "compare?run=runs/audit&run=nothing")[0] == 404
    assert asked(two, "output/runs/later?output=hi-1/strong&beside=nothing")[0] == 404


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", SIZES)
def test_comparisons_are_fit_for_everybody(
    two: View, browser: Any, width: int, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.goto(f"{two.address}{BOTH}&language=ar")
    check_looks(page, width)
    page.locator("tbody th.output a").first.click()
    check_looks(page, width)
    context.close()


def test_a_comparison_works_without_script(two: View, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(two.address + BOTH)
    page.get_by_label("Language").select_option("ar")
    with page.expect_navigation():
        page.get_by_role("button", name="Show").click()
    page.locator("tbody th.output a").first.click()
    assert page.locator(".text[lang=ar]").count() > 0
    assert page.locator("ins").count() > 0
    context.close()


@pytest.fixture
def audited_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[View]:
    """The app on two audits, between which somebody rated again: first all people agree with the
    judge, then none does.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name, people in (("first", lambda score: score), ("second", lambda score: 2 - score)):
        lines = ["id,text,language,human_a,human_b,human_c,gpt-4o"]
        for number in range(60):
            scores = [people(number % 3)] * 3
            lines.append(f"o{number},text {number},en,{','.join(map(str, scores))},{number % 3}")
        table = tmp_path / "ratings.csv"
        table.write_text("\n".join(lines))
        metal.audit(table, resamples=100).save(tmp_path / "runs" / name)
    os.utime(tmp_path / "runs" / "first" / "run.toml", (1e9, 1e9))
    view = View.begin(tmp_path, 0)
    yield view
    view.stop()


def test_when_ratings_have_changed_the_verdicts_are_compared(
    audited_twice: View, browser: Any
) -> None:
    with pytest.raises(UsageError, match="earlier ones are gone"):
        metal.diff(
            audited_twice.folder / "runs" / "second", audited_twice.folder / "runs" / "first"
        )
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{audited_twice.address}compare?run=runs/first&run=runs/second")
    assert page.inner_text("h1") == "1 of 1 verdict has changed"
    assert tells(page.inner_text("main"), "with the earlier", "Only the verdicts can be compared")
    before, now = (cell.inner_text() for cell in page.locator("tbody td").all()[-2:])
    assert "Like a person" in before
    assert "Like a person" not in now
    assert "60 items" in now
    check_looks(page, 390)
    page.get_by_role("link", name="gpt-4o").click()
    page.get_by_role("heading", name="gpt-4o on ratings in English").wait_for()
    page.close()


def test_one_audit_whose_ratings_have_changed_is_not_compared_with_a_judges_run(
    audited_twice: View, shelf: Path
) -> None:
    shutil.copytree(shelf / "runs" / "judged", audited_twice.folder / "runs" / "judged")
    shutil.copytree(shelf / "datasets", audited_twice.folder / "datasets")
    status, text, _ = asked(audited_twice, "compare?run=runs/first&run=runs/judged")
    assert status == 400
    assert "earlier ones are gone" in text
