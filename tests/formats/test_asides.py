"""Tables hold more than ratings: summaries, totals, metrics, batches; none of it becomes a
rater.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.auditing.check import lint
from metal.data.tables.directions import guessed_direction
from metal.data.tables.files import read_frame
from metal.errors import MetalError, NoColumn
from tests.formats.test_shapes import HEAD, read


def raters(**more: Any) -> pd.DataFrame:
    """Three people and a judge on 60 items, whole numbers from 0 to 2."""
    random = np.random.default_rng(0)
    items = {"item": [f"i{n}" for n in range(60)]}
    return pd.DataFrame(
        items | {name: random.integers(3, size=60) for name in ("A1", "A2", "A3", "gpt-4")} | more
    )


def said(data: Any, *parts: str) -> bool:
    return any(all(part in line for part in parts) for line in data.report)


NAMES = """majority,consensus,gold,gold_label,Ground truth,adjudicated,final,Final label,median,sum,total,avg_score,
mean_rating,std,kappa,n_raters,agreement,difficulty,batch,legend,session,order,index,attention_check,rank"""  # noqa: E501


@pytest.mark.parametrize("name", NAMES.replace("\n", "").split(","))
def test_a_summary_is_no_person_but_where_nobody_else_is(name: str) -> None:
    frame = raters(**{name: np.arange(60) % 3})
    data = metal.read(frame)
    assert set(data.raters) == {"A1", "A2", "A3", "gpt-4"}
    assert name in ("order", "index") or said(
        data, "not those of raters", "not read", name, "`wide` reads"
    )
    assert name in metal.read(frame, wide=["A1", "A2", name]).raters
    alone = frame[["item", name, "gpt-4"]].assign(claude=1)
    if name in ("gold", "gold_label", "Ground truth", "adjudicated", "final", "Final label"):
        assert metal.read(alone).raters[name].kind == "human"
    else:  # what sums people up, or counts something, stands for nobody unless the user says so
        assert name not in metal.read(alone).raters
        assert metal.read(alone, wide=[name, "gpt-4"]).raters[name].kind == "human"
    criteria = frame.rename(columns={"A1": "fluency", "A2": "coherence", "A3": "tone"}).assign(
        rater="x1"
    )
    names = set(metal.read(criteria.drop(columns="gpt-4")).criteria)
    # these two may be asked for
    assert names - {"rank", "difficulty"} == {"coherence", "fluency", "tone"}


@pytest.mark.parametrize("name", ["human_1_age", "human_agreement", "human_n", "human_difficulty"])
def test_what_is_told_of_raters_is_no_further_rater(name: str) -> None:
    frame = raters(**{name: np.arange(60) % 3}).rename(columns={"A1": "human_1", "A2": "human_2"})
    data = metal.read(frame.drop(columns="A3"))
    assert set(data.raters) == {"human_1", "human_2", "gpt-4"}
    assert said(data, "not read", name)


def test_a_column_that_follows_from_the_others_is_no_person() -> None:
    people = raters()[["A1", "A2", "A3"]]
    sums = {
        "A7": people.mode(axis=1)[0],
        "expert": people.median(axis=1),
        "human": people.mean(axis=1).round(1),
    }
    for name, values in (sums | {"h2": people.sum(axis=1)}).items():
        data = metal.read(raters(**{name: values}))
        assert set(data.raters) == {"A1", "A2", "A3", "gpt-4"}
        assert said(data, "sums up the other", name)
    binary = raters().assign(
        A1=lambda f: f["A1"] > 0, A2=lambda f: f["A2"] > 0, A3=lambda f: f["A3"] > 0
    )
    binary["A4"] = binary[["A1", "A2", "A3"]].sum(axis=1) > 1
    words = binary.drop(columns="gpt-4").replace({True: "yes", False: "no"})
    assert set(metal.read(words).raters) == {"A1", "A2", "A3"}
    # all agree: nobody sums up anybody
    assert len(metal.read(raters(A1=1, A2=1, A3=1)).raters) == 4


@pytest.mark.parametrize(
    "word", ["Total", "MEAN", "Average:", "Avg", "Sum", "Median", "SD", "Σ", "Среднее", "平均"]
)
def test_rows_of_totals_at_the_end_are_left_out(word: str) -> None:
    frame = raters()
    data = metal.read(
        pd.concat([frame, pd.DataFrame([{"item": word, "A1": 3.02, "A2": 3, "gpt-4": 2.9}])])
    )
    assert data.criteria["overall"].scale.values == (0, 1, 2)
    assert len(data.outputs) == 60
    assert said(data, "1 row of totals", word)


def test_words_that_mean_something_else_stay(tmp_path: Path) -> None:
    quality = read(tmp_path, "score,id,rater\ngood,a,x\npoor,b,x\naverage,c,x\n")
    assert len(quality.outputs) == 3
    assert len(read(tmp_path, HEAD + "sum,x,1\na,x,2\nsum,y,2\n").ratings) == 3


def test_a_metric_does_not_set_the_scale_of_people() -> None:
    frame = raters(bleu=np.linspace(0, 1, 60))
    data = metal.read(frame)
    assert data.criteria["overall"].scale.values == (0, 1, 2)
    assert data.criteria["score"].scale.measure == "interval"
    assert list(data.asked) == ["overall"]
    assert said(data, "outside the scale", "bleu")
    without = metal.audit(metal.read(raters()), resamples=100).verdicts
    columns = ["judge", "verdict"]
    assert metal.audit(data, resamples=100).verdicts[columns].equals(without[columns])
    assert list(metal.read(raters(bleu=1)).criteria) == ["overall"]
    long = frame.melt("item", var_name="rater", value_name="score")
    two = pd.concat([long.assign(criterion="fluency"), long.assign(criterion="coherence")])
    assert said(metal.read(two), "left out: bleu")
    assert "bleu" not in metal.read(two).ratings["rater"].unique()


def test_columns_of_criteria_need_a_rater(tmp_path: Path) -> None:
    for header in ("helpfulness,correctness,coherence,complexity,verbosity", "Q1,Q2,Q3,Q4,Q5"):
        with pytest.raises(MetalError, match="no column for the rater"):
            read(tmp_path, f"id,{header}\na,1,2,3,4,0\nb,2,2,1,4,1\n")


def test_first_names_are_people_only_where_the_user_says_so(tmp_path: Path) -> None:
    table = "id,clara,harmony,gpt-4\na,1,2,3\nb,2,2,1\n"
    with pytest.raises(
        NoColumn, match=r'do not say whose.*`wide=\["gpt-4", "clara", "harmony"\]`'
    ) as refused:
        read(tmp_path, table)
    assert refused.value.answers == ("gpt-4", "clara", "harmony")
    told = read(tmp_path, table, wide=["gpt-4", "clara", "harmony"])
    assert {name: rater.kind for name, rater in told.raters.items()}["harmony"] == "human"
    assert set(read(tmp_path, table, kinds={"clara": "human", "harmony": "human"}).raters) == set(
        told.raters
    )


def test_which_end_is_better_by_a_criterions_name(tmp_path: Path) -> None:
    lower = [
        "unsafe",
        "redundancy",
        "edit_distance",
        "non-fluency",
        "school grade (1=best; 6=worst)",
    ]
    higher = ["harmlessness", "fluency (1 = bad; 5 = good)", "frankness"]
    data = read(tmp_path, f"id,rater,{','.join([*lower, *higher])}\na,x{',1' * 8}\nb,x{',2' * 8}\n")
    got = {name: criterion.direction for name, criterion in data.criteria.items()}
    assert got == dict.fromkeys(lower, "lower") | dict.fromkeys(higher, "higher")
    assert said(data, "unsafe", "lower is better (judging by its name)")
    names = [
        "disfluency",
        "Unfaithfulness",
        "misinformation",
        "mistranslation",
        "TER",
        "error severity",
        "in-coherence",
    ]
    names += [
        "Halluzinationen",
        "erreurs",
        "ошибки",
        "幻觉",
        "মিথ্যা ভুল",
        "أخطاء",
        "hata sayısı",
        "makosa",
        "毒性",
        "त्रुटि",
    ]
    better = [
        "international style",
        "information",
        "dispersion",
        "misc",
        "error detection",
        "toxicity-free",
        "unity",
    ]
    guessed = {name: guessed_direction(name) for name in (*names, *better)}
    assert guessed == dict.fromkeys(names, "lower") | dict.fromkeys(better, "higher")
    assert read(tmp_path, "id,rater,rank\na,x,1\na,y,2\n").criteria["rank"].direction == "lower"


ROWS = "a,x,1\na,y,2\n"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (HEAD + "a,x,1\n,,\n,,\na,y,2\n,,\n", "3 rows left out: blank"),
        ("sep=;\n" + (HEAD + ROWS).replace(",", ";"), "1 line above the header"),
        ("# by ann, bob\n# in May\n" + HEAD + ROWS, "2 lines above the header"),
        ("Ratings of May,,\n,,\n" + HEAD + ROWS, "2 lines above the header"),
        ("#,rater,score\n" + ROWS, "columns read"),
    ],
)
def test_what_is_no_rating_around_the_rows(tmp_path: Path, text: str, note: str) -> None:
    options = {"columns": {"output": "#"}} if text[:2] == "#," else {}
    data = read(tmp_path, text, **options)
    assert data.ratings["score"].tolist() == [1, 2]
    assert said(data, note)
    with pytest.raises(
        MetalError, match=f"row {text.count(chr(10)) + 1}: score 'high' among numbers"
    ):
        read(tmp_path, text.replace("sep=;", "sep=,").replace(";", ",") + "b,x,high\n", **options)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "Ratings,of,,\nMay,so,,\nwhom,what,how,then\na,x,1,2\n",
            {},
            "may be in another row",
        ),
        (
            HEAD + "a,x,1\na,y,Score: 2\n",
            {},
            r"`levels`; if they are replies: `columns=\{\"reply\": COLUMN\}`",
        ),
        (
            "source,rater,score,left\np,x,1,foo\np,x,2,bar\n",
            {},
            r"a second time .*`columns=\{'text': 'left'\}`",
        ),
        (
            "id,lang,rater,score\na,hi,x,1\nb,NA,x,1\n",
            {},
            "ratings.csv row 3: language is empty or NA",
        ),
        (
            "id,lang,rater,score\na,hi,x,1\nb,q9,x,1\n",
            {},
            "ratings.csv row 3: language 'q9' is not known. Write a name",
        ),
        (
            HEAD.replace("score", "fluency") + "a,x,so so\na,y,fab\n" * 6,
            {},
            "METAL does not know",
        ),
    ],
)
def test_errors_name_what_works(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(MetalError, match=message):
        read(tmp_path, text, **options)


def test_several_texts_of_one_source_are_several_outputs(tmp_path: Path) -> None:
    table = "source,output,rater,score\np,yes,x,1\np,no,x,2\nq,yes,x,2\n"
    with pytest.raises(MetalError, match=r"more than one source .*`columns=\{\"text\": COLUMN\}`"):
        read(tmp_path, table)
    assert len(read(tmp_path, table, columns={"text": "output"}).outputs) == 3
    partly = read(
        tmp_path, table + "q,no,x,1\np,,x,2\n", columns={"text": "output"}
    )  # an empty text is none of the others
    assert sorted(output.text for output in partly.outputs.values()) == [
        "",
        "no",
        "no",
        "yes",
        "yes",
    ]


@pytest.mark.parametrize(
    ("words", "scores"),
    [
        (("3/5", "1/5", "5/5"), [3, 1, 5]),
        (("1 - terrible", "3 - OK", "2 - poor"), [1, 3, 2]),
        (("1 (worst)", "3", "5 (best)"), [1, 3, 5]),
        (("Y", "no", "Yes"), [1, 0, 1]),
        (("Safe", "Unsafe", "Safe"), [1, 0, 1]),
        (("None", "Many", "Some"), [0, 2, 1]),
    ],
)
def test_words_under_a_criterions_name_are_scores(
    tmp_path: Path, words: tuple[str, ...], scores: list[int]
) -> None:
    rows = "".join(f"o{n},x,{words[n % 3]}\n" for n in range(9))
    data = read(tmp_path, "id,rater,accuracy\n" + rows)
    assert data.ratings["score"].tolist() == scores * 3
    best = read(tmp_path, "id,rater,accuracy\na,x,1 (best)\na,y,2\na,z,3 (worst)\n")
    assert best.criteria["accuracy"].direction == "lower"


def test_raters_and_their_kinds_as_forms_name_them(tmp_path: Path) -> None:
    for name in ("Participant id", "Your name", "Email Address"):
        assert set(read(tmp_path, f"item,{name},score\na,x,1\na,y,2\n").raters) == {"x", "y"}
    typed = read(tmp_path, "item,rater,type,score\na,x,human,1\na,J,model,2\n")
    assert typed.raters["J"].kind == "llm"
    written = read(tmp_path, "item,rater,type,score\na,x,human,1\nb,x,model,2\n")  # of the texts
    assert written.raters["x"].kind == "human"
    names = ("G-Eval", "opus", "Sonnet", "Command R", "4o", "AI judge")
    judges = read(
        tmp_path,
        HEAD + "".join(f"a,{name},{n % 2}\n" for n, name in enumerate((*names, "Corinne"))),
    )
    assert [judges.raters[name].kind for name in (*names, "Corinne")] == ["llm"] * 6 + ["human"]


def test_a_key_twice_in_a_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": 1, "score": 2}\n{"id": 1, "score": 2, "score": 3}\n')
    with pytest.raises(MetalError, match=r"t\.jsonl line 2: the key 'score' occurs twice"):
        read_frame(tmp_path / "t.jsonl")


def test_capitals_at_the_end_of_a_files_name_are_no_language(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD + ROWS, "20b_AB.csv").languages == ("und",)


@pytest.mark.parametrize(
    "words", ["N.A.", "#N/A", "--", "not rated", "unknown", "don't know", "\\N", "skip", "#DIV/0!"]
)
def test_no_answer_in_many_spellings(tmp_path: Path, words: str) -> None:
    data = read(tmp_path, HEAD + f"a,x,1\na,y,2\nb,x,{words}\nb,y,1\n")
    assert data.ratings["score"].isna().sum() == 1
    assert said(data, f"1 missing answer ({words!r} 1)")


def test_words_that_may_be_levels_stay_levels(tmp_path: Path) -> None:
    with pytest.raises(MetalError, match="METAL does not know"):
        read(tmp_path, HEAD + "a,x,yes\na,y,unknown\nb,x,no\nb,y,yes\n")


@pytest.mark.parametrize(
    ("words", "scores"),
    [
        (["1 star", "2 stars", "3 stars"], [1, 2, 3]),
        (["★☆☆", "★★☆", "★★★"], [1, 2, 3]),
        (["Bad (0)", "Medium (1)", "Good (2)"], [0, 1, 2]),
        (["'0", "'1", "'2"], [0, 1, 2]),
        (['"=""0"""', '"=""1"""', '"=""2"""'], [0, 1, 2]),
        (["malo", "regular", "bueno"], [0, 1, 2]),
        (["schlecht", "mittel", "gut"], [0, 1, 2]),
        (["fail", "partial", "pass"], [0, 1, 2]),
        (["stimme nicht zu", "neutral", "stimme zu"], [0, 1, 2]),
        (["나쁨", "보통", "좋음"], [0, 1, 2]),
    ],
)
def test_answers_in_other_spellings(tmp_path: Path, words: list[str], scores: list[int]) -> None:
    rows = "".join(f"{item},{rater},{word}\n" for item, word in enumerate(words) for rater in "xy")
    data = read(tmp_path, HEAD + rows)
    assert data.ratings.sort_values("source")["score"].tolist() == [
        score for score in scores for _ in "xy"
    ]


