"""`metal diff`, `metal gate`, `metal gate watch`: worlds of judges that change in one language, the
page, the file.
"""

from __future__ import annotations

import json
import os
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import metal
from metal.cli import metal as command_line
from metal.errors import DataError, UnknownName, UsageError
from metal.questions.drift.answer import cards, headline
from metal.questions.drift.page import answer, sections
from metal.questions.drift.store import WatchFile
from metal.questions.drift.watching import Key
from tests.report.checks import Visiting, check_saved
from tests.saying import tells

LANGUAGES = ("en", "hi", "ta")
OUTPUTS = 150


@cache
def people() -> pd.DataFrame:
    """Three people who agree, on outputs of one source each."""
    rng = np.random.default_rng(9)
    rows = [
        {
            "source": f"{language}{place}",
            "language": language,
            "rater": f"A{person}",
            "score": score,
        }
        for language in LANGUAGES
        for place, score in enumerate(rng.integers(0, 3, OUTPUTS).tolist())
        for person in range(3)
    ]
    return pd.DataFrame(rows)


def answers(
    worse: float = 0.0, where: str = "hi", name: str = "j", same: float = 0.0
) -> pd.DataFrame:
    """A judge that is right on 80%, and where it got worse on so much less; `same`: of its answers
    changed anyhow.
    """
    truth, rng = people()[people()["rater"] == "A0"], np.random.default_rng(10)
    chance, again = rng.random(len(truth)), rng.random(len(truth))
    right = chance < np.where(truth["language"] == where, 0.8 - worse, 0.8)
    right = np.where(again < same, rng.random(len(truth)) < 0.8, right)
    return truth.assign(rater=name, score=np.where(right, truth["score"], (truth["score"] + 1) % 3))


def table(*judges: pd.DataFrame) -> metal.Dataset:
    levels = {"*": "0=Bad,1=Medium,2=Good"}
    names = {str(name) for judge in judges for name in judge["rater"]}
    return metal.read(
        pd.concat([people(), *judges]),
        kinds=dict.fromkeys(names, "llm"),
        levels=levels,
        name="world",
    )


def says(result: metal.Diff) -> dict[str, str]:
    return dict(
        zip(result.tables["drift"]["language"], result.tables["drift"]["says"], strict=True)
    )


@pytest.mark.slow
def test_a_judge_that_got_worse_in_one_language(tmp_path: Path, visit: Visiting) -> None:
    name = "j<b>"
    before, now = table(answers(name=name)), table(answers(0.3, name=name))
    result = metal.diff(now, before)
    assert says(result) == {"en": "equivalent", "hi": "worse", "ta": "equivalent"}
    assert answer(result).columns[1:] == ("Hindi", "English", "Tamil")  # a terminal shows the first
    (row,) = result.tables["drift"][lambda rows: rows["language"] == "hi"].to_dict("records")
    assert row["difference"] == pytest.approx(row["agreement_after"] - row["agreement_before"])
    assert row["difference_low"] < -0.3 < row["difference_high"] < -0.15
    # who is right no more says something else
    assert row["flips"] == pytest.approx(-row["difference"])
    assert tells(row["undefined"], "floor:", "asked once")
    identity = sections(result)[-1].tables[0]
    assert {tuple(cell.text for cell in part[2:]) for part in identity.rows} == {
        ("–", "–", "Not on record")
    }
    html = check_saved(
        visit, result, tmp_path / "run", "overview", "figures", "identity", "methods"
    )
    assert "is worse than before in Hindi on ratings: agreement with people" in html


