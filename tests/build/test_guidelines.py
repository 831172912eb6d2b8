"""Guidelines say everything that the rubrics say, once, and nothing in them is markup."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from metal.building.forms import guidelines
from metal.data.records import Level, Scale
from metal.raters.judges.rubric import LevelText
from tests.build.conftest import criterion


def test_the_page_says_all_of_every_rubric(rubrics):
    page = html.unescape(guidelines.as_html(rubrics))
    for rubric in rubrics.values():
        words = [rubric.criterion.label, rubric.criterion.question, rubric.simple, *rubric.detailed.split("\n\n")]
        for level in rubric.criterion.scale.levels:
            words += [level.shown, rubric.levels[level.value].definition, *rubric.levels[level.value].reasons]
        for part in words:
            assert part in page
    for advice in guidelines.ADVICE:
        assert advice in page


def test_what_is_the_question_and_the_description_stands_once():
    texts = [text for _, text in guidelines.lines({"charm": criterion("charm", Scale("interval", low=1, high=5))})]
    assert texts.count("How much?") == 1
    assert "A number: 1 to 5" in texts


def test_hostile_rubrics_are_text(rubrics):
    hostile = '<img src=x onerror="alert(1)">\x00\ud800'
    rubric = replace(
        rubrics["task_quality"], simple=hostile, detailed=hostile, levels={0.0: LevelText(hostile, (hostile,))}
    )
    named = replace(
        rubric,
        criterion=replace(rubric.criterion, label=hostile, scale=Scale("ordinal", (Level(0, hostile), Level(1, "b")))),
    )
    page = guidelines.as_html({"task_quality": named})
    assert "<img" not in page
    assert page.count("&lt;img") == 5  # label, text, level, definition, reason
    page.encode()
    assert all(text.isprintable() or "\ufffd" in text for _, text in guidelines.lines({"task_quality": named}))


def test_the_page_loads_nothing(rubrics):
    page = guidelines.as_html(rubrics)
    assert not re.search(r"(src|href)=|url\(|@import|<script", page)
    assert "default-src 'none'" in page