def test_ids_that_a_spreadsheet_wrote_as_numbers(tmp_path: Path) -> None:
    """`12.0` beside `12` is that rater; alone it keeps its spelling, and 1.0 beside 1 may be
    another version.
    """
    data = read(tmp_path, HEAD + "a,12.0,1\nb,12,2\na,7.0,1\n")
    assert [*data.raters] == ["12", "7.0"]
    assert said(data, "read as the plain name ('12.0')")
    data = read(tmp_path, "source,model,rater,score\na,1,x,1\na,1.0,x,2\n")
    assert {output.generator for output in data.outputs.values()} == {"1", "1.0"}


def test_languages_by_other_names_are_one(tmp_path: Path) -> None:
    names = ["hi", "hin", "Hindi", "हिन्दी", "Hindi (India)", "HI"]
    rows = "".join(f"{item},x,1,{name}\n" for item, name in enumerate(names))
    assert read(tmp_path, "id,rater,score,language\n" + rows).languages == ("hi",)


def test_judges_on_another_scale_than_people_are_said(tmp_path: Path) -> None:
    """0.05 to 0.95 beside 0 to 2; a severe judge on the same scale is none."""
    for judge, warned in (({0: 0.05, 1: 0.5, 2: 0.95}, True), ({0: 0.0, 1: 0.25, 2: 1.5}, False)):
        rows = "".join(
            f"{n},A1,{min(2, n % 5)}\n{n},gpt-4,{judge[min(2, n % 5)]}\n" for n in range(60)
        )
        messages = [finding.message for finding in lint(read(tmp_path, HEAD + rows))]
        assert any("from 0.05 to 0.95" in line for line in messages) == warned
        assert any("two scales" in line for line in messages) == warned