def test_in_a_test_of_yours() -> None:
    before = table(answers())
    metal.diff(table(answers()), before).assert_not_worse(margin=0.05)
    metal.diff(before, table(answers(0.3))).assert_not_worse()  # better is not worse
    with pytest.raises(
        AssertionError,
        match=r"^worse than world: j in Hindi on ratings \(agreement with people \d+%, was",
    ):
        metal.diff(table(answers(0.3)), before).assert_not_worse(margin=0.05)
    noisy = metal.diff(table(answers(same=0.3)), before)
    assert set(says(noisy).values()) == {"undecided"}
    needed = noisy.tables["drift"]["needed"]
    assert (needed > OUTPUTS).all()
    assert headline(noisy).endswith(
        f"; about {needed.sum():,.0f} outputs over 3 languages would decide all."
    )
    with pytest.raises(AssertionError, match=r"^not shown to be within 5% of world: j in "):
        noisy.assert_not_worse()
    noisy.assert_not_worse(allow_undecided=True)
    noisy.assert_not_worse(margin=0.2)


def silent(judge: pd.DataFrame, lost: int, where: str = "hi") -> pd.DataFrame:
    """The judge without its first answers in a language."""
    places = judge.index[judge["language"] == where][:lost]
    return judge.assign(score=judge["score"].astype(float).where(~judge.index.isin(places)))


@pytest.mark.parametrize(("lost", "verdict"), [(2, "equivalent"), (9, "undecided"), (50, "worse")])
def test_answers_that_are_missing_are_a_change(lost: int, verdict: str) -> None:
    # 9 of 150 lost: (9 - 1)^2 / 9 = 7.1, p .0085, times 11 checks .09: not shown, and .06 is beyond
    # the margin
    result = metal.diff(table(silent(answers(), lost)), before := table(answers()))
    assert says(result) == {"en": "equivalent", "hi": verdict, "ta": "equivalent"}
    (row,) = result.tables["drift"][lambda rows: rows["language"] == "hi"].to_dict("records")
    assert row["coverage_change"] == pytest.approx(-lost / OUTPUTS)
    if lost == 9:
        assert row["by"] == "coverage_change"
        assert tells(
            headline(result),
            "No change is shown",
            "correction for so many",
            "1 of 3 cases",
            "margin: ratings in Hindi (answers 94%",
        )
        silence, step = cards(result)
        assert silence.words.endswith("A loss beyond 5% is likely, but not sure.")
        assert tells(step.words, "missing in Hindi")
        assert row["why"].startswith("answers 94%, before 100%, −6% [−1")
        assert row["needed"] > OUTPUTS
        with pytest.raises(
            AssertionError,
            match=r"^not shown to be within 5% of world: j in Hindi .*answers 94%, before",
        ):
            result.assert_not_worse()
    # more answers are no loss
    assert says(metal.diff(before, table(silent(answers(), lost))))["hi"] == "equivalent"


@pytest.mark.slow
def test_a_loss_of_answers_as_large_as_the_margin_passes_in_five_per_cent() -> None:
    """In 40 worlds a judge now leaves out one answer in 20, of 150 outputs in each of three
    languages.
    """
    rng, before, now, passed = np.random.default_rng(12), table(answers()), silent(answers(), 0), []
    for _ in range(40):
        lost = now["score"].where(rng.random(len(now)) >= 0.05)
        passed += [
            verdict == "equivalent"
            for verdict in says(metal.diff(table(now.assign(score=lost)), before)).values()
        ]
    assert np.mean(passed) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(passed))


def test_judges_of_other_names_are_paired_where_that_is_clear() -> None:
    before, now = table(answers(name="old")), table(answers(name="new"))
    assert set(metal.diff(now, before).tables["drift"]["before"]) == {"old"}
    both = table(answers(name="new"), answers(0.1, name="newer"))
    with pytest.raises(UsageError, match='`judges="new=old"`'):
        metal.diff(both, before)
    assert set(metal.diff(both, before, judges="newer=old").tables["drift"]["judge"]) == {"newer"}
    with pytest.raises(UnknownName, match="judge 'newest' is not known"):
        metal.diff(both, before, judges="newest=old")
    odd = table(answers(name="fake:blind?language=hi"))
    paired = metal.diff(
        odd, table(answers(name="a=b")), judges="fake:blind?language=hi=a=b"
    ).tables["drift"]
    assert set(paired["judge"] + " " + paired["before"]) == {"fake:blind?language=hi a=b"}


