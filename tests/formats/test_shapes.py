"""Tables as people have them: the same ratings in every shape; what is odd is read rightly or
said.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.auditing.check import lint
from metal.data.dataset import Dataset
from metal.errors import DataError, MetalError, NoColumn, UnknownName, UsageError
from tests.saying import tells

LABELS = {0: "Bad", 1: "Medium", 2: "Good"}


def random_ratings(seed: int) -> pd.DataFrame:
    """Ratings of some outputs by three people and a judge, on two of METAL's criteria; some were
    never asked for.
    """
    random = np.random.default_rng(seed)
    rows = [
        (
            f"p{source:03d}",
            system,
            f"p{source:03d}/{system}",
            criterion,
            rater,
            int(random.integers(levels)),
        )
        for source in range(random.integers(4, 9))
        for system in ("1.1", "1.10")
        for criterion, levels in (("task_quality", 3), ("hallucinations", 2))
        for rater in ("A1", "A2", "A3", "gpt-4")
        if random.random() < 0.9
    ]
    columns = ["source", "generator", "output", "criterion", "rater", "score"]
    return pd.DataFrame(rows, columns=columns).assign(language="hi")


def in_words(ratings: pd.DataFrame) -> pd.DataFrame:
    yes = ratings["criterion"] == "hallucinations"
    words = ratings["score"].map(LABELS).where(~yes, ratings["score"].map({0: "No", 1: "yes"}))
    return ratings.assign(score=words)


def by_rater(ratings: pd.DataFrame) -> pd.DataFrame:
    keys = ["language", "source", "generator", "output", "criterion"]
    return ratings.pivot(index=keys, columns="rater", values="score").reset_index()


def by_criterion(ratings: pd.DataFrame) -> pd.DataFrame:
    keys = ["language", "source", "generator", "output", "rater"]
    return ratings.pivot(index=keys, columns="criterion", values="score").reset_index()


def by_both(ratings: pd.DataFrame) -> pd.DataFrame:
    wide = ratings.assign(both=ratings["rater"] + "_" + ratings["criterion"])
    return wide.pivot(
        index=["language", "source", "generator", "output"], columns="both", values="score"
    ).reset_index()


def nested(ratings: pd.DataFrame, form: str) -> pd.DataFrame:
    """An output a row with its ratings in a cell: `rows` of raters, or an `object` that has the
    criteria of each.
    """
    keys = ["language", "source", "generator", "output"]
    records = []
    for key, of_output in ratings.groupby(keys, sort=False):
        cell: Any = [
            {"rater": row.rater, "criterion": row.criterion, "score": row.score}
            for row in of_output.itertuples()
        ]
        if form == "object":
            cell = {
                rater: dict(zip(of["criterion"], of["score"], strict=True))
                for rater, of in of_output.groupby("rater")
            }
        records.append(dict(zip(keys, key, strict=True)) | {"ratings": cell, "about": {"seed": 3}})
    return pd.DataFrame(records)


def excel(frame: pd.DataFrame, path: Path) -> None:
    """As a spreadsheet of a country with decimal commas saves it."""
    frame.astype(str).replace("nan", "").to_csv(path, index=False, sep=";", encoding="utf-8-sig")


SHAPES: dict[str, Any] = {
    "long.csv": lambda ratings, path: ratings.to_csv(path, index=False),
    "words.csv": lambda ratings, path: in_words(ratings).to_csv(path, index=False),
    "raters.csv": lambda ratings, path: by_rater(ratings).to_csv(path, index=False),
    "criteria.csv": lambda ratings, path: by_criterion(ratings).to_csv(path, index=False),
    "both.csv": lambda ratings, path: by_both(ratings).to_csv(path, index=False),
    "raters.xlsx": lambda ratings, path: by_rater(ratings).to_excel(path, index=False),
    "words.xlsx": lambda ratings, path: in_words(ratings).to_excel(path, index=False),
    "semicolons.csv": lambda ratings, path: excel(by_criterion(ratings), path),
    "tabs.tsv": lambda ratings, path: ratings.to_csv(path, index=False, sep="\t"),
    "array.json": lambda ratings, path: ratings.to_json(path, orient="records"),
    "lines.jsonl": (
        lambda ratings, path: by_both(ratings).to_json(path, orient="records", lines=True)
    ),
    "rows.jsonl": (
        lambda ratings, path: nested(ratings, "rows").to_json(path, orient="records", lines=True)
    ),
    "object.json": lambda ratings, path: nested(ratings, "object").to_json(path, orient="records"),
    "rows.parquet": lambda ratings, path: nested(ratings, "rows").to_parquet(path),
    "typed.parquet": lambda ratings, path: by_criterion(ratings).to_parquet(path),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_reads_back_the_same_ratings(shape: str, tmp_path: Path) -> None:
    for seed in range(2):
        ratings = random_ratings(seed)
        SHAPES[shape](ratings, tmp_path / shape)
        dataset = metal.read(tmp_path / shape)
        expected = metal.read(ratings, name=shape.split(".")[0])
        pd.testing.assert_frame_equal(plain(dataset), plain(expected))
        assert dataset.criteria == expected.criteria
        assert dataset.criteria["hallucinations"].direction == "lower"
        assert dataset.raters["gpt-4"].kind == "llm"


def plain(dataset: Dataset) -> pd.DataFrame:
    table = dataset.ratings.astype(
        dict.fromkeys(("output", "source", "generator", "rater", "criterion"), str)
    )
    return (
        table[["output", "source", "generator", "criterion", "rater", "score"]]
        .sort_values(["output", "criterion", "rater"])
        .reset_index(drop=True)
    )


def read(tmp_path: Path, text: str, name: str = "ratings.csv", **options: Any) -> Dataset:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return metal.read(tmp_path / name, **options)


HEAD = "id,rater,score\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,score,rater,score\na,1,x,2\n", "two columns are called 'score'"),
        (HEAD + "a,x,1,\nb,x,2\n", "row 2: 4 cells .* 3 columns"),
        (HEAD + "a,x,1\na,y,true\n", "row 3: score 'true' among numbers"),
        (HEAD + "a,x,[1]\na,y,[2]\n", "METAL does not know"),
        (
            HEAD + "a,x,2026-01-02\na,y,2026-01-03\n",
            "row 2: answer .2026-01-02. of overall is a date",
        ),
        (HEAD + 'a,x,"1,234"\na,y,"2,345"\n', "row 2: '1,234' of overall.*decimal comma"),
        (
            HEAD + "".join(f"{n},x,the answer is {n} because\n" for n in range(101)),
            "101 different texts.*free text",
        ),
        ("id,score\na,1\n", "no column for the rater"),
        ("id,fluency,quality\na,1,2\nb,2,3\n", "no column for the rater"),
    ],
)
def test_what_cannot_be_read_rightly_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(MetalError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "scores", "note"),
    [
        ("id;rater;score\na;x;1,5\na;y;2\n", [1.5, 2], "decimal commas"),
        (HEAD + "a,x,90%\na,y,5%\n", [90, 5], "percent signs left out"),
        (HEAD + "a,x,Good\na,y, good\nb,y,BAD\nb,x,good\n", [1, 1, 0, 1], "BAD < good"),
        (
            HEAD + "a,x,5 - Strongly agree\na,y,1 - Strongly disagree\nb,y,3\n",
            [5, 1, 3],
            "Strongly disagree < 3 <",
        ),
        (
            HEAD + "a,x,NA\na,y,n/a\nb,x,?\nb,y,4\nc,x,-\nc,y,5\n",
            [None, None, None, 4, None, 5],
            "4 missing answers",
        ),
        (HEAD + "a,x,अच्छा\na,y,खराब\n", [1, 0], "खराब < अच्छा"),
        ("id,human,gpt4\na,✓,✗\nb,✗,✓\n", [1, 0, 0, 1], "✗ < ✓"),
        ("id,human,gpt4\na,1 - Poor,2 - Good\nb,2 - Good,2 - Good\n", [1, 2, 2, 2], "Poor < Good"),
        (HEAD + "a,x,२\na,y,1\n", [2, 1], ""),
        (HEAD + "a,x,\u22121\na,y,1\n", [-1, 1], ""),
    ],
)
def test_answers_as_people_write_them(
    tmp_path: Path, text: str, scores: list[float], note: str
) -> None:
    dataset = read(tmp_path, text)
    assert (
        dataset.ratings["score"]
        .astype(object)
        .where(dataset.ratings["score"].notna(), None)
        .tolist()
        == scores
    )
    assert any(note in line for line in dataset.report)
    assert (dataset.ratings["reason"] != "").tolist() == [score is None for score in scores]


def test_names_keep_their_spelling_and_twins_are_one(tmp_path: Path) -> None:
    twins = (
        "item_id,system,annotator,score\n001,1.1,a,1\n1,1.10,"
        " a,2\n1,1.1,caf\u00e9,1\n1,1.1,b\u200b,2\n"
    )
    twins += "1,1.10,cafe\u0301,2\n"
    dataset = read(tmp_path, twins)
    assert set(dataset.sources) == {"001", "1"}
    assert {output.generator for output in dataset.outputs.values()} == {"1.1", "1.10"}
    assert set(dataset.raters) == {"a", "b", "café"}
    assert any(tells(line, "rater: 3 names", "blanks before", "`.0`") for line in dataset.report)
    dataset = read(tmp_path, HEAD + "a,Ann,1\na,ann,2\n")
    assert [finding.code for finding in lint(dataset)] == ["alike-names"]


def test_doubts_about_a_table_are_said(tmp_path: Path) -> None:
    rows = "".join(f"o{n},x,{score}\n" for n, score in enumerate([1, 2, 3, 4, 5, 33, -1, -999]))
    messages = {finding.code: finding.message for finding in lint(read(tmp_path, HEAD + rows))}
    assert (
        "-999 (1 time), -1 (1 time), 33 (1 time) among scores from 1 to 5" in messages["far-levels"]
    )
    assert "its own source" in messages["own-sources"]
    texts = pd.read_csv(io.StringIO(HEAD + rows)).assign(prompt=[f"say {n}" for n in range(8)])
    known = metal.read(texts, language="en")  # no two outputs answer one prompt
    assert "own-sources" not in {finding.code for finding in lint(known)}
    assert "far-levels" not in {
        f.code for f in lint(read(tmp_path, HEAD + rows, missing="-1,-999,33"))
    }
    first, *others = metal.audit(
        read(tmp_path, HEAD + rows + rows.replace(",x,", ",gpt-4,")), resamples=100
    ).warnings
    assert "-999 (2 times)" in first  # before what makes intervals a little too narrow
    assert any("fewer than 30 different inputs" in warning for warning in others)


def test_a_zero_that_may_mean_not_rated_is_said_and_can_be_named(tmp_path: Path) -> None:
    text = "id,rater,fluency,harm,depth\na,x,1,0,3\nb,x,0,1,0\nc,x,5,2,10\nd,x,2,1,4\n"
    (line,) = [line for line in read(tmp_path, text).report if "0 is read as" in line]
    assert line.startswith("depth, fluency: 0 is")  # not harm, whose scale ends with 2
    assert line.endswith("`missing={'depth': '0', 'fluency': '0'}`")
    named = read(tmp_path, text, missing={"depth": "0", "*": [-1, 10], "f*": 0})
    assert named.criteria["fluency"].scale.values == (1, 2, 5)
    assert named.criteria["depth"].scale.values == (3, 4)
    assert named.criteria["harm"].scale.values == (0, 1, 2)
    assert not [line for line in named.report if "lowest answer" in line]
    assert "depth: 2 missing answers ('0' 1, '10' 1)" in named.report
    assert not [
        line
        for line in read(tmp_path, text, levels="0,1,2,3,4,5,10").report
        if "lowest answer" in line
    ]
    numbers = metal.read(
        pd.DataFrame({"id": [*"abcd"], "rater": "x", "score": [0, 1, 3, 5]}), missing=0
    )
    assert "overall: 1 missing answer (0)" in numbers.report
    assert numbers.ratings["reason"].tolist() == ["no answer", "", "", ""]
    with pytest.raises(UnknownName, match="`missing`: criterion 'style'"):
        read(tmp_path, text, missing="style=0")


def test_a_zero_beyond_the_scale_of_what_it_joins_can_be_named(tmp_path: Path) -> None:
    read(tmp_path, HEAD + "".join(f"o{n},x,{n}\n" for n in range(1, 6))).save(tmp_path / "base")
    more = HEAD + "".join(f"o{n},gpt-4,{n - 1}\n" for n in range(1, 6))
    with pytest.raises(
        DataError, match=r"scale \(1, 2, 3, 4, 5\): 0.*no answer.*`missing=.overall=0.`"
    ):
        read(tmp_path, more, into=tmp_path / "base")
    assert (
        read(tmp_path, more, into=tmp_path / "base", missing="overall=0")
        .ratings["score"]
        .isna()
        .sum()
        == 1
    )


def test_a_criterion_that_is_good_where_all_others_are_bad() -> None:
    random = np.random.default_rng(0)
    rows = [
        (
            f"o{item}",
            criterion,
            rater,
            int(np.clip(round(sign * quality + 3 + random.normal() / 3), 1, 5)),
        )
        for item, quality in enumerate(random.normal(size=60))
        for criterion, sign in (("fluency", 1), ("clarity", 1), ("blandness", -1))
        for rater in "xy"
    ]
    frame = pd.DataFrame(rows, columns=["id", "criterion", "rater", "score"]).assign(language="en")
    codes = {finding.code: finding.message for finding in lint(metal.read(frame))}
    assert tells(codes["opposite-criterion"], "blandness: good")
    codes = {
        finding.code: "" for finding in lint(metal.read(frame, directions={"blandness": "lower"}))
    }
    assert "opposite-criterion" not in codes


@pytest.mark.parametrize(
    "keys", [("role", "content", "user", "assistant"), ("from", "value", "human", "gpt")]
)
def test_conversations_and_texts_for_ids(keys: tuple[str, ...], tmp_path: Path) -> None:
    """The last turn is what was rated, unless a column holds it: before, it was a part of the
    source.
    """
    who, said, person, model = keys
    turns = [
        {who: person, said: "Hi"},
        {who: model, said: "Yo"},
        {who: person, said: "Bye"},
        {who: model, said: "Ok"},
    ]
    column = "messages" if who == "role" else "conversations"
    row = {column: turns, "A1": 1, "A2": 2, "gpt-4": 1}
    dataset = read(tmp_path, json.dumps([row]), "chats_english.json")
    before = "user: Hi\n\nassistant: Yo\n\nuser: Bye"
    assert [source.text for source in dataset.sources.values()] == [before]
    assert [output.text for output in dataset.outputs.values()] == ["Ok"]
    assert dataset.languages == ("en",)
    assert tells(dataset.report, "no column of ids", "source_text and text")
    assert tells(dataset.report, "conversations:", "output")
    frame = pd.DataFrame([row])
    assert metal.read(frame).sources.keys() == dataset.sources.keys()
    own = metal.read(frame.assign(response="Fine"))
    assert next(iter(own.outputs.values())).text == "Fine"
    assert next(iter(own.sources.values())).text == before + "\n\nassistant: Ok"
    assert tells(own.report, "whole conversation", "source")
    unanswered = read(tmp_path, json.dumps([row | {column: turns[:3]}]), "open.json")
    assert next(iter(unanswered.sources.values())).text == before


def test_conversations_with_turns_that_are_no_text(tmp_path: Path) -> None:
    """Null, images and tool calls are no text: they are counted, once however many raters there
    are.
    """
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    asked = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look"}}]}
    said = {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]}
    chats = {"c1": [asked, call, said], "c2": [asked, call], "c3": []}
    people = {"A1": 1, "A2": 1, "gpt-4": 1}
    rows = [{"id": i, "messages": chat, **people} for i, chat in chats.items()]
    for dataset in (
        read(tmp_path, json.dumps(rows), "chats_en.json"),
        metal.read(pd.DataFrame(rows), language="en"),
    ):
        assert [source.text for source in dataset.sources.values()] == [
            "user: What is this?",
            "user: What is this?",
            "",
        ]
        assert [output.text for output in dataset.outputs.values()] == ["A cat.", "", ""]
        assert "(2 conversations have no such turn)" in "".join(dataset.report)
        assert any(
            line.endswith("so no judge sees them: 2 image_url, 2 tool_calls")
            for line in dataset.report
        )


def test_a_criterions_file_is_the_order_of_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    metal.criterion_new("tone", scale="rude<plain<polite", question="Is it polite?")
    # marks are part of a word
    metal.criterion_new("सहायकता", scale="1-3", question="क्या यह सहायक है?")
    with pytest.raises(UsageError, match="letters, digits"):
        metal.criterion_new('Tone / "style"', scale="1-3", question="?")
    words = ("rude", "plain", "polite") * 2
    rows = [
        (f"o{n}", rater, n % 3, word)
        for n, word in enumerate(words)
        for rater in ("A", "B", "gpt-4")
    ]
    frame = pd.DataFrame(rows, columns=["id", "rater", "fluency", "tone"])
    dataset = metal.read(frame, language="en", prompt_folders=["prompts"])
    assert {name: scale.scale.describe() for name, scale in dataset.criteria.items()} == {
        "fluency": "0, 1, 2",
        "tone": "0 rude, 1 plain, 2 polite",
    }


def test_one_id_under_several_systems_or_languages_is_the_source(tmp_path: Path) -> None:
    dataset = read(
        tmp_path, "item,system,annotator,lang,score\n1,s,a,EN,1\n1,t,a,english,2\n1,s,a,hi,1\n"
    )
    assert set(dataset.sources) == {"en/1", "hi/1"}
    assert set(dataset.outputs) == {"en/1/s", "en/1/t", "hi/1/s"}


@pytest.mark.reference
@pytest.mark.parametrize(
    ("path", "ratings", "languages", "criteria"),
    [
        ("pariksha/karya_eval/round1/individual/hindi_ratings_output_indi_just.tsv", 3396, 1, 3),
        ("mlqe-mixtral/metal_table.csv", 4208, 6, 1),
        ("memerag-ext/ratings.csv", 6760, 5, 1),
        ("truthfulqa-multi/ratings.csv", 4500, 5, 2),
        ("estonian-dialogues/ratings.csv", 1016, 1, 2),
        ("mushroom/ratings.csv.gz", 23346, 14, 3),
        ("pariksha", 15690, 5, 3),
        ("basse", 35325, 1, 5),
        ("billboard/results/cnndm", 41600, 1, 1),
    ],
)
def test_real_data_by_the_path_alone(
    reference: Path, path: str, ratings: int, languages: int, criteria: int
) -> None:
    dataset = metal.read(reference / path)
    assert (len(dataset.ratings), len(dataset.languages), len(dataset.criteria)) == (
        ratings,
        languages,
        criteria,
    )


def test_an_audit_says_which_criteria_people_did_not_rate() -> None:
    rows = [(f"o{n}", "quality", rater, n % 2) for n in range(40) for rater in ("A", "B", "gpt-4")]
    rows += [(f"o{n}", "tone", "gpt-4", n % 2) for n in range(40)]
    data = metal.read(
        pd.DataFrame(rows, columns=["id", "criterion", "rater", "score"]).assign(language="hi")
    )
    for asked in ({"criteria": "quality,tone"}, {}):
        warnings = metal.audit(data, **asked, resamples=100).warnings
        assert tells(warnings, "not audited", "criterion tone")


@pytest.mark.slow
@pytest.mark.reference
def test_real_ratings_give_the_same_audit_in_every_shape(reference: Path, tmp_path: Path) -> None:
    """Some of PARIKSHA's Tamil: all tables equal but for their signatures."""
    table = metal.read(reference / "pariksha").ratings
    table = table[table["score"].notna() & (table["language"] == "ta")]
    table = table[table["source"].isin(sorted(table["source"].unique())[:8])]
    names = ["language", "source", "generator", "output", "criterion", "rater"]
    ratings = pd.DataFrame({name: table[name].astype(str).to_numpy() for name in names})
    ratings["rater"] = (
        ratings["rater"].str.removesuffix("/detailed").replace(r"^(\d+)$", r"w\1", regex=True)
    )
    ratings["score"] = table["score"].to_numpy().astype(int)

    def tables(data: pd.DataFrame | Path) -> dict[str, pd.DataFrame]:
        audit = metal.audit(data, resamples=100)
        return {name: figures.drop(columns="signature") for name, figures in audit.tables.items()}

    expected = tables(ratings)
    for shape, write in SHAPES.items():
        write(ratings, tmp_path / shape)
        for name, figures in tables(tmp_path / shape).items():
            pd.testing.assert_frame_equal(figures, expected[name], obj=f"{shape} {name}")