def test_of_hundreds_of_columns_one_that_sums_up_the_others_is_no_person() -> None:
    answers = np.random.default_rng(5).integers(1, 6, (60, 250))
    people = pd.DataFrame(answers, columns=[f"A{place}" for place in range(250)])
    for name, values in {"A300": people.mean(axis=1).round(2), "A301": people.sum(axis=1)}.items():
        frame = people.assign(**{name: values}, item=[f"q{row}" for row in range(60)])
        data = metal.read(frame)
        assert name not in data.raters
        assert len(data.raters) == 250


@pytest.mark.parametrize("name", ["Unnamed: 0", "line", "annotators_total"])
def test_numbers_of_rows_and_totals_are_no_criterion_beside_a_column_of_raters(name: str) -> None:
    frame = raters().melt("item", var_name="rater", value_name="share")
    random = np.random.default_rng(1)
    cells = (
        random.integers(3, 15, len(frame)) if name == "annotators_total" else np.arange(len(frame))
    )
    data = metal.read(frame.assign(share=random.random(len(frame)), **{name: cells}))
    assert set(data.criteria) == {"share"}
    assert said(data, "not read", name)
    # rows that were taken out leave gaps
    filtered = frame.assign(**{name: cells})[cells % 7 != 3].astype(str)
    assert set(metal.read(filtered).criteria) == {"share"} or name == "line"


