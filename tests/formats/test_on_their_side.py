"""Tables on their side: what survey tools export, a row a respondent and a column an output."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import metal
from metal.cli import metal as root
from metal.cli.datasets import import_options
from metal.cli.flags import command_named, in_flags
from metal.data.dataset import Dataset
from metal.errors import MetalError, NoColumn
from tests.formats.test_shapes import read

PEOPLE = 12
TEXTS = [
    f"Text {n}: the boat sails home tonight, said the {who}."
    for n, who in enumerate(("cook", "king", "nun"), 1)
]
SCORES = np.random.default_rng(4).integers(1, 6, size=(PEOPLE, len(TEXTS)))
QUESTION = "How fluent is this text?"


def written(
    folder: Path, header: Sequence[Sequence[str]], before: Sequence[Sequence[object]]
) -> Path:
    """A CSV file with these rows of the header; each respondent's row begins with what is before
    the scores.
    """
    path = folder / "form.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [[*own, *scores.tolist()] for own, scores in zip(before, SCORES, strict=True)]
        csv.writer(file).writerows([*header, *rows])
    return path


def table_of(data: Dataset) -> dict[tuple[str, str], float]:
    """(rater, text of the output) -> score"""
    texts = {name: output.text or name for name, output in data.outputs.items()}
    rows = data.ratings[["rater", "output", "score"]].itertuples(index=False)
    return {(rater, texts[output]): score for rater, output, score in rows}


def expected(raters: Sequence[str], outputs: Sequence[str]) -> dict[tuple[str, str], float]:
    return {
        (rater, output): float(SCORES[row, column])
        for row, rater in enumerate(raters)
        for column, output in enumerate(outputs)
    }


MAILS = [f"p{n}@example.org" for n in range(PEOPLE)]
TIMES = [f"2026/11/{n + 1:02} 10:00:00 AM" for n in range(PEOPLE)]


def test_a_form_of_google_is_read_a_column_an_output(tmp_path: Path) -> None:
    header = ["Timestamp", "Email Address", *(f"{QUESTION} [{text}]" for text in TEXTS)]
    data = metal.read(written(tmp_path, [header], [*zip(TIMES, MAILS, strict=True)]))
    assert table_of(data) == expected(MAILS, TEXTS)
    assert [*data.criteria] == [QUESTION]
    assert {rater.kind for rater in data.raters.values()} == {"human"}
    assert any("one column per output" in note for note in data.report)


def test_a_form_without_names_numbers_its_respondents_and_says_so(tmp_path: Path) -> None:
    header = ["Timestamp", "How old are you?", *TEXTS]
    ages = [(time, 20 + n) for n, time in enumerate(TIMES)]
    data = metal.read(written(tmp_path, [header], ages))
    assert table_of(data) == expected([f"respondent {n}" for n in range(1, PEOPLE + 1)], TEXTS)
    assert any("is another person" in note for note in data.report)
    assert any("columns not read: Timestamp, How old are you?" in note for note in data.report)


def test_a_form_on_several_criteria_has_them_beside_the_texts(tmp_path: Path) -> None:
    header = [
        "Timestamp",
        "Username",
        f"{TEXTS[0]} [Fluency]",
        f"{TEXTS[1]} [Fluency]",
        f"{TEXTS[2]} [Fluency]",
    ]
    header += [column.replace("Fluency", "Adequacy") for column in header[2:]]
    path = tmp_path / "form.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [
            [time, mail, *scores, *scores]
            for time, mail, scores in zip(TIMES, MAILS, SCORES.tolist(), strict=True)
        ]
        csv.writer(file).writerows([header, *rows])
    data = metal.read(path)
    assert {*data.criteria} == {"Fluency", "Adequacy"}
    assert len(data.outputs) == len(TEXTS)
    assert len(data.ratings) == 2 * SCORES.size


@pytest.mark.parametrize("rows", [True, False])
def test_an_export_of_survey_monkey_has_its_header_in_two_rows(tmp_path: Path, rows: bool) -> None:
    about = ["Respondent ID", "Collector ID", "Start Date", "Email Address"]
    first = [*about, QUESTION, "", ""] if rows else [*about, *TEXTS]
    second = ["", "", "", "", *(TEXTS if rows else ["Response"] * len(TEXTS))]
    people = [str(118_000_000_00 + n) for n in range(PEOPLE)]
    data = metal.read(
        written(tmp_path, [first, second], [(who, "43", "11/24/2026", "") for who in people])
    )
    assert table_of(data) == expected(people, TEXTS)
    assert [*data.criteria] == [QUESTION if rows else "overall"]


def test_an_export_of_qualtrics_is_read_a_column_an_output(tmp_path: Path) -> None:
    about = ["StartDate", "EndDate", "ResponseId"]
    header = [[*about, "Q1", "Q2", "Q3"], ["Start Date", "End Date", "Response ID", *TEXTS]]
    header.append([f'{{"ImportId":"{n}"}}' for n in range(6)])
    people = [f"R_{n}" for n in range(PEOPLE)]
    data = metal.read(
        written(tmp_path, header, [("2026-11-24", "2026-11-24", who) for who in people])
    )
    assert table_of(data) == expected(people, ["1", "2", "3"])


def test_questions_by_number_beside_a_respondent_are_outputs(tmp_path: Path) -> None:
    path = written(
        tmp_path, [["participant", "item_1", "item_2", "item_3"]], [(who,) for who in MAILS]
    )
    data = metal.read(path)
    assert table_of(data) == expected(MAILS, ["1", "2", "3"])
    assert table_of(metal.read(path, wide="item_{output}")) == table_of(data)


def test_one_row_each_on_several_criteria_is_asked_about_with_an_option_that_works(
    tmp_path: Path,
) -> None:
    path = written(
        tmp_path, [["participant", "fluency", "adequacy", "coherence"]], [(who,) for who in MAILS]
    )
    with pytest.raises(NoColumn, match=r'is a rater.*`wide=\["\{output\}"\]`'):
        metal.read(path)
    assert table_of(metal.read(path, wide="{output}")) == expected(
        MAILS, ["fluency", "adequacy", "coherence"]
    )


def test_rows_that_may_be_people_are_asked_about_with_an_option_that_works(tmp_path: Path) -> None:
    path = written(tmp_path, [["date", "Kite", "Boat", "Lamp"]], [("2026-11-24",)] * PEOPLE)
    with pytest.raises(NoColumn, match=r'each column an output:.*`wide=\["\{output\}"\]`'):
        metal.read(path)
    raters = [f"respondent {n}" for n in range(1, PEOPLE + 1)]
    assert table_of(metal.read(path, wide="{output}")) == expected(raters, ["Kite", "Boat", "Lamp"])


def test_a_refusal_names_columns_with_commas_and_brackets_as_they_can_be_typed(
    tmp_path: Path,
) -> None:
    names = ["Kite, red [1]", 'Boat "A"', *(f"Lamp {n}, old" for n in "abcdefghijkl")]
    rows = "".join(
        f"{n},{','.join('12345'[(n + k) % 5] for k in range(len(names)))}\n" for n in range(20)
    )
    path = tmp_path / "wide.csv"
    path.write_text(
        "id," + ",".join('"' + name.replace('"', '""') + '"' for name in names) + "\n" + rows
    )
    with pytest.raises(NoColumn) as refusal:
        metal.read(path)
    typed = in_flags(str(refusal.value), command_named(["import"], root), root)
    option = typed[typed.index("--wide") :].partition("; ")[0]
    options = import_options([str(path), *shlex.split(option)])
    assert {*metal.read(path, wide=options["wide"]).raters} == {*names}


# ---------------------------------------------------------------- other tools' files


def test_label_studios_ratings_in_lists_are_numbers(tmp_path: Path) -> None:
    rows = [
        {"id": n, "text": text, "annotator": who, "fluency": [{"rating": int(SCORES[who, n])}]}
        for n, text in enumerate(TEXTS)
        for who in range(PEOPLE)
    ]
    as_json, as_csv = tmp_path / "min.json", tmp_path / "min.csv"
    as_json.write_text(json.dumps(rows))
    with as_csv.open("w", newline="") as file:
        cells = [{**row, "fluency": json.dumps(row["fluency"])} for row in rows]
        table = csv.DictWriter(file, [*rows[0]])
        table.writeheader()
        table.writerows(cells)
    for path in (as_json, as_csv):
        data = metal.read(path)
        assert table_of(data) == expected([str(n) for n in range(PEOPLE)], TEXTS)
        assert [*data.criteria] == ["fluency"]


def test_averages_of_mqm_of_2021_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mqm_newstest2021_zhen.avg_seg_scores.tsv"
    path.write_text("system mqm_avg_score seg_id\nA\tNone 1\nA\t-1.5 2\nB\t-0.0 1\n")
    data = metal.read(path)
    assert data.ratings["score"].tolist()[1:] == [-1.5, 0.0]
    assert np.isnan(data.ratings["score"].tolist()[0])


# ---------------------------------------------------------------- translations, grades, places


LINES = [
    f"en-zh,A,s{n},Quelle {n} mit Worten,Ziel {n},r{r},{n % 5}" for n in range(20) for r in (1, 2)
]


def test_the_target_beside_a_source_is_the_translation(tmp_path: Path) -> None:
    data = read(tmp_path, "lp,system,seg_id,Source,Target,rater,score\n" + "\n".join(LINES))
    assert {output.text for output in data.outputs.values()} == {f"Ziel {n}" for n in range(20)}


def test_the_target_beside_a_prediction_stays_unread(tmp_path: Path) -> None:
    rows = "\n".join(f"q{n},answer {n},gold {n},r{r},{n % 3}" for n in range(20) for r in (1, 2))
    data = read(tmp_path, f"id,prediction,target,rater,score\n{rows}")
    assert not any(output.text.startswith("gold") for output in data.outputs.values())


@pytest.mark.parametrize(
    ("written", "code"),
    [("EN-ZH", "en-zh"), ("EN-DE", "en-de"), ("PT-BR", "pt-BR"), ("ZH-TW", "zh-TW")],
)
def test_a_language_pair_in_capitals_is_one(tmp_path: Path, written: str, code: str) -> None:
    data = read(
        tmp_path,
        "lp,system,seg_id,Source,Target,rater,score\n" + "\n".join(LINES).replace("en-zh", written),
    )
    assert tuple(data.languages) == (code,)
    noted = any("is read as English to German" in note for note in data.report)
    assert noted == (written == "EN-DE")


@pytest.mark.parametrize(
    ("name", "values", "direction", "doubtful"),
    [
        ("mqm", (0, 1, 5, 6, 10), "lower", False),
        ("mqm", (0, -1, -5, -6, -10), "higher", False),
        ("MQM_score", (80, 95, 100, 99.5, 60), "higher", True),
        ("penalty", (0, 2, 4, 1, 3), "lower", False),
        ("Schulnote", (1, 2, 3, 4, 6), "lower", False),
        ("Note", (1, 2, 3, 4, 6), "higher", True),
        ("fluency", (1, 2, 3, 4, 5), "higher", False),
    ],
)
def test_penalties_and_school_grades_are_read_the_right_way_round_or_asked_about(
    tmp_path: Path, name: str, values: Sequence[float], direction: str, doubtful: bool
) -> None:
    rows = [
        f"t{n},{who},{values[(n + k) % 5]}"
        for n in range(30)
        for k, who in enumerate(("Anna", "Bernd"))
    ]
    path = tmp_path / "grades.csv"
    path.write_text(f"item,annotator,{name}\n" + "\n".join(rows) + "\n")
    data = metal.read(path)
    (criterion,) = data.criteria.values()
    assert criterion.direction == direction
    warnings = metal.audit(path, resamples=100).warnings
    assert any("directions" in warning and "assumes" in warning for warning in warnings) == doubtful
    told = metal.audit(path, directions="lower", resamples=100)
    assert next(iter(told.criteria.values())).direction == "lower"
    assert not any("assumes" in warning for warning in told.warnings)


def test_a_score_off_the_scale_of_a_wide_table_is_found_by_row_and_column(tmp_path: Path) -> None:
    rows = [f"t{n},{n % 5 + 1},{11 if n == 7 else n % 5 + 1},{n % 5 + 1}" for n in range(30)]
    with pytest.raises(
        MetalError, match=r"row 9, column 'annotator_2': score 11 is not on the scale"
    ):
        read(tmp_path, "item,annotator_1,annotator_2,gpt_4o\n" + "\n".join(rows), ranges="1-5")