def test_levels_from_worst_to_best_say_what_is_better(tmp_path: Path) -> None:
    """The remedy for unknown words must not turn the criterion round, whatever its name."""
    table = (
        "id,rater,criterion,score\na,x,hallucinations,Lots\na,y,hallucinations,Nope\nb,x,"
        "hallucinations,Few\n"
    )
    dataset = read(tmp_path, table, levels="hallucinations=Lots<Few<Nope")
    assert dataset.criteria["hallucinations"].direction == "higher"
    dataset = read(tmp_path, table, levels="hallucinations=Lots<Few<Nope", directions="lower")
    assert dataset.criteria["hallucinations"].direction == "lower"
    assert read(tmp_path, HEAD + "a,x,1\na,y,2\n", levels="1<2<3").ratings["score"].tolist() == [
        1,
        2,
    ]
    counts = read(tmp_path, table.replace("Lots", "<5").replace("Nope", "0").replace("Few", "5+"),
                  levels={"hallucinations": [(0, "0"), (1, "<5"), (2, "5+")]})  # fmt: skip
    assert counts.criteria["hallucinations"].direction == "lower"  # a < in a label says nothing
    degree = table.replace("Lots", "always").replace("Nope", "never").replace("Few", "sometimes")
    # a degree: the name says what is bad
    assert read(tmp_path, degree).criteria["hallucinations"].direction == "lower"


