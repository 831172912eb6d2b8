"""What a run was made with, on its pages."""

from __future__ import annotations

import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from metal.app.server import View
from tests.app.shop import SIZES, check_looks
from tests.app.test_guard import asked
from tests.saying import tells


def test_a_run_of_judges_says_what_it_was_made_with(view: View) -> None:
    for path in ("about/runs/judged", "answers/runs/judged"):
        status, text, _ = asked(view, path)
        assert status == 200
        assert tells(unescape(text), "Made with", "metal judge, METAL", "datasets/demo (demo@")
        assert tells(text, "480 calls", "Cost", "$0.00", "pandas")
        assert tells(text, "Task quality b5ea9269", "run.toml")
        assert "/live/runs/judged" in text


def test_an_audit_leads_to_what_it_was_made_with(view: View) -> None:
    assert "/about/runs/audit" in asked(view, "run/runs/audit")[1]
    text = unescape(asked(view, "about/runs/audit")[1])
    assert tells(text, "fake:blind", "runs/judged", "resamples 100", "Signature")
    assert "ar-1" not in text  # people are not judges
    assert asked(view, "about/datasets/demo")[0] == 404
    assert "About this run" not in asked(view, "answers/datasets/demo")[1]


@pytest.mark.parametrize(
    "damage",
    [
        ("[settings.planned", "[settings.planned_"),
        ("calls = 480", 'calls = "<script>"'),
        ('metal = "', 'metal = "<script>alert(1)</script>'),
    ],
)
def test_a_damaged_run_is_shown_or_refused(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: tuple[str, str]
) -> None:
    shutil.copytree(shelf, tmp_path / "shelf")
    file = tmp_path / "shelf" / "runs" / "judged" / "run.toml"
    file.write_text(file.read_text("utf-8").replace(*damage), "utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    view = View.begin(tmp_path / "shelf", 0)
    status, text, _ = asked(view, "about/runs/judged")
    view.stop()
    assert status in (200, 400)
    assert "<script>" not in text.replace('<script src="', "")


@pytest.mark.slow
@pytest.mark.parametrize("width", SIZES)
def test_its_page_is_fit_for_everybody(view: View, browser: Any, width: int) -> None:
    page = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark", bypass_csp=True
    ).new_page()
    for path in ("about/runs/audit", "answers/runs/judged?language=ar"):
        page.goto(view.address + path)
        for summary in page.locator("summary").all():
            summary.click()
        check_looks(page, width)
    page.context.close()
