"""`metal passport`: what judges may be used for; every refusal of `require`, before any call; the
page.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.data.files import bundled
from metal.errors import DataError, UsageError
from metal.questions.passport.run import Passport
from metal.runs.passport import ALONE, BESIDE, IssuedPassport, check, digest, read_passport
from tests.report.checks import Visiting, check_names_are_text, check_page
from tests.report.test_remarks import FEW, Blind, bias
from tests.saying import tells

DEMO, GOOD = bundled("datasets/demo"), "constructed:good"
CRITERIA, LANGUAGES = ("task_quality", "hallucinations"), ("en", "es")
DAY = date(2026, 3, 1)
CALLS: list[str] = []
Reader = Callable[..., float]


@pytest.fixture(scope="module")
def copycat() -> Reader:
    """A judge that gives what constructed:good gave, and writes down that it was asked."""
    dataset = metal.read(DEMO)
    table = dataset.ratings[dataset.ratings["rater"] == GOOD]
    scores = {
        (dataset.sources[output.source].text, output.text, row.criterion): row.score
        for row in table.itertuples()
        if not isnan(row.score) and (output := dataset.outputs[row.output])
    }

    def answer(source: str, output: str, criterion: metal.Criterion) -> float:
        CALLS.append(output)
        return scores[source, output, criterion.name]

    return answer


@pytest.fixture(scope="module")
def audit(copycat: Reader, tmp_path_factory: pytest.TempPathFactory) -> metal.Audit:
    folder = tmp_path_factory.mktemp("copycat")
    asked: dict[str, Any] = {"criteria": CRITERIA, "languages": LANGUAGES}
    run = metal.judge(DEMO, copycat, name="copycat", out=folder / "judged", **asked)
    return metal.audit(DEMO, run, judges="copycat", resamples=100, **asked)


@pytest.fixture(scope="module")
def passport(audit: metal.Audit) -> Passport:
    return metal.passport(audit, date=DAY.isoformat())


def test_the_uses_are_the_verdicts_in_a_file_with_its_hash(
    passport: Passport, audit: metal.Audit, tmp_path: Path
) -> None:
    content = json.loads(
        (passport.save(tmp_path / "p") / "passport.json").read_text(encoding="utf-8")
    )
    # 180 days
    assert (content["passport"], content["issued"], content["expires"]) == (
        1,
        "2026-03-01",
        "2026-08-28",
    )
    recorded = content.pop("sha256")
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert (
        hashlib.sha256(canonical.encode("ascii")).hexdigest()
        == recorded
        == passport.manifest["settings"]["sha256"]
    )
    uses = {
        (cell["language"], cell["criterion"]): cell["use"]
        for cell in content["judges"]["copycat"]["cells"]
    }
    verdicts = {
        (row["language"], row["criterion"]): row["verdict"] for row in audit.records("verdicts")
    }
    # It copies constructed:good, which is informative on task quality in Spanish and like a person
    # elsewhere.
    assert verdicts["es", "task_quality"] == "informative"
    assert uses == dict.fromkeys(verdicts, ALONE) | {("es", "task_quality"): BESIDE}
    assert content["data"]["digest"] == audit.data["digest"]
    assert list(content["judges"]["copycat"]["prompt_hash"]) == list(CRITERIA)
    gaps = " ".join(content["judges"]["copycat"]["not_tested"])
    assert "languages other than English and Spanish" in gaps
    assert "Linguistic acceptability" in gaps
    assert "metal bias language" in gaps
    opened = metal.open_run(tmp_path / "p")
    assert opened.content == passport.content
    assert metal.report(tmp_path / "p").page.read_text(encoding="utf-8") == opened.report()


def test_only_what_is_allowed_is_asked(audit: metal.Audit, copycat: Reader, tmp_path: Path) -> None:
    folder = metal.passport(audit).save(tmp_path / "p")
    before = len(CALLS)
    with pytest.raises(
        UsageError,
        match="copycat is not allowed on task_quality in es: informative; leave that out",
    ):
        metal.judge(
            DEMO,
            copycat,
            name="copycat",
            criteria=CRITERIA,
            languages="es",
            require=folder,
            out=tmp_path / "no",
        )
    assert (len(CALLS), (tmp_path / "no").exists()) == (before, False)
    allowed: dict[str, Any] = {
        "criteria": CRITERIA,
        "languages": "en",
        "sample": 5,
        "out": tmp_path / "yes",
    }
    run = metal.judge(DEMO, copycat, name="copycat", require=folder / "passport.json", **allowed)
    assert run.complete
    assert len(CALLS) == before + 10

    def changed(source: str, output: str, criterion: metal.Criterion) -> float:
        return 1.0

    with pytest.raises(UsageError, match=r"copycat has asked \"function:copycat@\w+\", but "):
        metal.judge(
            DEMO, changed, name="copycat", require=folder, **allowed | {"out": tmp_path / "no"}
        )
    with pytest.raises(UsageError, match="judge 'majority' is not in it; known: copycat"):
        metal.judge(DEMO, "majority", require=folder, out=tmp_path / "no")
    assert not (tmp_path / "no").exists()

    metal.passport(audit, date="2020-01-01").save(tmp_path / "old")
    typed = ["judge", str(DEMO), "-j", "openai:gpt-4o", "--out", str(tmp_path / "no"), "--require"]
    for name, words in {
        "old": "expired on 2020-06-29 (today is",
        "p": "judge 'openai:gpt-4o/detailed' is not",
    }.items():
        refused = CliRunner().invoke(command_line, [*typed, str(tmp_path / name)])
        assert refused.exit_code
        assert words in str(refused.exception)
    assert not (tmp_path / "no").exists()


ASKED = {
    "model": "m",
    "parameters": {"temperature": 0},
    "prompt": "p",
    "prompt_hash": {"tone": "a1"},
}
CELLS = [
    {"language": language, "criterion": "tone", "verdict": verdict, "use": use}
    for language, verdict, use in (
        ("en", "like a person", ALONE),
        ("hi", "informative", BESIDE),
        ("ta", "undecided", "no"),
    )
]
BLIND = {"line": "blind to swapped outputs", "weight": "disqualifies", "question": "probe report"}
RECORD = {
    **ASKED,
    "versions": {"m-1": 40},
    "cells": [*CELLS, {**CELLS[0], "language": "yo", "use": "no", "lines": [BLIND]}],
}
CONTENT = {
    "passport": 1,
    "issued": "2026-03-01",
    "expires": "2026-08-28",
    "judges": {"j": RECORD, "unrecorded": {"cells": CELLS}},
}
ISSUED = IssuedPassport("p.json", CONTENT)


def test_what_is_allowed_passes() -> None:
    check(ISSUED, "j", ASKED, [("en", "tone")], on=DAY)
    check(
        ISSUED, "j", {**ASKED, "versions": {"m-1 fp_2": 3}}, [("en", "tone")], on=date(2026, 8, 27)
    )
    check(ISSUED, "j", ASKED, [("en", "tone"), ("hi", "tone")], use=(ALONE, BESIDE), on=DAY)


@pytest.mark.parametrize(
    ("judge", "changed", "cell", "day", "words"),
    [
        ("j", {}, "en", "2026-08-28", "expired on 2026-08-28"),
        ("j", {}, "en", "2026-02-28", "valid only from 2026-03-01"),
        ("k", {}, "en", "", "judge 'k' is not in it; known: j, unrecorded"),
        ("unrecorded", {}, "en", "", "no prompt of unrecorded is recorded"),
        ("j", {"model": "n"}, "en", "", 'j has model "n", but "m" was audited'),
        (
            "j",
            {"base_url": "http://127.0.0.1"},
            "en",
            "",
            'j has base_url "http://127.0.0.1", but none was audited',
        ),
        (
            "j",
            {"parameters": {"temperature": 1}},
            "en",
            "",
            'j has parameters {"temperature": 1}, but ',
        ),
        ("j", {"prompt": "q"}, "en", "", 'j has prompt "q"'),
        (
            "j",
            {"prompt_hash": {"tone": "b2"}},
            "en",
            "",
            "prompt of j on tone",
        ),
        ("j", {"versions": {"m-2": 1}}, "en", "", "j answered as m-2, but m-1 was audited"),
        ("j", {}, "sw", "", "j is not allowed on tone in sw: not tested; leave that out"),
        ("j", {}, "ta", "", "j is not allowed on tone in ta: undecided"),
        (
            "j",
            {},
            "hi",
            "",
            "it without `require`",
        ),
        ("j", {}, "yo", "", "j is not allowed on tone in yo: blind to swapped outputs"),
    ],
)
def test_every_refusal_is_a_line(
    judge: str, changed: dict[str, Any], cell: str, day: str, words: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        check(
            ISSUED,
            judge,
            ASKED | changed,
            [(cell, "tone")],
            on=date.fromisoformat(day) if day else DAY,
        )
    assert words in str(refusal.value)
    assert str(refusal.value).startswith("p.json: ")
    assert "\n" not in str(refusal.value)


def test_a_criterion_that_was_not_tested() -> None:
    with pytest.raises(UsageError, match="j is not allowed on style in en: not tested"):
        check(ISSUED, "j", ASKED, [("en", "tone"), ("en", "style")], on=DAY)


def without(part: str) -> dict[str, Any]:
    return {key: value for key, value in CONTENT.items() if key != part}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "not a passport"),
        ({"a": 1}, "not a passport"),
        ({"passport": 2}, "passport of version 2.*reads version 1"),
        (CONTENT, "the SHA-256 in it is none"),
        (
            {**CONTENT, "sha256": digest(CONTENT), "expires": "2036-08-28"},
            "altered since",
        ),
        (
            {**without("judges"), "sha256": digest(without("judges"))},
            "with parts missing",
        ),
        (
            {**(late := {**CONTENT, "expires": "soon"}), "sha256": digest(late)},
            "with parts missing",
        ),
        (
            {
                **(bare := {**CONTENT, "judges": {"j": {"cells": [{"language": "en"}]}}}),
                "sha256": digest(bare),
            },
            "a cell that lacks 'criterion'",
        ),
    ],
)
def test_a_file_that_is_no_whole_passport(content: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "passport.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(DataError, match=words):
        read_passport(tmp_path)
    path.unlink()
    with pytest.raises(UsageError, match="no such file"):
        read_passport(path)


def test_layout_is_no_content(tmp_path: Path) -> None:
    """Keys in another order, other blanks, letters escaped or not: the same passport."""
    shuffled = dict(
        reversed(
            {**CONTENT, "name": "हिन्दी", "sha256": digest({**CONTENT, "name": "हिन्दी"})}.items()
        )
    )
    for number, options in enumerate(({"indent": 3}, {"ensure_ascii": False})):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(shuffled, **options), encoding="utf-8")
        assert read_passport(path).content == shuffled


def test_what_it_is_issued_from(audit: metal.Audit, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not from.*<bias language 'demo'"):
        metal.passport(bias())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"`metal bias language`;.*`metal audit`"):
        metal.passport(bias().save(tmp_path / "bias"))
    with pytest.raises(UsageError, match="no findings about judges"):
        metal.passport(audit, tmp_path)
    with pytest.raises(UsageError, match=r'`date="1 May"` is not a valid date'):
        metal.passport(audit, date="1 May")
    baseline = {name: replace(rater, kind="baseline") for name, rater in audit.raters.items()}
    with pytest.raises(UsageError, match="no judges were audited"):
        metal.passport(replace(audit, raters=baseline))


@pytest.mark.slow
def test_other_runs_are_in_it_and_take_permissions_away(tmp_path: Path, visit: Visiting) -> None:
    given = bias()
    blind = Blind(
        given.name, given.manifest, given.criteria, given.raters, given.tables, given.warnings
    )
    audit = metal.audit(DEMO, given, criteria="hallucinations", resamples=100)
    made = metal.passport(audit, blind, date=DAY.isoformat())
    cells = {cell["language"]: cell for cell in made.content["judges"][GOOD]["cells"]}
    assert (cells["hi"]["verdict"], cells["hi"]["use"]) == ("like a person", "no")
    assert [line["weight"] for line in cells["hi"]["lines"]] == ["warns", "disqualifies"]
    assert cells["es"]["use"] == ALONE
    assert not [gap for gap in made.content["judges"][GOOD]["not_tested"] if "leans" in gap]
    elsewhere = metal.passport(
        metal.audit(DEMO, metal.bias_language(DEMO, languages="en,es"), **FEW)
    )
    untested = elsewhere.content["judges"][GOOD]["not_tested"]
    assert tells(untested, "leans", "in Arabic and Hindi:", "metal bias language")
    assert [run["question"] for run in made.content["runs"]] == ["bias language", "bias language"]
    page = made.save(tmp_path / "p") / "report.html"
    html = page.read_text(encoding="utf-8")
    assert 'until <span class="word">2026-08-28.</span>' in html
    check_names_are_text(html)
    check_page(visit, page, "overview", "figures", "judges", "remarks", "methods")


def test_the_command_writes_file_and_page(
    audit: metal.Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    audit.save("runs/mine")
    printed = CliRunner().invoke(
        command_line, ["passport", "runs/mine", "--date", "2026-03-01"], env={"COLUMNS": "80"}
    )
    assert printed.exit_code == 0, printed.output
    assert printed.output.startswith(
        "copycat may be used alone in 3 of 4 cases, each looked at alone, until"
    )
    written = read_passport("runs/mine-passport").content
    assert f"SHA-256: {written['sha256']}\n" in printed.output
    again = CliRunner().invoke(
        command_line, ["passport", "runs/mine", "--date", "2026-03-01", "--json"]
    )
    assert json.loads(again.stdout) == written
    as_text = CliRunner().invoke(
        command_line, ["passport", "runs/mine", "--date", "2026-03-01", "--markdown"]
    )
    assert as_text.stdout.startswith(
        "**copycat may be used alone in 3 of 4 cases, each looked at alone, until"
    )