def test_none_is_a_level_where_the_other_words_say_so(tmp_path: Path) -> None:
    table = HEAD + "a,x,None\na,y,Minor\nb,x,Major\n"
    assert read(tmp_path, table).ratings["score"].tolist() == [0, 1, 2]
    assert read(tmp_path, table, levels="Major<Minor<None").ratings["score"].tolist() == [2, 1, 0]
    assert read(tmp_path, HEAD + "a,x,None\na,y,2\nb,x,3\n").ratings["score"].isna().tolist() == [
        True,
        False,
        False,
    ]
    only_good = read(tmp_path, HEAD + "a,x,Good\na,y,Good\n").criteria["overall"]
    assert only_good.scale.describe() == "0 (other), 1 Good"


def test_a_stray_cell_does_not_make_a_judge_vanish(tmp_path: Path) -> None:
    rows = "".join(f"o{n},{n % 3},{(n + 1) % 3},{'4x' if n == 7 else n % 3}\n" for n in range(30))
    with pytest.raises(MetalError, match="row 9: score '4x' among numbers"):
        read(tmp_path, "id,A1,A2,gpt-5\n" + rows)


@pytest.mark.parametrize(
    ("text", "outputs", "criteria"),
    [
        ("".join(f"{n},Who is {n}?,Nobody,{r},{n % 2}\n" for n in range(12) for r in "xy"), 12, 1),
        ("".join(f"{n},Who?,He was a {n // 2},{'xy'[n % 2]},1\n" for n in range(12)), 6, 1),
    ],
)
def test_questions_are_sources_and_row_numbers_no_ids(
    tmp_path: Path, text: str, outputs: int, criteria: int
) -> None:
    dataset = read(tmp_path, "id,question,answer,annotator,rating\n" + text)
    assert (len(dataset.outputs), len(dataset.criteria)) == (outputs, criteria)


