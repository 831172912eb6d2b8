"""`metal annotate import`: what people sent back, through the command line into the dataset."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from metal.building.store import read_tasks, task_key
from metal.building.tasks import task_id
from metal.data.dataset import load_dataset
from metal.data.ratings import FACTS
from tests.cli.filling import COMMENT, Opinion, filled
from tests.cli.forks import Metal
from tests.cli.runs import snapshot
from tests.saying import tells

LEVELS = {
    "task_quality": ("0", "1", "2"),
    "hallucinations": ("0", "1"),
    "fluency": ("1", "50", "99.5"),
}
FORMS = ("html", "csv", "xlsx", "label-studio", "mturk")


def scores(rater: str, task: str) -> dict[str, str]:
    """Different people think differently, each the same whenever asked."""
    return {
        name: values[sum(map(ord, rater + task + name)) % len(values)]
        for name, values in LEVELS.items()
    }


def half(rater: str, task: str) -> dict[str, str] | None:
    return scores(rater, task) if int(task[-1], 16) % 2 else None


def in_dataset(folder: Path) -> dict[tuple[str, str, str], float]:
    """(task, criterion, rater) -> score of people, NaN as None would be."""
    names = {output: task for task, output in read_tasks(folder).items()}
    table = load_dataset(folder).ratings
    table = table[table["kind"] == "human"]
    keys = zip(table["output"].map(names), table["criterion"], table["rater"], strict=True)
    return dict(zip(keys, table["score"], strict=True))


def expected(
    folder: Path, opinion: Opinion, raters: tuple[str, ...] = ()
) -> dict[tuple[str, str, str], float]:
    """What should be there: workers rate everything, others what they were given."""
    given = [
        json.loads(line)
        for line in (folder / "annotation" / "given.jsonl").read_text().splitlines()
    ]
    pairs = {
        (rater, task)
        for each in given
        for task in each["tasks"]
        for rater in raters or (each["rater"],)
    }
    return {
        (task, name, rater): float(score)
        for rater, task in pairs
        for name, score in (opinion(rater, task) or {}).items()
    }


def export(people: Metal, form: str, *more: object, out: str = "out") -> Path:
    people("annotate", "export", "mine", "--to", form, "--out", out, *more)
    return people.cwd / out


@pytest.mark.parametrize("form", FORMS)
def test_what_is_filled_in_is_in_the_dataset(people: Metal, form: str) -> None:
    own = people.cwd / "mine"
    judged = load_dataset(own).ratings
    files = filled(form, export(people, form), people.cwd / "back", scores)
    done = people("annotate", "import", "mine", *files)
    workers = ("mturk:A1", "mturk:A2", "mturk:A3") if form == "mturk" else ()
    assert in_dataset(own) == expected(own, scores, workers)
    assert len(in_dataset(own)) == 9 * 3 * 3
    dataset = load_dataset(own)
    people_only = dataset.ratings[dataset.ratings["kind"] == "human"]
    # rows keep one kind of line break
    line_break = "\n" if form in ("csv", "xlsx", "mturk") else "\u2028"
    assert set(people_only["comment"]) == {COMMENT.replace("\u2028", line_break)}
    assert set(people_only["group"]) == {"native"}
    languages = {
        rater.about["language"] for rater in dataset.raters.values() if rater.kind == "human"
    }
    assert languages == ({"ar, en, zh"} if form == "mturk" else {"ar", "en", "zh"})
    facts = ["output", "criterion", "rater", "reason", "comment"]
    kept = dataset.ratings[dataset.ratings["kind"] == "llm"]
    assert (
        kept[facts].astype(str).to_numpy().tolist() == judged[facts].astype(str).to_numpy().tolist()
    )
    assert max(map(len, done.out.splitlines())) <= 80
    assert "of the people so far" in done.out
    table = done.out.partition("Tasks answered")[2].partition("Agreement")[0].splitlines()
    people_shown = [line.split() for line in table if line.startswith(("ar", "en", "zh", "mturk"))]
    assert len(people_shown) == (3 if form == "mturk" else 9)
    assert {tuple(line[1:]) for line in people_shown} == {
        ("9" if form == "mturk" else "3", "0", "0")
    }

    before = snapshot(own)
    again = people("annotate", "import", "mine", *files)
    assert snapshot(own) == before
    assert "81 ratings there already" in again.said


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_half_now_and_half_later(people: Metal, form: str) -> None:
    own = people.cwd / "mine"
    forms = export(people, form)
    workers = ("mturk:A1", "mturk:A2", "mturk:A3") if form == "mturk" else ()
    people("annotate", "import", "mine", *filled(form, forms, people.cwd / "back", half))
    assert in_dataset(own) == expected(own, half, workers)
    people("annotate", "import", "mine", *filled(form, forms, people.cwd / "back", scores))
    assert in_dataset(own) == expected(own, scores, workers)


def one_person(people: Metal, opinion: Opinion, form: str = "html", rater: str = "en-1") -> Path:
    """The file that one person sends back."""
    out = people.cwd / f"out-{form}"
    if not out.exists():
        export(people, form, out=out.name)
    back = people.cwd / "back" / f"{len(list(people.cwd.glob('back/*')))}"
    back.parent.mkdir(exist_ok=True)
    return next(path for path in filled(form, out, back, opinion) if rater in path.name)


def test_a_criterion_left_blank_is_kept_as_no_answer_until_there_is_one(people: Metal) -> None:
    part = one_person(people, lambda *who: scores(*who) | {"fluency": ""})
    done = people("annotate", "import", "mine", part)
    assert ["en-1", "3", "3", "0"] in [line.split() for line in done.out.splitlines()]
    table = load_dataset(people.cwd / "mine").ratings
    blank = table[(table["rater"] == "en-1") & (table["criterion"] == "fluency")]
    assert set(blank["reason"]) == {"no answer"}
    assert blank["score"].isna().all()
    people("annotate", "import", "mine", one_person(people, scores))
    assert not pd.isna([*in_dataset(people.cwd / "mine").values()]).any()


def test_another_score_needs_replace(people: Metal) -> None:
    first = one_person(people, lambda *who: scores(*who) | {"fluency": "1"})
    second = one_person(people, lambda *who: scores(*who) | {"fluency": "2"})
    people("annotate", "import", "mine", first)
    before = snapshot(people.cwd / "mine")
    message = people.refused("annotate", "import", "mine", second)
    assert message.startswith("metal: en-1.answers.json answer 1: en-1 gave task t")
    assert "1 on fluency in an earlier import, 2 here. Pass --replace" in message
    assert snapshot(people.cwd / "mine") == before
    done = people("annotate", "import", "mine", second, "--replace", "--dry-run")
    assert "3 ratings replaced" in done.said
    assert "Nothing was written." in done.out
    assert snapshot(people.cwd / "mine") == before
    people("annotate", "import", "mine", second, "--replace")
    result = in_dataset(people.cwd / "mine")
    assert {score for (_, name, _), score in result.items() if name == "fluency"} == {2.0}
    assert (
        len((people.cwd / "mine/annotation/answers.jsonl").read_text("utf-8").strip().split("\n"))
        == 6
    )


def test_an_answers_file_that_is_there_is_read_line_by_line(people: Metal) -> None:
    """Comments may hold line breaks that JSON does not escape."""
    for number in range(3):
        changed = one_person(people, lambda *who, n=number: scores(*who) | {"fluency": str(n + 1)})
        people("annotate", "import", "mine", changed, "--replace")
    lines = (
        (people.cwd / "mine/annotation/answers.jsonl").read_text("utf-8").strip("\n").split("\n")
    )
    result = [json.loads(line) for line in lines]
    assert [each["seconds"] for each in result] == [0.5, 1.5, 2.5] * 3
    assert {each["comment"] for each in result} == {COMMENT}
    assert {each["where"] for each in result} == {
        f"en-1.answers.json answer {n}" for n in (1, 2, 3)
    }
    assert result[0]["scores"]["fluency"] == "1"


def edited(path: Path, name: str, *changes: tuple[str, str]) -> Path:
    text = path.read_text("utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path.with_name(name).write_text(text, "utf-8")
    return path.with_name(name)


def test_one_bad_file_among_good_ones(people: Metal) -> None:
    good = filled("csv", export(people, "csv"), people.cwd / "back", scores)
    bad = people.cwd / "bad.csv"
    with good[-1].open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, delimiter=";"))
    rows[2][rows[0].index("task_quality")] = "7"
    with bad.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    before = snapshot(people.cwd / "mine")
    message = people.refused("annotate", "import", "mine", *good[:-1], bad)
    assert message.startswith(
        "metal: bad.csv row 3: '7' is not on the scale of task_quality (0 Bad, 1 Medium, 2 Good)"
    )
    assert snapshot(people.cwd / "mine") == before


def test_files_that_are_no_answers(people: Metal) -> None:
    answers = one_person(people, scores)
    message = people.refused("annotate", "import", "mine", people.cwd / "out-html/en-1.html")
    assert tells(message, "en-1.html:", "Download")
    word = shutil.copy(answers, people.cwd / "answers.docx")
    message = people.refused("annotate", "import", "mine", word)
    assert tells(message, "answers.docx:", ".json, .csv or .xlsx")
    assert "no such file" in people.refused("annotate", "import", "mine", "nowhere.json")
    unlike = edited(answers, "x.json", ('"version": 1', '"version": 9'))
    assert "x.json: version 9" in people.refused("annotate", "import", "mine", unlike)


def test_answers_that_are_not_this_persons(people: Metal) -> None:
    answers = one_person(people, scores)
    task = json.loads(answers.read_text("utf-8"))["answers"][1]["task"]
    for changes, words in (
        ([(task, "t0123")], "x.json answer 2: task 't0123' is not in this dataset"),
        (
            [('"en-1"', '"en1"')],
            "rater 'en1'; did you mean 'en-1'",
        ),
        ([('"en-1"', '"ar-1"')], "was not given to ar-1"),
        (
            [('"task_quality"', '"task_qualty"')],
            "criterion 'task_qualty' is not known; did you mean 'task_quality'?",
        ),
    ):
        file = edited(answers, "x.json", *changes)
        assert words in people.refused("annotate", "import", "mine", file, "--dry-run")


def test_people_need_other_names_than_judges(people: Metal) -> None:
    raters = people.cwd / "mine/raters.jsonl"
    raters.write_text(raters.read_text() + '{"rater": "openai:x", "kind": "llm", "group": "x"}\n')
    file = edited(one_person(people, scores), "x.json", ('"en-1"', '"openai:x"'))
    assert "rater 'openai:x' is of kind llm" in people.refused("annotate", "import", "mine", file)


def test_a_file_of_another_dataset(people: Metal) -> None:
    answers = one_person(people, scores)
    card = people.cwd / "other/dataset.toml"
    shutil.copytree(people.cwd / "mine", card.parent, ignore=shutil.ignore_patterns("annotation"))
    message = people.refused("annotate", "import", "other", answers)
    assert "`metal annotate export`" in message
    card.write_text(card.read_text().replace('name = "mine"', 'name = "other"'))
    people("annotate", "export", "other", "--to", "csv", "--out", "others")
    message = people.refused("annotate", "import", "other", answers)
    assert "not in this dataset" in message


def test_ratings_of_any_format_and_what_else_lies_there(people: Metal) -> None:
    own = people.cwd / "mine"
    judged = load_dataset(own).ratings
    judged.loc[:, list(FACTS)].to_csv(own / "ratings.csv", index=False)
    (own / "ratings.parquet").unlink()
    (own / "prompts/criteria").mkdir(parents=True)
    (own / "prompts/criteria/own.toml").write_text("own")
    (own / "passage_lengths.svg").write_text("<svg/>")
    people("annotate", "import", "mine", one_person(people, scores))
    assert [path.name for path in own.glob("ratings.*")] == ["ratings.parquet"]
    assert len(load_dataset(own).ratings) == len(judged) + 9
    assert (own / "prompts/criteria/own.toml").read_text() == "own"
    assert (own / "passage_lengths.svg").read_text() == "<svg/>"
    assert {path.name for path in (own / "annotation").iterdir()} == {
        "key", "tasks.jsonl", "given.jsonl", "answers.jsonl", "ambiguous.csv", "rounds.jsonl"
    }  # fmt: skip
    assert [path.name for path in people.cwd.glob(".mine*")] == [".mine.lock"]


def test_no_ratings_yet(people: Metal) -> None:
    own = people.cwd / "mine"
    (own / "ratings.parquet").unlink()
    (own / "ratings.csv").write_text("output,criterion,rater,score,reason,comment\n")
    answers = one_person(people, scores)
    done = people("annotate", "import", "mine", one_person(people, lambda *who: None))
    assert in_dataset(own) == {}
    assert "Agreement" not in done.out
    people("annotate", "import", "mine", answers)
    assert len(in_dataset(own)) == 9


def test_from_inside_the_folder_and_through_a_link(people: Metal) -> None:
    answers = one_person(people, scores)
    inside = people.at(people.cwd / "mine", people.env)
    assert "`cd .`" in inside("annotate", "import", ".", answers).said
    assert len(in_dataset(people.cwd / "mine")) == 9
    (people.cwd / "link").symlink_to("mine")
    other = one_person(people, scores, rater="ar-2")
    people("annotate", "import", "link", other)
    assert (people.cwd / "link").is_symlink()
    assert len(in_dataset(people.cwd / "mine")) == 18


def test_group(people: Metal) -> None:
    people("annotate", "import", "mine", one_person(people, scores), "--group", "expert")
    dataset = load_dataset(people.cwd / "mine")
    assert dataset.raters["en-1"].group == "expert"
    people(
        "annotate", "import", "mine", one_person(people, scores, rater="en-2"), "--group", "crowd"
    )
    dataset = load_dataset(people.cwd / "mine")
    assert [dataset.raters[name].group for name in ("en-1", "en-2")] == ["expert", "crowd"]


def test_answers_without_a_score_are_counted(people: Metal) -> None:
    nothing = one_person(people, lambda *who: None)
    remark = edited(nothing, "remark.json", ('"comment": ""', '"comment": "unreadable"'))
    done = people("annotate", "import", "mine", nothing)
    assert tells(done.said, "3 tasks", "skipped")
    done = people("annotate", "import", "mine", remark)
    assert tells(done.said, "3 tasks", "skipped", "3 with a comment", "annotation/answers.jsonl")
    assert "unreadable" in (people.cwd / "mine/annotation/answers.jsonl").read_text("utf-8")
    assert ["en-1", "0", "0", "3"] in [line.split() for line in done.out.splitlines()]


def disagreeing(rater: str, task: str) -> dict[str, str] | None:
    return (
        scores(rater, task) | {"task_quality": str(int(rater[-1]) - 1)}
        if rater.startswith("en")
        else None
    )


def test_what_nobody_agrees_on_is_listed_and_handed_to_others(people: Metal) -> None:
    files = filled("html", export(people, "html"), people.cwd / "back", disagreeing)
    tried = people("annotate", "import", "mine", *files, "--dry-run")
    assert "Rated differently" in tried.out
    assert "ambiguous.csv" not in tried.out
    done = people("annotate", "import", "mine", *files)
    assert tells(done.said, "Rated differently", "(3 times):")
    assert "xgoodx-en-0 TQ: en-1: 0 Bad; en-2: 1 Medium; en-3: 2 Good" in done.said
    path = people.cwd / "mine/annotation/ambiguous.csv"
    table = pd.read_csv(path)
    assert sorted(table["output"]) == ["xbadx-en-1", "xgoodx-en-0", "xgoodx-en-2"]
    assert set(table["criterion"]) == {"task_quality"}
    done = people(
        "annotate",
        "export",
        "mine",
        "--to",
        "csv",
        "--only",
        path,
        "--out",
        "again",
        "--raters",
        "1",
    )
    assert "en-4" in done.out
    files = filled("csv", people.cwd / "again", people.cwd / "back", scores)
    assert [file.name for file in files] == ["en-4.csv"]
    people("annotate", "import", "mine", *files)
    assert len(in_dataset(people.cwd / "mine")) == 9 * 4
    assert pd.read_csv(path).empty


def test_label_studio_with_criteria_left_out(people: Metal) -> None:
    forms = export(people, "label-studio", "-c", "hallucinations", "-l", "en")
    files = filled("label-studio", forms, people.cwd / "back", lambda *who: {"hallucinations": "1"})
    people("annotate", "import", "mine", *files)
    assert {name for _, name, _ in in_dataset(people.cwd / "mine")} == {"hallucinations"}


def test_what_people_hold_stays_chosen(people: Metal) -> None:
    """Another draw after the forms went out would leave ratings of outputs that nobody else
    rates.
    """
    dataset = people.cwd / "mine"
    people("annotate", "html", "mine")
    toml = (dataset / "dataset.toml").read_text(encoding="utf-8")
    generators = "".join(
        f'[generators."generatorx-{each}"]\nquality = "x"\n' for each in ("xgoodx", "xbadx")
    )
    (dataset / "dataset.toml").write_text(f"{toml}\n{generators}", encoding="utf-8")
    first, *others = (dataset / "sources.jsonl").read_text(encoding="utf-8").splitlines()
    with_reference = json.dumps(json.loads(first) | {"references": ["A reference."]})
    (dataset / "sources.jsonl").write_text("\n".join([with_reference, *others]), encoding="utf-8")
    before = {name for name, each in load_dataset(dataset).outputs.items() if each.chosen}
    for seed in range(4):
        people("generate", "mine", "-q", "reference", "--seed", seed, "--force")
        assert {
            name for name, each in load_dataset(dataset).outputs.items() if each.chosen
        } == before


def test_ids_of_tasks_cannot_be_found_out(people: Metal) -> None:
    people("annotate", "html", "mine", "--out", "one")
    dataset = people.cwd / "mine"
    tasks = read_tasks(dataset)
    guesses = {task_id(guess, output) for guess in ("mine", "", "0") for output in tasks.values()}
    assert not guesses & set(tasks)
    people("annotate", "export", "mine", "--to", "csv", "--seed", "5", "--out", "two")
    assert read_tasks(dataset) == tasks  # the next round has the same ids
    for file in [*(people.cwd / "one").iterdir(), *(people.cwd / "two").iterdir()]:
        assert task_key(dataset) not in file.read_text(encoding="utf-8")


def test_imports_at_once_lose_nothing_of_each_other(people: Metal) -> None:
    own = people.cwd / "mine"
    files = filled("csv", export(people, "csv"), people.cwd / "back", scores)
    started = [people.start("annotate", "import", "mine", file) for file in files]
    assert [each.wait().code for each in started] == [0] * 9
    assert in_dataset(own) == expected(own, scores)
    answers = (own / "annotation" / "answers.jsonl").read_text(encoding="utf-8")
    assert answers.count("\n") == 27