def test_an_audit_is_held_against_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before, now = table(answers()), table(answers(0.3))
    before.save("before")
    now.save("now")
    metal.audit("before", resamples=100).save("runs/last-week")
    audit = metal.audit("now", resamples=100)
    assert says(metal.diff(audit, metal.open_run("runs/last-week")))["hi"] == "worse"
    table(answers(0.1)).save("before", force=True)
    with pytest.raises(UsageError, match=r"last-week:.*changed"):
        metal.diff(audit, "runs/last-week")
    with pytest.raises(
        UsageError,
        match=r"world.*`data`",
    ):
        metal.diff(metal.audit(now, resamples=100), before)
    lost = replace_texts(before)
    assert tells(metal.diff(lost, before).warnings, "ratings in Tamil", "by j", "not again")


def replace_texts(dataset: metal.Dataset) -> metal.Dataset:
    """Without the judge's answers in Tamil."""
    rows = dataset.ratings.astype({"rater": str, "language": str})
    kept = rows[(rows["rater"] != "j") | (rows["language"] != "ta")]
    return metal.read(
        kept.loc[:, ["source", "language", "rater", "score"]],
        kinds={"j": "llm"},
        levels={"*": "0<1<2"},
    )


@pytest.mark.reference
def test_basse(reference: Path) -> None:
    """GPT-4o beside its small version, in the place of an earlier one; agreement as by pandas on
    the released files.
    """
    result = metal.diff(data := metal.read(reference / "basse"), data, judges="gpt-4o=gpt-4o-mini")
    rows = result.tables["drift"].set_index("criterion")
    assert list(rows.index) == ["Coherence", "Consistency", "Fluency", "Relevance", "5W1H"]
    assert rows["outputs"].tolist() == [293, 300, 300, 300, 196]
    assert rows["agreement_after"].round(4).tolist() == [0.6109, 0.47, 0.9433, 0.5333, 0.3878]
    assert rows["agreement_before"].round(4).tolist() == [0.4266, 0.3333, 0.5667, 0.4567, 0.5663]
    assert rows.loc["5W1H", "says"] == "worse"


def judge_run(
    folder: Path, data: Path, worse: float = 0.0, repeat: int = 1, **about: object
) -> Path:
    """The run folder of a judge on the dataset, as `metal judge` writes it."""
    from metal.data.files import write_jsonl
    from metal.data.ratings import tidy_facts

    dataset = metal.read(data)
    named = {
        (output.source.split("/")[-1], output.language): output.output
        for output in dataset.outputs.values()
    }
    folder.mkdir(parents=True)
    parts, raters = [], []
    for sample in range(1, repeat + 1):
        name = "j" if sample == 1 else f"j#{sample}"
        rows = answers(worse, name=name)
        output = [named[key] for key in zip(rows["source"], rows["language"], strict=True)]
        parts.append(
            pd.DataFrame(
                {"output": output, "criterion": "overall", "rater": name, "score": rows["score"]}
            )
        )
        facts = {
            "model": "openai:j",
            "prompt": "simple",
            "prompt_hash": {"overall": "1a2b"},
            "parameters": {},
            **about,
        }
        raters.append(
            {
                "rater": name,
                "kind": "llm",
                **facts,
                **({"repeats": "j", "sample": sample} if sample > 1 else {}),
            }
        )
    write_jsonl(folder / "raters.jsonl", raters)
    tidy_facts(pd.concat(parts).astype({"score": float})).to_parquet(folder / "ratings.parquet")
    (folder / "journal.jsonl").write_text(f'{{"at": "{folder}"}}\n')
    (folder / "run.toml").write_text(f'command = "judge"\n[[datasets]]\npath = "{data}"\n')
    return folder