def test_what_is_lost_or_contradicts_is_said(tmp_path: Path) -> None:
    with pytest.raises(MetalError, match=r"output '1' has more than one text \('foo', 'bar'\)"):
        read(
            tmp_path,
            "id,prompt,response,annotator,score\n1,hello,foo,x,1\n1,hello,bar,y,5\n2,bye,qux,x,2\n",
        )
    # a text that is missing contradicts nothing
    partly = read(tmp_path, "id,text,A1,A2\na,foo,1,2\nb,,2,1\n")
    assert [output.text for output in partly.outputs.values()] == ["foo", ""]
    labels = ("yes", "off"), ("no", "on"), ("yes", "on")
    rows = "".join(f"o{n},x,{labels[n % 3][0]},{labels[n % 3][1]}\n" for n in range(9))
    report = read(tmp_path, "id,rater,fluent,topic\n" + rows).report
    assert any(tells(line, "topic may hold answers", "METAL does not know") for line in report)
    with pd.ExcelWriter(tmp_path / "two.xlsx") as writer:
        for name in ("ann1", "ann2"):
            pd.DataFrame({"id": ["a"], "rater": [name], "score": [1]}).to_excel(
                writer, sheet_name=name, index=False
            )
    assert (
        "only the sheet 'ann1' is read, not ann2 (`sheet`)"
        in metal.read(tmp_path / "two.xlsx").report
    )
    assert set(metal.read(tmp_path / "two.xlsx", sheet="ann2").raters) == {"ann2"}
    with pytest.raises(MetalError, match=r"sheet 'x'.*ann1"):
        metal.read(tmp_path / "two.xlsx", sheet="x")
    with pd.ExcelWriter(tmp_path / "apart.xlsx") as writer:
        for name in ("Ann", "Bo"):
            pd.DataFrame({"id": ["a", "b"], "fluency": [1, 2]}).to_excel(
                writer, sheet_name=name, index=False
            )
    with pytest.raises(
        MetalError,
        match=r"no column for the rater.*'Ann' is read, not Bo.*each rater has a sheet",
    ):
        metal.read(tmp_path / "apart.xlsx")
    with pd.ExcelWriter(tmp_path / "cover.xlsx") as writer:
        pd.DataFrame({"Notes": ["read me"]}).to_excel(writer, sheet_name="About", index=False)
        pd.DataFrame({"id": ["a"], "A1": [1], "A2": [2]}).to_excel(
            writer, sheet_name="data", index=False
        )
    assert set(metal.read(tmp_path / "cover.xlsx").raters) == {"A1", "A2"}
    dataset = read(tmp_path, "id,rater,Fluency,fluency\na,x,1,2\n")
    assert "alike-names" in {finding.code for finding in lint(dataset)}
    with pytest.raises(MetalError, match=r"row 2: 4 cells.*3 columns"):
        read(tmp_path, HEAD + "a,x,1,\nb,y,2,\n")


