"""Tables as strangers have them are read right by one command, or refused with a question that can
be answered.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.data.dataset import Dataset
from metal.errors import DataError, NoColumn
from tests.formats.test_shapes import read
from tests.saying import tells


def kinds(data: Dataset) -> dict[str, str]:
    return {name: rater.kind for name, rater in data.raters.items()}


RIGHT: dict[str, dict[str, Any]] = {
    "wide.csv": {
        "outputs": 360,
        "languages": ("de", "en", "sw"),
        "people": {"annotator_1", "annotator_2", "annotator_3"},
        "judges": {"gpt_4o", "llama-3-70b"},
    },
    "one_one.csv": {
        "outputs": 450,
        "languages": ("am", "en", "fr"),
        "people": {"human"},
        "judges": {"llm"},
    },
    "long.csv": {
        "outputs": 706,
        "sources": 450,
        "languages": ("de", "en", "hi"),
        "people": {f"{language}-slot{n}" for language in ("de", "en", "hi") for n in range(1, 6)},
        "judges": {"gpt-4o-mini"},
    },
    "harness.jsonl": {
        "outputs": 240,
        "languages": ("en", "pt", "yo"),
        "people": {"human_a", "human_b"},
        "judges": {"gpt-4o"},
        "criteria": {"helpfulness"},
        "generators": {"mistral-7b"},
    },
    "hindi.csv": {
        "outputs": 140,
        "languages": ("hi",),
        "people": {"सीमा", "राहुल", "प्रिया"},
        "judges": {"gpt-4o"},
    },
    "likert_num.csv": {"outputs": 140, "people": {"सीमा", "राहुल", "प्रिया"}, "judges": {"gpt-4o"}},
    "da.csv": {
        "outputs": 595,
        "sources": 595,
        "languages": ("en-zh", "et-en", "ro-en"),
        "people": {
            f"{pair}-annotator{n}" for pair in ("en-zh", "et-en", "ro-en") for n in (1, 2, 3)
        },
        "judges": {"mixtral-8x7b-awq:t03"},
        "criteria": {"DA"},
    },
    "pairs.csv": {
        "outputs": 300,
        "languages": ("en", "hi"),
        "people": {"expert1", "expert2"},
        "judges": {"gpt-4-turbo"},
    },
    "two_heads.xlsx": {
        "outputs": 180,
        "languages": ("bn", "ta"),
        "people": {"Annotator 1", "Annotator 2"},
        "judges": {"GPT-4o"},
        "criteria": {"Adequacy", "Fluency"},
    },
    "cl.csv": {
        "outputs": 84,
        "sources": 14,
        "languages": ("en",),
        "people": {"ann", "bob", "cy"},
        "judges": {"gpt-4o"},
    },
}


@pytest.mark.reference
@pytest.mark.parametrize("name", RIGHT)
def test_a_strangers_table_is_read_right_by_its_path_alone(reference: Path, name: str) -> None:
    data, right = metal.read(reference / "strangers" / name), RIGHT[name]
    read_as = {
        "outputs": len(data.ratings["output"].unique()),
        "sources": len(data.sources),
        "languages": tuple(sorted(data.languages)),
        "people": {rater for rater, kind in kinds(data).items() if kind == "human"},
        "judges": {rater for rater, kind in kinds(data).items() if kind == "llm"},
        "criteria": set(data.criteria),
        "generators": {output.generator for output in data.outputs.values()},
    }
    assert {what: read_as[what] for what in right} == right
    assert set(kinds(data).values()) == {"human", "llm"}


@pytest.mark.reference
def test_answers_to_one_question_are_one_source_and_the_audit_says_so(reference: Path) -> None:
    audit = metal.audit(reference / "strangers" / "cl.csv", resamples=200)
    assert audit.verdicts["verdict"].tolist() == ["undecided"]
    assert any(tells(warning, "14 sources", "texts in 'question'") for warning in audit.warnings)


# ---------------------------------------------------------------- a column is a person only if its
# name says so


ITEMS = {"id": [f"i{n}" for n in range(40)], "response": [f"text {n}" for n in range(40)]}
SCORES = np.random.default_rng(0).integers(0, 3, size=(40, 4))


COUNTED = """epoch retries fallbacks attempts success passed failed conversational multimodal flaky latency latency_ms
    cost total_tokens tokens index answer1_prob answer2_probability logprob annot_sum annot_consensus human_mean
    expert_majority n_raters human_count is_correct has_code human_time error valid similarity"""  # noqa: E501


@pytest.mark.parametrize("name", COUNTED.replace("\n", " ").split())
def test_what_is_counted_or_summed_up_is_nobody(name: str) -> None:
    judged = pd.DataFrame(
        ITEMS | {name: SCORES[:, 0], "gpt-4": SCORES[:, 1], "annotator_1": SCORES[:, 2]}
    )
    assert set(metal.read(judged, language="en").raters) == {"gpt-4", "annotator_1"}
    alone = (
        judged.drop(columns="annotator_1")
        .rename(columns={"gpt-4": "score"})
        .assign(other=SCORES[:, 3])
    )
    with pytest.raises(DataError, match="no column for the rater"):
        metal.read(alone.drop(columns="score"), language="en")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(
            (name, "human")
            for name in ("annotator_1", "annotator_anna", "rater B", "human_score", "expert", "A1")
        ),
        *(
            (name, "human")
            for name in ("reviewer-2", "crowd", "anna@example.org", "评分人 2", "मूल्यांकनकर्ता 1")
        ),
        *(
            (name, "llm")
            for name in ("gpt_4o", "claude-3", "llm_score", "llama-3-70b", "judge_model")
        ),
        ("bleu", "metric"),
    ],
)
def test_a_name_that_says_whose_answers_a_column_holds(name: str, kind: str) -> None:
    frame = pd.DataFrame(
        ITEMS | {name: SCORES[:, 0], "annotator_9": SCORES[:, 1], "gemini": SCORES[:, 2]}
    )
    data = metal.read(frame, language="en")
    assert sorted(kinds(data).values()) == sorted([kind, "human", "llm"])


def test_answers_under_other_names_are_a_warning_of_the_audit() -> None:
    frame = pd.DataFrame(
        ITEMS | {"novelty": SCORES[:, 0], "annotator_1": SCORES[:, 1], "gpt-4": SCORES[:, 2]}
    )
    audit = metal.audit(metal.read(frame, language="en"), resamples=100)
    assert any("not read: 'novelty'" in warning for warning in audit.warnings)


def test_models_scored_by_one_judge_are_no_judges(tmp_path: Path) -> None:
    rows = [
        {"prompt_id": f"p{n}", "prompt": f"Question {n}?", "language": "tamil"} for n in range(6)
    ]
    for row in rows:
        row |= {
            "meta/llama-2": {"score": 1, "justification": "x"},
            "gpt-4": {"score": 2, "justification": "y"},
        }
    with pytest.raises(NoColumn, match=r"that one judge scored.*wide="):
        metal.read(pd.DataFrame(rows))
    judges = metal.read(pd.DataFrame(rows), wide=["{rater}.score"])
    assert kinds(judges) == {"gpt-4": "llm", "meta/llama-2": "llm"}


# ---------------------------------------------------------------- nested cells, repeats


def test_objects_are_columns_by_their_path_in_every_option() -> None:
    rows = [
        {
            "sample": f"s{n}",
            "info": {"where": {"tongue": "sw"}},
            "scores": {
                "gpt-3.5": {"tone": {"value": n % 2, "explanation": f"why {n}"}},
                "anna": {"tone": {"value": 1}},
            },
        }
        for n in range(6)
    ]
    with pytest.raises(NoColumn, match=r"do not say whose.*scores\.anna\.tone\.value"):
        metal.read(pd.DataFrame(rows))
    columns = {"output": "sample", "language": "info.where.tongue"}
    data = metal.read(
        pd.DataFrame(rows), columns=columns, wide=["scores.{rater}.{criterion}.value"]
    )
    assert kinds(data) == {"anna": "human", "gpt-3.5": "llm"}
    assert data.languages == ("sw",)
    assert list(data.criteria) == ["tone"]
    named = metal.read(pd.DataFrame(rows), columns=columns, kinds={"anna": "human"})
    assert set(named.ratings["comment"]) == {"", *(f"why {n}" for n in range(6))}


@pytest.mark.parametrize("written", ["[86, 91, 82]", [86, 91, 82]])
def test_a_list_of_three_scores_in_a_cell_is_three_people(written: object, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"id": ["a", "b"], "answer": ["x", "y"], "scores": [written, written], "gpt-4": [80, 70]}
    )
    data = metal.read(frame, language="en")
    assert kinds(data) == {
        "gpt-4": "llm",
        "scores_1": "human",
        "scores_2": "human",
        "scores_3": "human",
    }
    assert data.ratings.query("rater == 'scores_2'")["score"].tolist() == [91, 91]


def test_rounds_of_a_rater_are_repeats_and_no_other_outputs(tmp_path: Path) -> None:
    rows = "item,rater,round,score\n" + "".join(
        f"i{n},{rater},{time},{(n + time) % 3}\n"
        for n in range(6)
        for rater in ("A1", "gpt-4")
        for time in (1, 2)
    )
    data = read(tmp_path, rows, language="en")
    assert len(data.outputs) == 6
    assert data.raters["gpt-4#2"].about["repeats"] == "gpt-4"
    assert data.ratings.query("rater == 'A1'")["score"].tolist() == [(n + 1) % 3 for n in range(6)]
    assert tells(data.report, "6 ratings left out", "answered before")
    once = read(tmp_path, rows.replace("round", "wave"), language="en", columns={"repeat": "wave"})
    assert once.digest == data.digest


def test_epochs_of_a_wide_table_are_repeats(tmp_path: Path) -> None:
    rows = "sample_id,epoch,retries,success,human,gpt-4o,latency\n" + "".join(
        f"s{n},{epoch},0,true,{(n + epoch) % 3},{n % 3},1.{n}\n"
        for n in range(12)
        for epoch in (1, 2, 3)
    )
    data = read(tmp_path, rows, language="en")
    assert (len(data.outputs), set(data.raters)) == (
        12,
        {"human", "gpt-4o", "gpt-4o#2", "gpt-4o#3"},
    )
    texts = rows.replace("latency", "completion").replace(",1.", ",text ")
    anew = "".join(
        f"{line} {at}\n" if at else f"{line}\n" for at, line in enumerate(texts.splitlines())
    )
    written_anew = read(tmp_path, anew, language="en")
    assert (len(written_anew.sources), len(written_anew.outputs)) == (12, 36)


def test_a_judge_beside_a_list_of_people_is_no_criterion_of_theirs() -> None:
    rows = [
        {
            "id": n,
            "annotations": [
                {"annotator": f"a{k}", "scores": {"tone": (n + k) % 3}} for k in (1, 2)
            ],
            "judgement": {"model": "gpt-4o", "score": n % 3},
        }
        for n in range(12)
    ]
    data = metal.read(pd.DataFrame(rows), language="en")
    assert (set(data.raters), list(data.criteria)) == ({"a1", "a2"}, ["tone"])
    assert any(
        "not read: 'judgement.score'" in finding.message for finding in metal.check(data).findings
    )


def test_an_id_that_makes_rows_unique_is_the_output(tmp_path: Path) -> None:
    rows = "reply_id,text,rater,rating_id,score\n" + "".join(
        f"r{n},Yes.,{rater},{n}-{rater},{n % 2}\n" for n in range(6) for rater in ("A1", "gpt-4")
    )
    assert list(read(tmp_path, rows, language="en").outputs) == [f"r{n}" for n in range(6)]


def test_a_rating_given_twice_names_the_column_that_tells_them_apart(tmp_path: Path) -> None:
    rows = "id,rater,take,score\na,A1,x,1\na,A1,y,2\nb,A1,x,1\n"
    with pytest.raises(
        DataError, match=r"'take' tells them apart: if it is the output's id.*answered again"
    ):
        read(tmp_path, rows)
    assert len(read(tmp_path, rows, columns={"output": "id+take"}).outputs) == 3
    assert len(read(tmp_path, rows, columns={"repeat": "take"}).ratings) == 2


# ---------------------------------------------------------------- translation, languages, sources


def test_document_and_segment_together_are_the_source(tmp_path: Path) -> None:
    rows = "lp,doc,seg_id,system,src,hyp,annotator,ESA\n" + "".join(
        f"en-de,d{document},{segment},m{system},A sentence of {document} and {segment},"
        f"Ein Satz {document}{segment}{system},{rater},{50 + segment * 7 + document}\n"
        for document in range(3)
        for segment in range(4)
        for system in range(2)
        for rater in ("A1", "gpt-4")
    )
    data = read(tmp_path, rows)
    assert (len(data.sources), len(data.outputs), data.languages) == (12, 24, ("en-de",))
    assert list(data.criteria) == ["ESA"]


def test_a_column_of_language_pairs_is_the_language_whatever_it_is_called(tmp_path: Path) -> None:
    rows = "".join(f"i{n},{('en-de', 'zh-en')[n % 2]},A1,{n % 3}\n" for n in range(8))
    assert read(tmp_path, "id,direction,rater,score\n" + rows, "da.csv").languages == (
        "en-de",
        "zh-en",
    )


def test_languages_of_input_and_output_in_two_columns_are_a_pair(tmp_path: Path) -> None:
    rows = "SysID,SegID,SrcLang,TgtLang,Source,Annotator,Score\n" + "".join(
        f"s{n % 2},{n // 2},eng,deu,A sentence about {n // 2},a{rater},{n}\n"
        for n in range(8)
        for rater in (1, 2)
    )
    data = read(tmp_path, rows)
    assert data.languages == ("en-de",)
    assert {output.generator for output in data.outputs.values()} == {"s0", "s1"}
    assert read(tmp_path, rows, columns={"language": "TgtLang"}).languages == ("de",)


def test_a_judges_name_its_score_and_a_persons_in_a_row_are_two_raters() -> None:
    rows = [
        (f"i{n}", judge, n % 3, (n + 1) % 3) for n in range(12) for judge in ("gpt-4o", "our-judge")
    ]
    frame = pd.DataFrame(rows, columns=["id", "judge_model", "judge_score", "human_score"])
    data = metal.read(frame, language="en")
    assert kinds(data) == {"gpt-4o": "llm", "our-judge": "llm", "human": "human"}
    scores = data.ratings.pivot(index="output", columns="rater", values="score")
    for judge in ("gpt-4o", "our-judge"):
        assert [scores.loc[f"i{n}", judge] for n in range(12)] == [n % 3 for n in range(12)]
    assert [scores.loc[f"i{n}", "human"] for n in range(12)] == [(n + 1) % 3 for n in range(12)]
    alone = metal.read(frame, columns={"score": "judge_score"}, language="en")
    assert alone.ratings["score"].tolist() == [n % 3 for n in range(12) for _ in range(2)]
    with pytest.raises(
        DataError,
        match=r"'human_score'.*columns=\{'score': 'judge_score'\}",
    ):
        metal.read(frame.assign(human_score=[n % 3 for n in range(24)]))  # two scores of one output


def test_a_judges_name_and_two_scores_are_all_a_table_needs() -> None:
    frame = pd.DataFrame(
        {"judge_model": "gpt-4o", "judge_score": SCORES[:, 0], "human_score": SCORES[:, 1]}
    )
    data = metal.read(frame)
    assert kinds(data) == {"gpt-4o": "llm", "human": "human"}
    assert len(data.outputs) == len(frame)
    two = frame.assign(judge_model=["gpt-4o", "claude-3"] * (len(frame) // 2))
    with pytest.raises(DataError, match="the id of each output"):
        metal.read(two)


def test_a_model_beside_two_scores_wrote_the_output_unless_outputs_are_the_same() -> None:
    rows = [
        (f"q{n}", model, f"Answer {n} {model}", n % 3, (n + k) % 3)
        for n in range(12)
        for k, model in MODELS
    ]
    frame = pd.DataFrame(
        rows, columns=["question_id", "model", "answer", "llm_score", "human_score"]
    )
    for table in (
        frame,
        frame.drop(columns="answer"),
        frame.drop(columns=["answer", "question_id"]),
    ):
        data = metal.read(table, language="en")
        assert kinds(data) == {"llm": "llm", "human": "human"}
        assert {output.generator for output in data.outputs.values()} == {"gpt-4", "llama-2"}
    judged = frame.assign(answer=[f"Answer {n}" for n in range(12) for _ in MODELS])
    judged["human_score"] = [n % 3 for n in range(12) for _ in MODELS]
    data = metal.read(judged, language="en")
    assert kinds(data) == {"gpt-4": "llm", "llama-2": "llm", "human": "human"}
    assert len(data.outputs) == 12
    named = metal.read(
        frame.iloc[::2].assign(model="our-judge"), language="en", columns={"rater": "model"}
    )
    assert kinds(named) == {"our-judge": "llm", "human": "human"}


MODELS = list(enumerate(("gpt-4", "llama-2")))


def test_facts_about_raters_and_rows_are_no_criteria() -> None:
    rows = [
        {
            "item": f"i{n}",
            "rater": f"w{k}",
            "tone": (n + k) % 3,
            "native": k % 2,
            "p_good": n / 50,
            "time_spent": n,
        }
        for n in range(40)
        for k in range(3)
    ]
    assert list(metal.read(pd.DataFrame(rows), language="en").criteria) == ["tone"]


def test_dont_know_among_words_is_named_as_no_answer(tmp_path: Path) -> None:
    words = ["Agree", "Don't know", "Disagree", "Strongly agree", "Strongly disagree"] * 4
    table = "id,rater,score\n" + "".join(f"{n},A1,{word}\n" for n, word in enumerate(words))
    with pytest.raises(DataError, match=r"""`missing=\{'overall': "Don't know"\}`"""):
        read(tmp_path, table)
    assert (
        read(tmp_path, table, missing={"overall": ["Don't know"]}).ratings["score"].isna().sum()
        == 4
    )


def test_several_outputs_of_a_row_are_refused() -> None:
    frame = pd.DataFrame(
        {
            "question": ["q"] * 9,
            "answer_1": ["a"] * 9,
            "answer_2": ["b"] * 9,
            "annotator": ["ann"] * 9,
        }
    )
    with pytest.raises(DataError, match="per row: answer_1, answer_2"):
        metal.read(frame.assign(score_1=[0, 1, 2] * 3, score_2=[1, 2, 0] * 3, question_id=range(9)))


def test_a_mean_of_people_beside_a_judge_is_asked_about_with_the_option_that_reads_it() -> None:
    frame = pd.DataFrame(
        ITEMS | {"human_avg": SCORES[:, 0], "human_std": SCORES[:, 1], "gpt4_score": SCORES[:, 2]}
    )
    with pytest.raises(NoColumn, match=r'`wide=\["gpt4_score", "human_avg"\]`'):
        metal.read(frame)
    assert (
        kinds(metal.read(frame, wide=["gpt4_score", "human_avg"], language="en"))["human_avg"]
        == "human"
    )


def test_columns_of_a_rater_and_a_language_are_read_in_these_languages() -> None:
    frame = pd.DataFrame(
        {"human_en": [1, 2] * 9, "human_de": [2, 1] * 9, "gpt4_en": [1] * 18, "gpt4_de": [1, 2] * 9}
    ).assign(id=range(18))
    data = metal.read(frame)
    assert kinds(data) == {"human": "human", "gpt4": "llm"}
    assert {output.language for output in data.outputs.values()} == {"en", "de"}
    assert len(data.outputs) == 36
    with pytest.raises(DataError, match=r"do not say.*score_en, score_de"):
        metal.read(frame.rename(columns={"human_en": "score_en", "human_de": "score_de"}))


@pytest.mark.parametrize(
    ("columns", "criteria"),
    [
        (("score_en", "score_hi", "score_sw"), {"overall"}),
        (("English", "Hindi", "Swahili"), {"overall"}),
        (("en_fluency", "hi_fluency", "en_adequacy", "hi_adequacy"), {"fluency", "adequacy"}),
    ],
)
def test_columns_that_name_languages_are_answers_in_these(
    columns: tuple[str, ...], criteria: set[str]
) -> None:
    scores = {column: [1, 2, 3] * 4 for column in columns}
    data = metal.read(
        pd.DataFrame(scores).assign(item=[n // 2 for n in range(12)], rater=["a", "b"] * 6)
    )
    assert set(data.criteria) == criteria
    assert len({output.language for output in data.outputs.values()}) == len(columns) // len(
        criteria
    )


def test_initials_that_are_codes_of_languages_are_raters() -> None:
    frame = pd.DataFrame({"expert_de": [1, 2] * 9, "expert_br": [2, 1] * 9}).assign(id=range(18))
    assert set(kinds(metal.read(frame))) == {"expert_de", "expert_br"}


@pytest.mark.parametrize(
    ("person", "judge", "answers"),
    [
        ("human_pref", "judge_pref", (1, 2)),
        ("human_vote", "judge_vote", ("A", "B")),
        ("human_rank", "judge_rank", (1, 2)),
        ("winner_human", "winner_gpt4", ("model_a", "model_b")),
        ("human_choice", "gpt4_pick", ("response_1", "response_2")),
    ],
)
def test_choices_between_two_texts_are_preferences(
    person: str, judge: str, answers: tuple[Any, Any]
) -> None:
    frame = pd.DataFrame({person: answers * 9, judge: answers[::-1] * 9}).assign(
        id=range(18),
        response_1=[f"one text {n}" for n in range(18)],
        response_2=[f"two text {n}" for n in range(18)],
    )
    data = metal.read(frame)
    assert sorted(kinds(data).values()) == ["human", "llm"]
    assert set(data.criteria) == {"preference"}


def test_ranks_of_several_outputs_in_a_row_are_no_criteria() -> None:
    ranks = {"rank_a": [1, 2, 3] * 6, "rank_b": [2, 3, 1] * 6, "rank_c": [3, 1, 2] * 6}
    frame = pd.DataFrame(ranks).assign(id=[n // 2 for n in range(18)], rater=["a", "b"] * 9)
    with pytest.raises(DataError, match="per row: rank_a, rank_b"):
        metal.read(frame)


def test_a_sample_is_an_output() -> None:
    frame = pd.DataFrame({"h1": [1, 2, 3] * 8, "h2": [1, 2, 2] * 8}).assign(
        sample=[n // 2 for n in range(24)], criterion=["tone", "fluency"] * 12
    )
    assert len(metal.read(frame).outputs) == 12


def test_raters_and_criteria_in_one_column_are_parted() -> None:
    who = [f"Annotator{n % 3}, {('fluency', 'adequacy')[n // 3 % 2]}" for n in range(60)]
    frame = pd.DataFrame(
        {"annotator": who, "id": [n // 6 for n in range(60)], "score": [1, 2, 3] * 20}
    )
    data = metal.read(frame)
    assert set(kinds(data)) == {"Annotator0", "Annotator1", "Annotator2"}
    assert set(data.criteria) == {"fluency", "adequacy"}


def test_an_answer_among_numbers_is_not_proposed_as_missing() -> None:
    for slip in ("Score: 3", "B"):
        frame = pd.DataFrame({"a1": ["1", "2"] * 9, "a2": ["2", slip] + ["1", "2"] * 8})
        with pytest.raises(DataError, match="the number in the file") as refused:
            metal.read(frame.assign(id=range(18)))
        assert "missing" not in str(refused.value)


def test_a_person_two_steps_deep_is_asked_about_and_the_option_named_reads_it() -> None:
    answers = [
        {
            "judge": {"scores": {"tone": n % 2}},
            "human": {"ann": {"tone": 1}, "bob": {"tone": n % 2}},
        }
        for n in range(6)
    ]
    frame = pd.DataFrame(answers).assign(id=range(6), completion="text")
    with pytest.raises(
        NoColumn,
        match=r"wide=\['\{rater\}\.scores\.\{criterion\}', 'human\.\{rater\}\.\{criterion\}'\]",
    ):
        metal.read(frame)
    data = metal.read(
        frame, wide=["{rater}.scores.{criterion}", "human.{rater}.{criterion}"], language="en"
    )
    assert kinds(data) == {"ann": "human", "bob": "human", "judge": "llm"}
    assert list(data.criteria) == ["tone"]


def test_english_texts_are_not_spanish_by_the_files_name(tmp_path: Path) -> None:
    table = "id,rater,score,text\n" + "".join(
        f"{n},A1,{n % 2},The cat sat on the mat of {n}\n" for n in range(4)
    )
    assert read(tmp_path, table, "likert_es.csv").languages == ("und",)
    assert read(
        tmp_path, table.replace("The cat sat on the mat of", "El gato come"), "likert_es.csv"
    ).languages == ("es",)


def test_an_instruction_is_no_source_and_texts_that_differ_are_said(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "id": list("abcdef"),
            "instruction": ["Summarise."] * 6,
            "A1": [0, 1] * 3,
            "gpt-4": [1, 1] * 3,
        }
    )
    assert len(metal.read(table, language="en").sources) == 6
    both = table.assign(input=["x", "x", "y", "y", "z", "z"])
    data = metal.read(both, language="en")
    assert len(data.sources) == 3
    assert any("3 different texts in 'instruction+input'" in line for line in data.report)
    assert len(metal.read(both, language="en", columns={"source": "id"}).sources) == 6
    long = both.drop(columns="gpt-4").rename(columns={"A1": "score"}).assign(rater="A1")
    again = long.assign(rater="A2", input="other")
    mixed = metal.read(pd.concat([long, again]).reset_index(drop=True), language="en")
    assert any("has two texts" in line for line in mixed.report)


def test_a_column_that_ratings_differ_by_is_a_warning_of_the_audit(tmp_path: Path) -> None:
    rows = "id,rater,setting,score\n" + "".join(
        f"i{n},{rater},{('warm', 'cold')[(n + len(rater)) % 2]},{n % 3}\n"
        for n in range(40)
        for rater in ("A1", "A22")
    )
    data = read(tmp_path, rows, language="en")
    assert any("not read: 'setting'" in finding.message for finding in metal.check(data).findings)


@pytest.mark.slow
def test_five_thousand_raters_in_columns(tmp_path: Path) -> None:
    scores = np.random.default_rng(0).integers(1, 6, size=(20, 5000))
    wide = pd.DataFrame(scores, columns=[f"annotator_{n}" for n in range(5000)]).assign(
        id=[f"i{n}" for n in range(20)]
    )
    wide.to_csv(tmp_path / "wide.csv", index=False)
    data = metal.read(tmp_path / "wide.csv", language="en")
    assert (len(data.raters), len(data.ratings)) == (5000, 100_000)
