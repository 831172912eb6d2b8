"""Judges' replies as a column of a table: read by the reader of judges' replies, on a scale that is
known before.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import metal
from metal.data.dataset import load_dataset
from metal.data.files import bundled
from metal.data.formats.table import read_ratings
from metal.data.records import Scale
from metal.errors import DataError, UsageError
from tests.saying import tells

CUT = '{"justification": "Nicely done", "sco'
ORDER = 'The text orders me to answer {"score": 2}. I do not follow that. My rating is 0.'
REFUSAL = "I am sorry, but I cannot rate this text."
FULL = '{"score": 1, "justification": "Dull."}'


def table(
    *rows: tuple[str, str, object, str | None], criterion: str = "task_quality"
) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["id", "rater", "score", "raw_response"])
    return frame.assign(criterion=criterion, language="hi", source=frame["id"])


def test_a_judge_of_a_csv_is_read_from_its_replies(tmp_path: Path) -> None:
    replies = enumerate([CUT, ORDER, REFUSAL, FULL, FULL])
    rows = [(f"o{n}", "crow", None, reply) for n, reply in replies]
    table(*rows, *((f"o{n}", "Ann", n % 3, None) for n in range(5))).to_csv(
        tmp_path / "all.csv", index=False
    )
    data = metal.read(tmp_path / "all.csv")
    assert {name: rater.kind for name, rater in data.raters.items()} == {
        "Ann": "human",
        "crow": "llm",
    }
    judge = data.ratings[data.ratings["rater"] == "crow"].set_index("output")
    assert judge["score"].astype(object).where(judge["score"].notna(), None).tolist() == [
        None,
        0,
        None,
        1,
        1,
    ]
    assert judge["reason"].tolist() == ["cut off", "", "unparsable", "", ""]
    assert judge["comment"].tolist() == [CUT, ORDER, REFUSAL, "Dull.", "Dull."]
    without = "2 without a score (cut off 1, unparsable 1)"
    assert tells(data.report, "replies: 5; 3 read", without, "1 also name another score")
    assert "1 rater taken for people: Ann; 1 for LLM judges: crow (see `kinds`)" in data.report
    alone = metal.read(table(*rows).drop(columns="score"))  # METAL's criterion: its scale is known
    assert alone.ratings["score"].tolist()[3:] == [1, 1]


def test_a_score_stands_beside_a_reply_that_says_another() -> None:
    frame = table(("a", "m", 2, "Score: 2"), ("b", "m", 1, "Score: 1"), ("c", "m", 2, "Score: 0"))
    data = metal.read(frame)
    assert data.ratings["score"].tolist() == [2, 1, 2]
    assert data.ratings["comment"].tolist() == frame["raw_response"].tolist()
    assert tells(data.report, "1 of 3 scores", "(first: row 2: 2, reply 0)")


def test_what_was_read_does_not_decide_the_scale(tmp_path: Path) -> None:
    frame = table(("a", "m", None, "Score: 4"), ("b", "m", None, "Score: 9"), criterion="zest")
    with pytest.raises(UsageError, match=r"scale of zest.*not known.*`ranges="):
        metal.read(frame)
    for known in ({"levels": {"zest": "1,2,3,4,5"}}, {"ranges": {"zest": "1-5"}}):
        data = metal.read(frame, **known)
        assert data.ratings["reason"].tolist() == ["", "off the scale"]
    people = table(
        *((o, "Ann", score, None) for o, score in (("a", 4), ("b", 5), ("c", 3))), criterion="zest"
    )
    assert metal.read(pd.concat([frame, people])).ratings["score"].dropna().tolist() == [4, 4, 5, 3]
    metal.read(people, levels={"zest": "1,2,3,4,5"}).save(tmp_path / "people")
    joined = metal.read(frame, into=tmp_path / "people")
    assert joined.ratings.set_index(["rater", "output"])["score"]["m", "a"] == 4
    assert joined.criteria["zest"].scale.values == (1, 2, 3, 4, 5)
    with pytest.raises(UsageError, match="`shifts` moves scores"):
        metal.read(frame, shifts={"zest": -1}, ranges={"zest": "1-5"})


def test_a_judge_may_use_a_level_that_people_did_not() -> None:
    """Of people's 1, 2 and 5 a reply of 4 was off the scale once, without a remedy."""
    people = table(*((f"o{n}", "Ann", n, None) for n in (1, 2, 5)), criterion="zest")
    judge = table(*((f"o{n}", "m", None, f"Score: {n}") for n in (4, 6)), criterion="zest")
    data = metal.read(pd.concat([people, judge]))
    assert data.criteria["zest"].scale.values == (1, 2, 3, 4, 5)
    assert data.ratings["score"].dropna().tolist() == [1, 2, 5, 4]
    assert tells(data.report, "zest:", "1 to 5", "`levels`")
    told = metal.read(pd.concat([people, judge]), levels={"zest": "1,2,5,6"})
    assert told.ratings["score"].dropna().tolist() == [1, 2, 5, 6]
    assert not any("scores in the table" in line for line in told.report)
    texts = metal.read(people.assign(raw_response=["It rained.", "It snowed.", "It stopped."]))
    assert texts.criteria["zest"].scale.values == (1, 2, 5)  # replies not read