def test_people_and_judges_without_a_common_output_are_no_defect() -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "annotator": ["a1", "a2", "gpt-4"], "rating": [1, 2, 1]})
    audit = metal.audit(metal.read(frame), resamples=100)
    assert audit.verdicts["verdict"].tolist() == ["undecided"]


def test_a_comma_with_three_digits_is_decided_by_its_column_or_refused(tmp_path: Path) -> None:
    assert read(tmp_path, "id;rater;score\na;x;1,500\na;y;2,25\n").ratings["score"].tolist() == [
        1.5,
        2.25,
    ]
    assert read(tmp_path, "id;rater;score\na;x;0,500\na;y;1,500\n").ratings["score"].tolist() == [
        0.5,
        1.5,
    ]
    thousands = "id;rater;score\na;x;1,500\na;y;2\n"
    with pytest.raises(
        MetalError,
        match=r"row 2: '1,500' of overall may .* thousands.*`ranges=\{'overall': '1-5'\}`",
    ):
        read(tmp_path, thousands)
    assert read(tmp_path, thousands, ranges="1-5").ratings["score"].tolist() == [1.5, 2]
    assert read(tmp_path, thousands, ranges="0-5000").ratings["score"].tolist() == [1500, 2]
    wide = "id;A1;A2\na;1,500;1,5\nb;2,250;2,5\n"
    assert read(tmp_path, wide).ratings["score"].tolist() == [1.5, 2.25, 1.5, 2.5]