@pytest.mark.parametrize(
    ("columns", "people", "criteria"),
    [
        (
            "annotator_1_fluency annotator_1_tone annotator_2_fluency gpt_4o_fluency",
            "annotator_1 annotator_2",
            "fluency tone",
        ),
        ("annotator_1_fluency gpt_4o_accuracy", "annotator_1", "fluency accuracy"),
        (
            "A1__fluency A1__tone A2__fluency A2_tone GPT-4o__fluency Gpt-4O_tone",
            "A1 A2",
            "fluency tone",
        ),
        ("expert_1 expert_2 llm_quality", "expert_1 expert_2", "overall"),
    ],
)
def test_raters_who_were_not_asked_everything_or_are_spelled_otherwise(
    columns: str, people: str, criteria: str
) -> None:
    """annotator and gpt were two raters with the criteria 1_fluency and 4o_fluency; expert was
    asked 1 and 2.
    """
    answers = {name: np.arange(60) * step % 5 for step, name in enumerate(columns.split(), 1)}
    data = metal.read(pd.DataFrame({"item": [f"i{n}" for n in range(60)]} | answers))
    assert {name for name, rater in data.raters.items() if rater.kind == "human"} == set(
        people.split()
    )
    assert len(data.raters) == len(people.split()) + 1
    assert set(data.criteria) == set(criteria.split())
    assert len(data.ratings) == 60 * len(answers)


def test_a_rater_without_a_criterion_beside_others_is_asked_about() -> None:
    columns = ("rater1_fluency", "rater1_accuracy", "rater2_fluency", "rater2_accuracy", "gpt4")
    frame = pd.DataFrame(
        {"item": [f"i{n}" for n in range(60)]} | {name: np.arange(60) % 5 for name in columns}
    )
    with pytest.raises(NoColumn, match=r"names of columns.*not say.*gpt4"):
        metal.read(frame)
