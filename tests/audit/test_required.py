"""What a build requires of verdicts, and an audit as notebooks show it."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import metal
from metal.auditing.verdict import AS_GOOD, VERDICTS
from metal.data.dataset import Dataset
from metal.errors import UnknownName, UsageError
from metal.questions.audit.required import SATISFIED_BY, Requirement
from metal.questions.audit.result import Audit
from tests.cli.forks import Metal, shared
from tests.pages import ROOT
from tests.saying import tells

DEMO = ROOT / "datasets" / "demo"
QUICK = ("--resamples", "100", "-c", "task_quality")


@pytest.fixture(scope="module")
def audit() -> Audit:
    return metal.audit(DEMO, criteria="task_quality", resamples=100)


@pytest.fixture
def command(tmp_path: Path) -> Metal:
    return shared().at(tmp_path, os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"})


def test_the_order_of_verdicts() -> None:
    """Like a person > informative > undecided, people disagree > uninformative."""
    assert [*SATISFIED_BY] == ["like a person", "informative", "undecided"]
    least = {
        verdict: [each for each in SATISFIED_BY if verdict in SATISFIED_BY[each]]
        for verdict in VERDICTS
    }
    assert least == {
        "like a person": ["like a person", "informative", "undecided"],
        "informative": ["informative", "undecided"],
        "uninformative": [],
        "people disagree": ["undecided"],
        "undecided": ["undecided"],
    }


@pytest.mark.parametrize(
    "text", ["", "hi", "a:hi>=informative", "a:hi:*", "a::*>=informative", "a:hi:*>informative"]
)
def test_what_is_no_requirement(text: str) -> None:
    with pytest.raises(UsageError, match="JUDGE:LANGUAGE:CRITERION>=VERDICT"):
        Requirement.read(text)


@pytest.mark.parametrize("verdict", ["good", "uninformative", "people disagree", ""])
def test_what_cannot_be_required(verdict: str) -> None:
    with pytest.raises(UsageError, match="use one of like a person, informative, undecided"):
        Requirement("*", "*", "*", verdict)


def test_names_of_judges_may_hold_colons() -> None:
    read = Requirement.read(" openai:gpt-4o/simple:hi:* >= like a person")
    assert read == Requirement("openai:gpt-4o/simple", "hi", "*", "like a person")
    assert Requirement.read(str(read)) == read


def test_at_least(audit: Audit) -> None:
    audit.assert_at_least("informative", judge="constructed:good", language="hi")
    audit.assert_at_least("like a person", judge="*good", language="Hindi", criterion="task*")
    with pytest.raises(AssertionError) as raised:
        audit.assert_at_least("informative", language="hi")
    verdicts = audit.verdicts.query("language == 'hi'").set_index("judge")
    worse = verdicts[~verdicts["verdict"].isin(["informative", "like a person"])]
    assert len(worse) >= 1
    assert str(raised.value).splitlines() == [
        f"{judge} on task quality in Hindi: {row['verdict']}, not at least informative:"
        f" {row['reason']}"
        for judge, row in worse.iterrows()
    ]


def test_each_verdict_is_held_against_what_is_required(audit: Audit) -> None:
    for row in audit.verdicts.to_dict("records"):
        for least, enough in SATISFIED_BY.items():
            required = Requirement(row["judge"], row["language"], row["criterion"], least)
            assert len(required.unmet(audit)) == (row["verdict"] not in enough)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"judge": "constructed:god"}, "judge 'constructed:god' is not known; did you mean 'con"),
        ({"language": "xx"}, "language 'xx' is not known; known: ar, en"),
        ({"criterion": "flu.ncy"}, "criterion 'flu.ncy' is not known; known: task_quality"),
        ({"judge": "[c]*"}, r"judge '\[c\]\*' is not known"),
    ],
)
def test_what_was_not_audited_is_no_success(
    wanted: dict[str, str], message: str, audit: Audit
) -> None:
    with pytest.raises(UnknownName, match=message):
        audit.assert_at_least("undecided", **wanted)


def test_baselines_are_meant_by_name_only(make_dataset: Callable[..., Dataset]) -> None:
    labels = [number % 3 for number in range(90)]
    people: dict[str, list[int | None]] = {name: [*labels] for name in ("A1", "A2", "A3")}
    made = make_dataset({"hi": people | {"judge": [*labels]}})
    audit = metal.audit(made, metal.judge(made, "majority"), resamples=100)
    audit.assert_at_least("informative")
    with pytest.raises(AssertionError, match="majority on task_quality"):
        audit.assert_at_least("informative", judge="majority")


def test_the_old_word_is_like_a_person(audit: Audit) -> None:
    old = audit.tables["verdicts"].replace("like a person", AS_GOOD)
    run = replace(audit, tables={**audit.tables, "verdicts": old})
    run.assert_at_least("like a person", judge="constructed:good", language="hi")


def test_the_command_fails_and_the_run_is_there(command: Metal, tmp_path: Path) -> None:
    required = ("--require", "*:Hindi:*>=informative", "--require", "*good:*:*>=informative")
    done = command.start("audit", str(DEMO), *QUICK, *required).wait()
    assert done.code == 1
    (line,) = [line for line in done.err.splitlines() if "not at least" in line]
    assert line.startswith("constructed:constant on task quality in Hindi: uninformative, not at")
    assert (tmp_path / "runs" / "demo" / "report.html").is_file()


def test_the_command_succeeds_where_all_is_met(command: Metal) -> None:
    met = ("--require", "constructed:good:hi:*>=like a person")
    done = command("audit", str(DEMO), *QUICK, *met, "--json")
    assert done.out.startswith("{")


def test_the_command_refuses_what_it_cannot_check(command: Metal, tmp_path: Path) -> None:
    done = command.start("audit", str(DEMO), *QUICK, "--require", "gpt-4o:*>=informative").wait()
    assert done.code == 2
    assert tells(
        done.err, "--require: 'gpt-4o:*>=informative'", "not JUDGE:LANGUAGE:CRITERION>=VERDICT"
    )
    assert not (tmp_path / "runs").exists()
    done = command.start("audit", str(DEMO), *QUICK, "--require", "gpt-4o:*:*>=informative").wait()
    assert done.code == 2
    assert "judge 'gpt-4o' is not known; known: constructed:blind" in done.err
    assert (tmp_path / "runs" / "demo" / "report.html").is_file()


def test_a_summary_in_markdown_says_what_is_not_met(command: Metal) -> None:
    required = ("--markdown", "--require", "*:hi:*>=informative")
    done = command.start("audit", str(DEMO), *QUICK, *required).wait()
    assert done.code == 1
    assert "\n\nRequired, and not met: constructed:constant on task quality in Hindi" in done.out


def test_repr_is_what_the_command_prints(command: Metal, audit: Audit) -> None:
    said = command("audit", str(DEMO), *QUICK).out
    assert said.startswith(f"{repr(audit).strip()}\n")
    assert max(map(len, repr(audit).splitlines())) <= 80
    assert repr(audit) is repr(audit)  # made once


def test_html_is_the_matrix_with_reasons_folded(audit: Audit) -> None:
    html = audit._repr_html_()
    judges, languages = audit.verdicts["judge"].nunique(), audit.verdicts["language"].nunique()
    assert html.count("<table") == judges
    assert html.count("<details") == judges + judges * languages
    assert html.count("<details open") == 1
    for word in ("<script", "<style", "class="):  # of which notebooks keep nothing
        assert word not in html
    assert "it gave one answer only" in re.sub("<[^>]+>", " ", html).lower()


def test_names_in_html_are_text(make_dataset: Callable[..., Dataset]) -> None:
    labels = [number % 3 for number in range(90)]
    people: dict[str, list[int | None]] = {name: [*labels] for name in ("A1", "A2", "A3")}
    audit = metal.audit(make_dataset({"hi": people | {"<b>{0}": [*labels]}}), resamples=100)
    assert "<b>{0}" not in audit._repr_html_()
    assert "&lt;b&gt;{0}" in audit._repr_html_()


def test_without_judges_there_is_an_answer(make_dataset: Callable[..., Dataset]) -> None:
    labels = [number % 3 for number in range(90)]
    audit = metal.audit(make_dataset({"hi": {"A1": [*labels], "A2": [*labels]}}), resamples=100)
    assert "No judges took part." in audit._repr_html_()
    assert len(repr(audit)) > 100


def test_dir_has_public_names_only() -> None:
    names = dir(metal)
    assert {*metal.__all__} <= {*names}
    assert [name for name in names if name.startswith("_")] == ["__version__"]
    assert not {"Any", "TYPE_CHECKING", "import_module", "annotations", "version"} & {*names}
    for name in names:
        assert getattr(metal, name) is not None


def test_help_has_no_names_of_types_that_only_metal_has() -> None:
    shown = str(inspect.signature(metal.audit))
    assert "data: str | Path | Dataset | DataFrame, *ratings:" in shown
    assert "judges: str | Sequence[str] = ()" in shown
    for name in metal.__all__:
        value = getattr(metal, name)
        if inspect.isfunction(value):
            for each in inspect.signature(value).parameters.values():
                plain = re.sub(r"Literal\[.*?\]", "", str(each.annotation))
                assert not re.findall(r"'|\.\w|StrPath|Unpack|Optional|Names", plain), name