def test_raters_that_were_not_asked_every_criterion(tmp_path: Path) -> None:
    wide = read(tmp_path, "id,A1_task_quality,A1_fluency,A2_task_quality\na,1,5,0\nb,2,4,1\n")
    assert set(zip(wide.ratings["rater"], wide.ratings["criterion"], strict=True)) == {
        ("A1", "task_quality"), ("A1", "fluency"), ("A2", "task_quality")
    }  # fmt: skip
    judges = read(tmp_path, "id,gpt-4,gpt-5,claude-4\na,1,5,0\nb,2,4,1\n")
    assert set(judges.raters) == {"gpt-4", "gpt-5", "claude-4"}
    with pytest.raises(MetalError, match="no column for the rater"):
        read(tmp_path, "id,output_quality,task_quality,task_fluency\na,1,5,0\nb,2,4,1\n")


def test_kinds_of_raters_are_read_from_a_column_or_said(tmp_path: Path) -> None:
    rows = "a,Claude Dupont,1\na,F1,2\na,claude opus,2\n"
    data = read(tmp_path, HEAD + rows)
    assert [data.raters[name].kind for name in ("Claude Dupont", "F1", "claude opus")] == [
        "human",
        "human",
        "llm",
    ]
    taken = (
        "2 raters taken for people: Claude Dupont, F1; 1 for LLM judges: claude opus (see `kinds`)"
    )
    assert taken in data.report
    assert read(tmp_path, HEAD + rows, kinds={"F1": "metric"}).raters["F1"].kind == "metric"
    typed = "id,rater,annotator_type,score\na,gpt-4,Human,1\na,F1,metric,2\n"
    assert [rater.kind for rater in read(tmp_path, typed).raters.values()] == ["metric", "human"]
    words = read(tmp_path, typed.replace("Human", "native").replace("metric", "native"))
    assert words.raters["gpt-4"].kind == "llm"  # words of another kind say nothing


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("pl.csv", "Dobry opis", "pl"),
        ("ratings_pl.csv", "Dobry opis", "pl"),
        ("Ratings-Polish.csv", "Dobry opis", "pl"),
        ("Ratings-Polish.csv", "", "pl"),
        ("hi.csv", "अच्छा उत्तर", "hi"),
        ("hindi.csv", "A good answer", "und"),
        ("hi.csv", "A good answer", "und"),
        ("pl.csv", "", "und"),
        ("da.csv", "A good answer", "und"),
        ("mt.csv", "A good answer", "und"),
        ("rater.csv", "A good answer", "und"),
        ("polish_quality.csv", "Dobry opis", "und"),
        ("by_id.csv", "Dobry opis", "und"),
        ("compl.csv", "Dobry opis", "und"),
    ],
)
def test_a_files_name_is_a_language_where_the_texts_are_in_its_script(
    name: str, text: str, language: str, tmp_path: Path
) -> None:
    assert read(tmp_path, f"id,rater,score,text\na,x,1,{text}\na,y,2,{text}\n", name).languages == (
        language,
    )


def test_no_note_is_longer_than_a_finding(tmp_path: Path) -> None:
    header = ",".join(f"{'n' * 90}{place}" for place in range(9))
    report = read(
        tmp_path, f"id,rater,score,{header}\na,x,1{',long text' * 9}\na,y,2{',text' * 9}\n"
    ).report
    assert max(map(len, report)) == 300