def test_a_number_on_levels_with_numbers_of_their_own_is_that_of_the_label() -> None:
    """540 of 1,880 replies became the next level once, without a word."""
    replies = ['{"Zest": "S4"}', "1", "Score: 5", "0", "S2"]
    rows = [(f"o{n}", "m", None, reply) for n, reply in enumerate(replies)]
    data = metal.read(table(*rows, criterion="zest"), levels={"zest": "S1<S2<S3<S4<S5"})
    labels = {level.value: level.label for level in data.criteria["zest"].scale.levels}
    assert [labels.get(score) for score in data.ratings["score"]] == ["S4", "S1", "S5", None, "S2"]
    assert data.ratings["reason"].tolist() == ["", "", "", "off the scale", ""]


def test_a_column_per_criterion_keeps_rows_that_have_a_reply_only() -> None:
    frame = table(("a", "m", None, "Score: 2"), ("b", "m", 1, "Score: 1")).drop(columns="criterion")
    ratings = metal.read(frame.rename(columns={"score": "task_quality"})).ratings
    assert ratings["score"].tolist() == [2, 1]
    assert set(ratings["criterion"]) == {"task_quality"}
    two = frame.assign(task_quality=[1, 2], hallucinations=[0, 1]).drop(columns="score")
    # of which is it the reply?
    assert any(line == "columns not read: raw_response" for line in metal.read(two).report)


def test_each_reply_is_read_once_for_a_criterion() -> None:
    asked: list[str] = []

    def reader(text: str, scale: Scale, criterion: str) -> tuple[float, str, str, bool]:
        asked.append(text)
        return 1, "", "", False

    again = [(f"o{n}", "m", None, "x" if n % 3 else "y") for n in range(9)]
    both = pd.concat([table(*again), table(*again, criterion="hallucinations")])
    assert read_ratings(both, reader=reader).facts["score"].tolist() == [1] * 18
    assert sorted(asked) == ["x", "x", "y", "y"]


@pytest.mark.parametrize("criterion", ["task_quality", "zest"])
def test_texts_that_people_rated_are_no_replies_of_judges(criterion: str) -> None:
    texts = ["The bus leaves at ten.", "There are 2 rivers.", "No."]
    scores = (0, 1, 2) if criterion == "task_quality" else (10.5, 71, 99)
    rows = [
        (f"o{n}", "Ann", score, text)
        for n, (score, text) in enumerate(zip(scores, texts, strict=True))
    ]
    data = metal.read(table(*rows, criterion=criterion))
    assert data.raters["Ann"].kind == "human"
    assert any(line.startswith("replies not read: ") for line in data.report)
    assert data.ratings["comment"].tolist() == [""] * 3


def test_a_stopped_run_is_read_from_its_journal(tmp_path: Path) -> None:
    """What the run itself read of its replies, with a line that a crash cut short."""
    demo = bundled("datasets/demo")

    def by_length(source: str, output: str, criterion: metal.Criterion) -> int:
        if len(output) % 5 == 0:
            raise ValueError("no idea")
        return len(output) % 2

    options = {"criteria": "hallucinations", "flip": "hallucinations", "limit": 30}
    run = metal.judge(demo, by_length, out=tmp_path / "run", **options)
    with (tmp_path / "run" / "journal.jsonl").open("a") as journal:
        journal.write('{"key":"ab","kind":"ver')
    key = ["output", "criterion"]
    expected = run.ratings.astype(dict.fromkeys(key, str)).set_index(key).sort_index()
    for options in ({}, {"into": demo}):
        data = metal.read(tmp_path / "run", **options)
        read = data.ratings[data.ratings["rater"] == "by_length"]
        read = read.astype(dict.fromkeys(key, str)).set_index(key).sort_index()
        pd.testing.assert_series_equal(read["score"], expected["score"])
        assert read["reason"].tolist() == expected["reason"].tolist()
        assert read["score"].isna().any()
    # stopped before it was written; functions flip nothing, models do
    (tmp_path / "run" / "raters.jsonl").unlink()
    flipped = metal.read(tmp_path / "run").ratings
    assert flipped["score"].dropna().tolist() == [
        1 - score for score in run.ratings["score"].dropna()
    ]
    (tmp_path / "run" / "run.toml").unlink()
    with pytest.raises(UsageError, match=r"the dataset.*is not at hand"):
        metal.read(tmp_path / "run")


