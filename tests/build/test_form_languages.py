"""The form speaks the rater's language, as far as files have it; the rest is English."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.building.forms.frame import english, in_their_language, load_frame, note_on_english
from metal.building.tasks import Assignment
from metal.errors import DataError, UnknownName
from tests import DEMO
from tests.build.assignments import assignment, form, turn_to
from tests.pages import ROOT
from tests.saying import tells

PROMPTS = ROOT / "prompts"
LANGUAGES = sorted(path.stem for path in (PROMPTS / "forms").glob("*.toml"))
Visiting = Callable[..., Any]


def theirs(language: str, *folders: Path) -> Assignment:
    texts = ("शीर्षक", "पुस्तकालय सोमवार को खुलता है। " * 40, "वह सोमवार को खुलता है।")
    own = assignment(language, texts=None if language in ("en", "ar") else texts)
    return in_their_language(own, [*folders, PROMPTS])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_file_of_ours_is_whole_and_names_its_reviewer(language: str) -> None:
    frame = load_frame(language, [PROMPTS])
    assert frame.texts.keys() == english()
    assert frame.reviewed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "direction", "start"), [("ar", "rtl", "ابدأ"), ("hi", "ltr", "शुरू करें")]
)
def test_the_frame_is_in_the_language_and_fits_a_phone(
    tmp_path: Path, visit: Visiting, language: str, direction: str, start: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    seen = visit(
        form(tmp_path, theirs(language)), viewport={"width": 390, "height": 850}, bypass_csp=True
    )
    page, words = seen.page, load_frame(language, [PROMPTS]).texts
    assert (page.get_attribute("html", "lang"), page.get_attribute("html", "dir")) == (
        language,
        direction,
    )
    assert page.inner_text("#start") == start
    assert page.inner_text("#unreviewed") == words["Unreviewed translation"]
    latin = re.findall("[A-Za-z]{4,}", page.inner_text("#view-guidelines .prose"))
    assert {*latin} <= {"answers", "json"}  # the name of the file
    for view in ("guidelines", "task-1", "tasks"):
        turn_to(page, view)
        if view == "task-1":
            assert page.inner_text("#task-heading") == words["Task {number} of {count}"].format(
                number=1, count=3
            )
            page.fill("#c2n", "-1")
            assert page.inner_text("#c2e") == words["Write a number from {low} to {high}."].format(
                low=0, high=100
            )
            circle, level = (
                page.locator(f"#c0 {node}").first.bounding_box() for node in ("input", "label")
            )
            middle = level["x"] + level["width"] / 2
            assert (circle["x"] > middle) == (direction == "rtl")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert [each["id"] for each in Axe().run(page).response["violations"]] == []
    page.click("#download")
    assert page.inner_text("#unfinished button") == words["Download anyway"]
    assert seen.said == []


def test_a_file_of_ones_own_comes_first_and_english_last(tmp_path: Path) -> None:
    own = tmp_path / "forms" / "hi.toml"
    own.parent.mkdir()
    own.write_text('reviewed = "A. Speaker"\n[texts]\n"Start" = "आरंभ"\n', encoding="utf-8")
    frame = load_frame("hi", [tmp_path, PROMPTS])
    assert (frame.texts["Start"], frame.texts["Next"]) == ("आरंभ", "अगला")
    assert frame.reviewed == "unreviewed"  # most of it still is
    alone = load_frame("hi", [tmp_path])
    assert (alone.reviewed, alone.texts) == ("A. Speaker", {"Start": "आरंभ"})
    page = form(tmp_path, replace(assignment(), frame=alone)).read_text(encoding="utf-8")
    assert 'href="#task-1">आरंभ</a>' in page
    assert ">Next<" in page
    assert 'id="unreviewed"' not in page
    assert load_frame("xx", [PROMPTS]).language == "en"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[texts]\n", "no reviewer is named"),
        ('reviewed = "unreviewed"\n[texts]\n"Strat" = "x"\n', "'Strat'"),
        ('reviewed = "unreviewed"\n[texts]\n"Task {number}" = "कार्य"\n', "placeholders"),
    ],
)
def test_a_bad_file_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "hi.toml").write_text(text, encoding="utf-8")
    with pytest.raises((DataError, UnknownName), match=problem):
        load_frame("hi", [tmp_path])


def test_our_unreviewed_rubrics_come_with_a_form_in_the_language_only() -> None:
    hindi, german = (
        [rubric.criterion for rubric in theirs(code).rubrics.values()] for code in ("hi", "de")
    )
    assert "अच्छा" in {level.label for criterion in hindi for level in criterion.scale.levels}
    assert theirs("hi").frame.reviewed == "unreviewed"
    # the form is in English
    assert "Good" in {level.label for criterion in german for level in criterion.scale.levels}
    assert theirs("de").frame.reviewed == ""


def test_guidelines_and_levels_are_translated_where_there_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "prompts" / "criteria").mkdir(parents=True)
    text = (PROMPTS / "criteria" / "task_quality.toml").read_text(encoding="utf-8")
    text = text.replace('label = "Good"', 'label = "अच्छा"')
    (tmp_path / "prompts" / "criteria" / "task_quality.hi.toml").write_text(text, encoding="utf-8")
    metal.read(DEMO).save(tmp_path / "data")
    out = tmp_path / "forms"
    metal.annotate_export(
        tmp_path / "data", out=out, criteria="task_quality", prompt_folders=[tmp_path / "prompts"]
    )
    hindi, other = ((out / f"{code}-1.html").read_text(encoding="utf-8") for code in ("hi", "en"))
    assert '<html lang="hi" dir="ltr">' in hindi
    assert ">अच्छा<" in hindi
    assert ">अच्छा<" not in other


YORUBA = ("Ilé ìkàwé", "Ilé ìkàwé yóò ṣí ní ọjọ́ Ajé. " * 20, "Ó ṣí ní ọjọ́ Ajé.")


def test_raters_whose_language_has_no_form_are_told_so(tmp_path: Path, visit: Visiting) -> None:
    given = in_their_language(assignment("yo", texts=YORUBA), [PROMPTS])
    page = visit(form(tmp_path, given), viewport={"width": 390, "height": 850}).page
    told = page.inner_text("#in-english")
    assert tells(told, "in English,", "Yoruba yet.")
    for language in ("hi", "en", "und"):
        theirs_or_english = in_their_language(assignment(language, texts=YORUBA), [PROMPTS])
        assert "in-english" not in form(tmp_path, theirs_or_english).read_text(encoding="utf-8")


def test_who_hands_out_a_form_is_told_which_languages_it_is_not_in(tmp_path: Path) -> None:
    codes = ("yo", "hi", "en", "ig", "zh-yo")
    given = [in_their_language(assignment(code, texts=YORUBA), [PROMPTS]) for code in codes]
    [note] = note_on_english(given, tmp_path)
    assert tells(note, "Igbo and Yoruba:", "in English.")
    copied, to = re.search(r"copy (\S+) to (\S+),", note).groups()  # type: ignore[union-attr]
    Path(to).parent.mkdir(parents=True)
    # what the note says makes a form in that language
    Path(to).write_bytes(Path(copied).read_bytes())
    folders = [tmp_path / "prompts", PROMPTS]
    assert load_frame("ig", folders).texts
    [again] = note_on_english([in_their_language(each, folders) for each in given], tmp_path)
    assert "translated into Yoruba:" in again