def test_one_id_in_several_languages_is_one_content_and_a_probability_is_kept(
    tmp_path: Path,
) -> None:
    rows = "1,hi,x,1,.9\n1,sw,x,0,\n2,hi,x,1,1\n"
    dataset = read(tmp_path, "source,lang,rater,score,confidence\n" + rows)
    assert {name: source.content for name, source in dataset.sources.items()} == {
        "hi/1": "1",
        "sw/1": "1",
        "hi/2": "2",
    }
    assert dataset.ratings["confidence"].fillna(-1).tolist() == [0.9, -1, 1]
    dataset.save(tmp_path / "kept")
    again = metal.read(tmp_path / "kept")
    assert again.digest == dataset.digest
    assert again.sources == dataset.sources
    pd.testing.assert_frame_equal(again.ratings, dataset.ratings)
    metal.export(again, to="jsonl", out=tmp_path / "out.jsonl")
    exported = metal.read(tmp_path / "out.jsonl")
    pd.testing.assert_series_equal(exported.ratings["confidence"], dataset.ratings["confidence"])
    metal.read(tmp_path / "out.jsonl", into=tmp_path / "kept").save(tmp_path / "kept", update=True)
    assert metal.read(tmp_path / "kept").ratings["confidence"].notna().sum() == 2
    plain = read(tmp_path, "source,lang,rater,score,confidence\n" + rows.replace(".9", "sure"))
    assert "confidence" not in plain.ratings
    assert (
        plain.digest
        == read(tmp_path, "source,lang,rater,score\n1,hi,x,1\n1,sw,x,0\n2,hi,x,1\n").digest
    )
    with pytest.raises(MetalError, match="row 2: confidence inf is not a probability"):
        read(tmp_path, "source,rater,score,p\n1,x,1,sure\n1,y,1,.5\n", columns={"confidence": "p"})


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (("human_score", "judge_score"), {"human": "human", "judge": "llm"}),
        (("score", "gpt4_score"), {"score": "human", "gpt4_score": "llm"}),
        (("label", "prediction"), {"label": "human", "prediction": "llm"}),
        (("expert", "auto_judge"), {"expert": "human", "auto_judge": "llm"}),
        (("human", "judge_answer"), {"human": "human", "judge_answer": "llm"}),
    ],
)
def test_a_persons_and_a_judges_column_are_both_read(
    names: tuple[str, str], kinds: dict[str, str]
) -> None:
    scores = {names[0]: [1, 2, 3, 4, 5, 1], names[1]: [2, 2, 3, 5, 5, 1]}
    data = metal.read(pd.DataFrame({"id": range(6)} | scores), language="sw")
    assert {name: rater.kind for name, rater in data.raters.items()} == kinds
    read = data.ratings.groupby("rater", observed=True)["score"].agg(list)
    assert read.to_dict() == dict(zip(kinds, scores.values(), strict=True))


def summaries(**columns: list[float]) -> pd.DataFrame:
    """Six summaries of two texts, with two metrics and further columns."""
    ids = {"doc_id": list("aaabbb"), "system": list("xyzxyz")}
    metrics = {"rouge1": [0.1, 0.2, 0.3, 0.2, 0.5, 0.4], "bertscore": [0.8] * 5 + [0.9]}
    return pd.DataFrame(ids | columns | metrics)


def test_metrics_beside_raters_of_several_criteria_score_outputs_as_a_whole() -> None:
    scores = [1.0, 2, 3, 4, 5, 1]
    names = ("human_fluency", "human_focus", "gpt4_fluency", "gpt4_focus")
    data = metal.read(summaries(**dict.fromkeys(names, scores)), language="en")
    kinds = {name: rater.kind for name, rater in data.raters.items()}
    assert kinds == {"human": "human", "gpt4": "llm", "rouge1": "metric", "bertscore": "metric"}
    by = data.ratings.groupby(["rater", "criterion"], observed=True)["score"].agg(list)
    assert by["rouge1", "score"] == [0.1, 0.2, 0.3, 0.2, 0.5, 0.4]
    assert by["human", "focus"] == scores
    assert len(by) == 6


def test_criteria_beside_metrics_are_asked_about() -> None:
    with pytest.raises(NoColumn) as refused:
        metal.read(summaries(fluency=[1.0, 2, 3, 4, 5, 1], focus=[2.0] * 6), language="en")
    assert tells(str(refused.value), "whose answers", "fluency, focus", "human_fluency")
    assert "generators" not in str(refused.value)  # metrics are none


@pytest.mark.parametrize("systems", [("A", "B"), ("m1", "m2")])
def test_winners_in_a_column_for_each_rater(systems: tuple[str, str], tmp_path: Path) -> None:
    """The same as with a row for each choice, whether winners are called by their side or by
    name.
    """
    words = {"first": systems[0], "second": systems[1], "tie": "tie"}
    chosen = {"human": ["first", "tie", "second"], "gpt4": ["first", "second", "second"]}
    texts = {"prompt": ["x", "y", "z"], "answer_a": ["a", "b", "c"], "answer_b": ["d", "e", "f"]}
    written = {"model_a": ["m1"] * 3, "model_b": ["m2"] * 3}
    wide = pd.DataFrame(
        texts
        | written
        | {f"{rater}_winner": [words[c] for c in of] for rater, of in chosen.items()}
    )
    long = pd.concat(
        pd.DataFrame(texts | written | {"judge": rater, "winner": [words[c] for c in of]})
        for rater, of in chosen.items()
    )
    data, same = (
        metal.read(wide, language="en"),
        metal.read(long.reset_index(drop=True), language="en"),
    )
    assert data.ratings["score"].tolist() == same.ratings["score"].tolist() == [0, 2, 1, 0, 1, 1]
    assert data.ratings["rater"].tolist() == ["human"] * 3 + ["gpt4"] * 3
    assert data.ratings.astype(str).equals(same.ratings.astype(str))
    assert {rater.kind for rater in data.raters.values()} == {"human", "llm"}
    pd.testing.assert_frame_equal(
        metal.read(wide, language="en", wide="{rater}_winner").ratings, data.ratings
    )