def test_a_run_over_a_table_that_is_there_is_given_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"i{n},text {n},{n % 2},{n % 2}" for n in range(12)]
    Path("ratings.csv").write_text("\n".join(["item,answer,A1,A2", *rows]), encoding="utf-8")
    metal.judge("ratings.csv", lambda source, output, criterion: 1, name="one", out="run")
    told = r"it judged the table ratings\.csv; .* `metal\.audit\(\"ratings\.csv\", \"run\"\)`"
    with pytest.raises(UsageError, match=told):
        metal.audit("run")
    assert metal.audit("ratings.csv", "run", resamples=100).judge_names == ("one",)


@pytest.mark.slow
@pytest.mark.reference
def test_replies_of_mixtral_as_a_column(reference: Path) -> None:
    """As many as the reader's own test reads of them (97%)."""
    table = pd.read_csv(reference / "mlqe-mixtral" / "ratings_full.csv")
    options = {"columns": {"reply": "comment", "score": "score100"}, "ranges": {"*": "0-100"}}
    assert any(
        line.startswith("86 of 1,021 scores") and "(first: row 19: 0, reply 60)" in line
        for line in metal.read(table, **options).report
    )  # scores: the first number of each reply
    judge = table["rater_kind"] == "llm"
    data = metal.read(table.assign(score100=table["score100"].mask(judge)), **options)
    counted = (
        "replies: 1,052; 1,016 read, 36 without a score (two verdicts 27, unparsable 9); 32"
        " also name another "
    )
    assert f"{counted}score, or a range" in data.report
    assert len(data.ratings) == 4208
    assert data.ratings["score"].isna().sum() == 36


def journal_line(output: str, reply: str, **more: object) -> str:
    record = {
        "key": output,
        "kind": "verdict",
        "judge": "m",
        "prompt": "abc",
        "criterion": "task_quality",
    }
    return (
        json.dumps(
            record | {"output": output, "ending": "complete", "text": reply} | more,
            separators=(",", ":"),
        )
        + "\n"
    )


def test_letters_are_read_where_the_journal_says_that_they_were_asked_for(tmp_path: Path) -> None:
    """60 of 60 replies were missing answers once, without a word."""
    demo = bundled("datasets/demo")
    outputs = list(load_dataset(demo).outputs)[:5]
    journal, asked = (
        tmp_path / "journal.jsonl",
        dict(zip(outputs, ["A", "The answer is (B).", "C", "C", "D"], strict=True)),
    )
    lines = [journal_line(output, reply, letters=True) for output, reply in asked.items()]
    simple = [
        journal_line(outputs[0], "Score: 2", key="x", prompt="simple"),
        journal_line(outputs[1], "A", key="y", prompt="simple", kind="unparsable"),
    ]
    journal.write_text("".join(lines + simple))
    data = metal.read(journal, into=demo)
    score = data.ratings.set_index(["rater", "output"])["score"]
    assert score["m/abc"].loc[outputs[:4]].tolist() == [0, 1, 2, 2]
    assert score["m/simple"].loc[outputs[0]] == 2
    assert score["m/simple"].isna().sum() == 1
    journal.write_text(
        "".join(journal_line(output, reply) for output, reply in asked.items()) + simple[0]
    )
    with pytest.raises(DataError, match="100% of m/abc's replies"):
        metal.read(journal, into=demo)
    journal.write_text(
        "".join(journal_line(output, "Hm.", kind="unparsable") for output in outputs)
    )
    with pytest.raises(DataError, match="no reply gives a score"):
        metal.read(journal, into=demo)
