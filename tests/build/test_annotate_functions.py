"""The public functions of annotation: they return what happened, and print and ask nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from metal.api.annotate import annotate_export, annotate_import, annotate_status
from metal.building import forms
from metal.data import plugins
from metal.data.dataset import Card, assemble, load_dataset, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Output, Source
from metal.errors import UnknownName, UsageError
from tests.cli.filling import filled
from tests.conftest import TASK_QUALITY
from tests.saying import tells


def recognises(name: str, content: bytes) -> bool:
    """A form as another package would offer it: this module."""
    return content == b"ours"


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sources = [Source(f"s{number}", "en", f"text {number}") for number in range(3)]
    outputs = [
        Output(f"o{number}", f"s{number}", "g", "en", "short" if number else " ")
        for number in range(3)
    ]
    save_dataset(
        assemble(Card("mine"), [TASK_QUALITY], sources, outputs, [], facts_from([])),
        tmp_path / "mine",
    )
    return tmp_path / "mine"


def test_out_and_back(dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    handed_out = annotate_export(str(dataset), to="csv", raters=2, out=tmp_path / "out")
    assert [(each.rater, len(each.tasks)) for each in handed_out.assignments] == [
        ("en-1", 2),
        ("en-2", 2),
    ]
    assert len(handed_out.notes) == 1
    assert tells(handed_out.notes, "1 output not handed out", "no text")
    files = filled(
        "csv", handed_out.out, tmp_path / "back", lambda rater, task: {"task_quality": "2"}
    )
    tried = annotate_import(dataset, files, dry_run=True)
    assert not tried.written
    assert load_dataset(dataset).ratings.empty
    for same in (0, 4):
        report = annotate_import(dataset, files)
        assert (report.answers.answered, report.answers.same) == ({"en-1": 2, "en-2": 2}, same)
        assert report.agreement[["language", "items"]].to_numpy().tolist() == [["en", 2]]
        assert report.ambiguous.empty
        assert len(load_dataset(dataset).ratings) == 4
    assert not any(annotate_status(dataset).values())
    assert capsys.readouterr() == ("", "")


def test_mistakes_are_in_words_of_parameters(dataset: Path) -> None:
    with pytest.raises(UsageError, match="`people=1` is fewer than `raters=3`"):
        annotate_export(dataset, people=1)
    with pytest.raises(UnknownName, match="form 'cvs' is not known; did you mean 'csv'"):
        annotate_export(dataset, to="cvs")
    with pytest.raises(UsageError, match=r"begin with `metal\.annotate_export\(\.\.\.\)`"):
        annotate_import(dataset, [])
    with pytest.raises(UsageError, match="is not a dataset"):
        annotate_status(dataset / "nowhere")


def test_a_form_of_another_package_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are its own, also where METAL could read them."""
    point = plugins.EntryPoint("ours", __name__, forms.GROUP)
    own = plugins.plugins(forms.GROUP)
    monkeypatch.setattr(forms, "plugins", lambda group: {**own, "ours": point})
    monkeypatch.setattr(
        forms, "load_plugin", lambda group, kind, name: {**own, "ours": point}[name].load()
    )
    assert forms.form_of("a.csv", b"ours") == "ours"
    assert forms.form_of("a.csv", b"task,rater") == "csv"