def test_lists_of_ratings_without_raters_are_a_rater_for_each_place() -> None:
    experts = [
        [{"fluency": 3, "coherence": 1}, {"fluency": 2, "coherence": 1}],
        [{"fluency": 1, "coherence": 3}],
    ]
    frame = pd.DataFrame(
        {
            "id": ["a", "b"],
            "expert_annotations": experts,
            "gpt4": [{"fluency": 2}, {"coherence": 3}],
        }
    )
    data = metal.read(frame, language="en")
    assert {name: rater.kind for name, rater in data.raters.items()}["gpt4"] == "llm"
    rows = (
        data.ratings[["rater", "output", "criterion", "score"]]
        .astype({"score": int})
        .to_numpy()
        .tolist()
    )
    first, second = "expert_annotations_1", "expert_annotations_2"
    assert sorted(rows) == [
        *([first, "a", "coherence", 1], [first, "a", "fluency", 3]),
        *([first, "b", "coherence", 3], [first, "b", "fluency", 1]),
        *([second, "a", "coherence", 1], [second, "a", "fluency", 2]),
        *(["gpt4", "a", "fluency", 2], ["gpt4", "b", "coherence", 3]),
    ]


PAIRS = {"prompt": ["x", "y"], "response_a": ["a", "b"], "response_b": ["c", "d"]}
CHOSEN = {"prompt": ["x", "y"], "chosen": ["a", "b"], "rejected": ["c", "d"]}


@pytest.mark.parametrize(
    ("columns", "raters"),
    [
        (
            PAIRS | {"A1": ["A", "B"], "A2": ["B", "B"], "winner": ["A", "B"], "gpt4": ["A", "A"]},
            {"winner", "gpt4"},
        ),
        (
            PAIRS
            | {
                "A1_winner": ["A", "B"],
                "A2_winner": ["B", "B"],
                "majority_winner": ["A", "B"],
            },
            {"A1", "A2"},
        ),
        (PAIRS | {"label": ["A", "B"], "gpt4": ["A", "A"]}, {"label", "gpt4"}),
        (
            PAIRS
            | {
                "winner": ["A", "B"],
                "gpt-4_first": ["first", "second"],
                "llama_score": [1, 2],
            },
            {"people"},
        ),
        (CHOSEN | {"gpt4_winner": ["A", "B"], "claude_winner": ["A", "B"]}, {"people"}),
    ],
)
def test_whose_winners_are_read(columns: dict[str, Any], raters: set[str]) -> None:
    assert set(metal.read(pd.DataFrame(columns), language="en").raters) == raters


@pytest.mark.parametrize(
    "columns",
    [
        {"scores": [[{"criterion": "tone", "score": 5}], [{"criterion": "fluency", "score": 1}]]},
        {"ratings": [[{"name": "anna", "score": 5}], [{"name": "gpt-4", "score": 1}]]},
        {"annotators": [["x", "y"], ["y", "x"]], "labels": [[5, 1], [1, 5]]},
        {
            "ratings": [[{"rater": "A", "score": 1}]] * 2,
            "llm_ratings": [[{"rater": "gpt-4", "score": 1}]] * 2,
        },
        {"responses": [["s", "t"]] * 2, "scores": [[1, 2]] * 2},
        {"labels": [[[0, 3, "ORG"]], [[1, 2, "PER"]]]},
    ],
)
def test_nested_ratings_that_are_not_surely_so_are_refused(columns: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"lists or objects.*Write a row"):
        metal.read(pd.DataFrame({"id": ["a", "b"]} | columns), language="en")


def test_what_an_object_of_a_rating_says_of_the_text_is_left_out() -> None:
    said = [
        {"evaluator": "A", "score": 1, "model": None},
        {"evaluator": "gpt-4", "score": 2, "model": "x", "text": "no"},
    ]
    frame = pd.DataFrame(
        {
            "id": ["a", "b"],
            "response": ["r", "s"],
            "evaluations": [said] * 2,
            "vector": [[0.5] * 99] * 2,
        }
    )
    data = metal.read(frame.assign(about=[{"seed": 1}] * 2), language="en")
    assert data.ratings["score"].tolist() == [1, 2, 1, 2]
    assert [output.text for output in data.outputs.values()] == ["r", "s"]


def test_a_column_beside_a_label_is_no_judge_by_its_first_word() -> None:
    for name in ("gpt2_perplexity", "llm_cost", "base_model"):
        with pytest.raises(DataError, match="no column for the rater"):
            metal.read(
                pd.DataFrame({"id": range(9), "label": [0, 1, 1] * 3, name: range(9)}),
                language="en",
            )