@pytest.fixture
def anchors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with anchors, a baseline and a gate that was declared on them."""
    monkeypatch.chdir(tmp_path)
    table().save("anchors")
    judge_run(Path("baseline"), Path("anchors"), repeat=2)
    metal.gate_init("anchors", "baseline")
    return tmp_path


def run(*words: str) -> tuple[int, str]:
    ran = CliRunner().invoke(command_line, [*words])
    if ran.exception and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return ran.exit_code, ran.output


def test_a_gate_says_so_by_its_exit_code(anchors: Path) -> None:
    same, worse = (
        judge_run(Path("same"), Path("anchors")),
        judge_run(Path("worse"), Path("anchors"), 0.3),
    )
    code, printed = run("gate", "gate.toml", str(same), "--junit", "gate.xml")
    assert (code, printed.startswith("PASS: j is unchanged in 3 languages")) == (0, True)
    assert ET.parse("gate.xml").getroot().attrib == {
        "name": "world",
        "tests": "4",
        "failures": "0",
        "errors": "0",
    }
    code, printed = run("gate", "gate.toml", str(worse), "--junit", "gate.xml", "--markdown")
    assert (code, printed.startswith("**FAIL: j is worse than before in Hindi")) == (1, True)
    suite = ET.parse("gate.xml").getroot()
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["hi"]
    metal.gate_init("anchors", "baseline", out="narrow.toml", margin=0.01, mean_margin=0.01)
    code, printed = run("gate", "narrow.toml", str(same))
    assert (code, tells(printed, "UNDECIDED: no change", "3 of 3 cases")) == (3, True)
    assert "needs about" in printed
    assert "metal annotate export anchors --to html" in printed
    code, printed = run("gate", "gate.toml", str(worse))
    assert tells(printed, "What to do next: Do not rely on j in Hindi")
    assert "metal audit anchors worse" in printed
    words = [card.words for card in cards(metal.gate("gate.toml", worse))]
    assert tells(words, "schema is not", "unknown")
    again = CliRunner().invoke(command_line, ["gate", "gate.toml", str(same), "--json"])
    assert json.loads(again.stdout)["verdict"] == "equivalent"


def test_another_judge_is_another_judge(anchors: Path) -> None:
    prompt = judge_run(Path("prompt"), Path("anchors"), prompt_hash={"overall": "ffff"})
    gate = metal.gate("gate.toml", prompt)
    assert (gate.verdict, gate.exit_code) == ("different", 1)
    assert "prompt changed from simple, ratings 1a2b to simple, ratings ffff" in gate.junit()
    assert headline(gate).endswith("prompt (simple, ratings 1a2b → simple, ratings ffff).")
    (next_step,) = (card for card in cards(gate) if card.command)
    assert 'write expected = ["prompt"] above [margins] in gate.toml' in next_step.words
    assert next_step.command == "metal gate gate.toml prompt"
    metal.gate_init("anchors", "baseline", out="expected.toml", expected="prompt")
    assert metal.gate("expected.toml", prompt).verdict == "equivalent"
    moved = metal.gate(
        "gate.toml", judge_run(Path("moved"), Path("anchors"), versions={"j-0613 fp_1": 450})
    )
    # a fingerprint is noted; what it did is what the anchors tell
    assert moved.verdict == "equivalent"
    assert set(moved.tables["signature"]["says"]) == {"same", "noted"}
    untold = judge_run(
        Path("untold"),
        Path("anchors"),
        versions={"not told": 450},
        sent={"structured": "json_schema"},
    )
    parts = metal.gate("gate.toml", untold).tables["signature"].set_index("part")
    # two unknowns are not the same version
    assert parts.loc["fingerprint", ["before", "after"]].tolist() == ["", ""]
    assert parts.loc["schema", "after"] == "json_schema"
    assert parts.loc["parameters", "after"] == "none set"


def test_a_failure_shows_what_decides(anchors: Path) -> None:
    """Where it was wrong in Tamil and Hindi the judge now gives the other wrong answer: agreement
    is what it was.
    """
    people, folder = metal.read("anchors").ratings, judge_run(Path("other"), Path("anchors"))
    truth = people[people["rater"] == "A0"].astype({"output": str}).set_index("output")["score"]
    rows = pd.read_parquet(folder / "ratings.parquet").astype({"output": str})
    right = rows["output"].map(truth)
    wrong = (rows["score"] != right) & ~rows["output"].str.contains("en")
    # of Hindi two thirds
    wrong &= ~rows["output"].str.contains("hi") | (np.arange(len(rows)) % 3 > 0)
    rows.assign(score=rows["score"].where(~wrong, (right + 2) % 3)).to_parquet(
        folder / "ratings.parquet"
    )
    gate = metal.gate("gate.toml", folder)
    assert says(gate) == {"en": "equivalent", "hi": "different", "ta": "different"}
    assert set(gate.tables["drift"]["difference"]) == {0}
    flips = gate.tables["drift"].set_index("language")["flips"]
    assert flips["ta"] > flips["hi"]
    assert (
        f"in Tamil and Hindi on ratings: in Tamil {flips['ta']:.0%} of answers changed"
        in headline(gate)
    )
    (shown,) = answer(gate).rows
    assert f"{flips['ta']:.0%} other answers" in [cell.below for cell in shown[1:]]
    # none is lost
    assert not [card for card in cards(gate) if card.title == "Agreement with people"]


def test_a_gate_reads_a_passport_and_stands_in_an_audit(anchors: Path) -> None:
    same = judge_run(Path("same"), Path("anchors"))
    audit = metal.audit("anchors", "baseline", resamples=100)
    metal.passport(audit).save("passport")
    gate = Path("gate.toml")
    gate.write_text('passport = "passport/passport.json"\n' + gate.read_text())
    passed = metal.gate("gate.toml", same)
    assert passed.verdict == "equivalent"
    lines = metal.audit("anchors", same, passed, resamples=100).records("remarks")
    assert {line["language"] for line in lines} == set(LANGUAGES)
    assert tells(lines[0]["line"], "equivalent", "baseline", "changed by")
    with pytest.raises(UsageError, match="prompt of j on overall"):
        metal.gate(
            "gate.toml", judge_run(Path("prompt"), Path("anchors"), prompt_hash={"overall": "ffff"})
        )
    metal.passport(audit, date="2020-01-01").save("passport", force=True)
    with pytest.raises(UsageError, match="expired on 2020-06-29"):
        metal.gate("gate.toml", same)
    gate.write_text(gate.read_text().replace('"passport/passport.json"', "3"))
    with pytest.raises(DataError, match=r'passport is 3\..*passport = "passport\.json"'):
        metal.gate("gate.toml", same)


def test_what_a_gate_cannot_use(anchors: Path) -> None:
    same = judge_run(Path("same"), Path("anchors"))
    for edit, error in (
        (
            ("least = 30", "least = 200"),
            r"150 anchors .* 200 needed",
        ),
        (("repeats = 2", "repeats = 3"), r"j was asked 2 times for the baseline, 3 needed"),
        (("repeats = 2", "repeats = 0"), "repeats is 0"),
        (
            ("agreement = 0.05", "agreement = 5"),
            "bad.toml: `agreement` 5: use a share above 0 and below 1",
        ),
        (("[margins]", "[margin]"), "setting of bad.toml 'margin' is not known"),
        (("[margins]", "[expected]"), r"no table \[margins\]"),  # they are declared, never supposed
        (('baseline = "baseline"', ""), "no baseline"),
        (("anchors_hash", "least_hash"), "setting of bad.toml 'least_hash' is not known"),
        (
            ('baseline_hash = "', "expected = []\n#"),
            "no baseline_hash",
        ),
        (('anchors = "anchors"', 'anchors = "none"'), "no such file or folder"),
    ):
        text = Path("gate.toml").read_text(encoding="utf-8")
        assert edit[0] in text
        Path("bad.toml").write_text(text.replace(*edit))
        with pytest.raises((UsageError, DataError, UnknownName), match=error):
            metal.gate("bad.toml", same)
    with pytest.raises(UsageError, match="is the baseline itself"):
        metal.gate("gate.toml", "baseline")
    with pytest.raises(UsageError, match=r"gate\.toml exists"):
        metal.gate_init("anchors", "baseline")
    with pytest.raises(
        UsageError,
        match=r"j was asked once.*`metal\.judge\(repeat=2\)`",
    ):
        metal.gate_init("anchors", same, out="once.toml")
    rows = pd.read_parquet("same/ratings.parquet")
    rows[~rows["output"].astype(str).str.contains("ta")].to_parquet("same/ratings.parquet")
    with pytest.raises(UsageError, match=r"in Tamil .* but not now"):
        metal.gate("gate.toml", same)
    with pytest.raises(UsageError, match=r"anchors.*\(gates\.jsonl\)"):
        table(answers(name="A9")).save("anchors", force=True)
    shutil.rmtree("anchors")
    table(answers(name="A9")).save("anchors")
    with pytest.raises(UsageError, match="anchors anchors changed"):
        metal.gate("gate.toml", same)


@pytest.mark.slow
def test_a_watch_names_the_language_and_who_drifted(anchors: Path) -> None:
    for day in range(3):
        watch = metal.gate_watch(
            "gate.toml", judge_run(Path(f"day{day}"), Path("anchors"), 0.0001 * day)
        )
    assert (watch.exit_code, watch.taken, watch.headline) == (
        0,
        450,
        "No drift of j after 1,350 steps in 3 streams.",
    )
    assert metal.gate_watch("gate.toml", "day2").taken == 0  # a batch counts once
    code, printed = run(
        "gate", "watch", "gate.toml", str(judge_run(Path("bad"), Path("anchors"), 0.4))
    )
    assert code == 1
    assert printed.startswith("The judge drifted: j in Hindi (ratings, after ")
    first = next(line for line in printed.splitlines() if line.startswith("judge"))
    assert first.split()[1:3] == ["Hindi", "ratings"]  # by name, nearest to an alarm
    assert set(metal.gate_watch("gate.toml", "bad").drifted["language"]) == {"hi"}
    fresh = people()[people()["rater"] == "A0"].assign(
        source=lambda rows: "new-" + rows["source"], rater="j", score=0
    )
    system = metal.read(
        pd.concat([people(), fresh]), kinds={"j": "llm"}, levels={"*": "0=Bad,1=Medium,2=Good"}
    )
    system.save("system")
    judged = judge_run(Path("new"), Path("anchors"))
    rows = system.ratings[system.ratings["rater"] == "j"].loc[
        :, ["output", "criterion", "rater", "score"]
    ]
    rows.astype({"output": str, "criterion": str, "rater": str}).to_parquet(
        judged / "ratings.parquet"
    )
    watch = metal.gate_watch("gate.toml", judged, data="system", state="system.jsonl")
    assert tells(watch.headline, "drifted", "English (ratings, after")
    named = ("--data", "system", "--state", "again.jsonl")
    code, printed = run("gate", "watch", "gate.toml", str(judged), *named)
    assert (code, printed.split("\n")[0][:40]) == (1, watch.headline[:40])
    metal.gate_init("anchors", "baseline", out="wide.toml", margin=0.1)
    with pytest.raises(UsageError, match=r"watch\.jsonl.*another judge"):
        metal.gate_watch("wide.toml", "bad")


def test_gate_init_says_what_it_will_see(anchors: Path) -> None:
    promise, judge, system, passes = metal.gate_init(
        "anchors", "baseline", out="wide.toml", margin=0.1
    )
    assert tells(promise, "in any of 6 streams", "at most 5%")
    # about 125 of 150 right; alpha / 12: L about .74, above .83 - .1: 2 x .1
    find = "Finding a loss of 20%"
    assert tells(judge, "A watch", "about 20%.", find, "anchors", "sources", "the gate has 150.")
    assert "the system's mean score" in system
    assert tells(passes, "a PASS", "about 72 anchors")
    # and the mean's margin is 5%
    assert tells(passes, "unchanged judge", "0% of them.")
    _, planned, *_ = metal.gate_init(
        "anchors", "baseline", out="planned.toml", loss=0.1, streams=40
    )
    assert "Finding a loss of 10% takes anchors of about " in planned
    code, printed = run(
        "gate", "init", "anchors", "baseline", "--out", "printed.toml", "--margin", "1%"
    )
    assert code == 0
    assert tells(printed, "false alarm", "in any of 6 streams")
    assert "Too few anchors in 3 of 3 cases (ratings in English," in printed
    with pytest.raises(UsageError, match="streams 2: the baseline has 6; give as many, or more"):
        metal.gate_init("anchors", "baseline", out="few.toml", streams=2)
    assert not Path("few.toml").exists()


def test_a_gate_declared_before_there_were_streams(anchors: Path) -> None:
    text, same = (
        Path("gate.toml").read_text(encoding="utf-8"),
        judge_run(Path("same"), Path("anchors")),
    )
    assert "streams = 6\n" in text
    Path("old.toml").write_text(text.replace("streams = 6\n", ""), encoding="utf-8")
    assert metal.gate("old.toml", same).verdict == "equivalent"
    with pytest.raises(UsageError, match=r"old.toml .*line streams = 6 above"):
        metal.gate_watch("old.toml", same)
    Path("fewer.toml").write_text(text.replace("streams = 6", "streams = 5"), encoding="utf-8")
    with pytest.raises(
        UsageError,
        match=r"6 streams.*fewer\.toml.*5",
    ):
        metal.gate_watch("fewer.toml", same)
    assert not Path("watch.jsonl").exists()


def test_outputs_of_one_source_are_one_step(anchors: Path) -> None:
    rows = pd.concat([people(), answers()])
    twice = pd.concat([rows.assign(generator="a"), rows.assign(generator="b")])
    twice["output"] = twice["source"] + "/" + twice["generator"]
    metal.read(twice, kinds={"j": "llm"}, levels={"*": "0=Bad,1=Medium,2=Good"}, name="twice").save(
        "twice"
    )
    judged = judge_run(Path("two"), Path("anchors"))
    scores = (
        twice[twice["rater"] == "j"]
        .loc[:, ["output", "rater", "score"]]
        .assign(criterion="overall")
    )
    scores.astype({"score": float}).to_parquet(judged / "ratings.parquet", index=False)
    watch = metal.gate_watch("gate.toml", judged, data="twice")
    assert watch.taken == len(LANGUAGES) * OUTPUTS


def torn_at_second_write(length: int) -> Callable[[int, bytes], int]:
    """os.write that ends the process within its second write, after so much of the line."""
    write, written = os.write, iter(range(2))

    def torn(file: int, line: bytes) -> int:
        if next(written):
            write(file, line[: length % len(line)])
            os._exit(9)
        return write(file, line)

    return torn


@pytest.mark.slow
def test_a_kill_at_any_write_spoils_nothing(tmp_path: Path) -> None:
    """200 steps, the process ended within each write in turn, after a part of its line: equal to
    the bit.
    """
    keys: list[Key] = [("judge", "j", language, "c") for language in ("en", "hi")]
    least, rng = dict.fromkeys(keys, 0.7), np.random.default_rng(3)
    steps = [(keys[place % 2], f"o{place}", float(rng.random() < 0.5)) for place in range(200)]
    untouched = WatchFile(tmp_path / "untouched", 0.05, least, 2)
    untouched.take("b", steps)
    path = tmp_path / "killed"
    WatchFile(path, 0.05, least, 2)
    for kill in range(200):
        child = os.fork()
        if not child:
            os.write = torn_at_second_write(kill)
            WatchFile(path, 0.05, least, 2).take("b", steps)
            os._exit(0)
        os.waitpid(child, 0)
    after = WatchFile(path, 0.05, least, 2)
    assert after.take("b", steps) == 0
    assert [after.streams[key].log_e for key in keys] == [
        untouched.streams[key].log_e for key in keys
    ]
    assert after.alarms == untouched.alarms != {}
    assert path.read_bytes() == (tmp_path / "untouched").read_bytes()
    path.write_bytes(path.read_bytes().replace(b'"key": 1', b'"key": 9', 1))
    with pytest.raises(DataError, match="line 3: not a step of a watch"):
        WatchFile(path, 0.05, least, 2)
