"""Templates: what files say, and that every form follows them without telling which text of a pair
is the reference.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metal.building import forms
from metal.building.forms import guidelines
from metal.building.tasks import (
    METAL,
    TEXTS,
    Assignment,
    Task,
    TaskTemplate,
    assign,
    load_template,
    make_tasks,
    named_files,
)
from metal.data.files import bundled
from metal.data.records import Output, Source
from metal.errors import DataError, UnknownName
from tests.saying import tells

OURS = ["commonsense", "metal", "question-answering", "summarization", "translation"]
FOLDERS = [bundled("prompts")]
HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> ${first} ${output} $second_text {{7*7}}"
    " </textarea>"
)
GOLD, MADE = f"=1+1 gold {HOSTILE}", f"@made {HOSTILE}"
FORMS = list(forms.plugins(forms.GROUP))


def ours(name: str) -> TaskTemplate:
    return load_template(name, FOLDERS)


def assignments(
    template: TaskTemplate, gold: str = GOLD, made: str = MADE, key: str = "k", count: int = 2
) -> list[Assignment]:
    sources, outputs = {}, []
    for number in range(count):
        sources[f"s{number}"] = Source(
            f"s{number}", "en", f"{number} {HOSTILE}", "$title", (f"{number} {gold}", " ")
        )
        outputs.append(Output(f"o{number}", f"s{number}", "g", "en", f"{number} {made}"))
    rubrics = template.rubrics or {"overall": ours("summarization").rubrics["overall"]}
    return assign(
        make_tasks(key, outputs, sources, template), "made", rubrics, raters=1, template=template
    )


def test_there_are_five() -> None:
    assert sorted(named_files(FOLDERS, "annotate")) == OURS
    assert {name: ours(name).reference for name in OURS} == {
        "commonsense": "hidden",
        "metal": "hidden",
        "question-answering": "shown",
        "summarization": "paired",
        "translation": "shown",
    }


def test_only_what_is_compared_asks_about_the_reference() -> None:
    """Criteria are judges' too, who may be shown none."""
    for template in map(ours, OURS):
        asking = {name for name, each in template.criteria.items() if "reference" in each.question}
        assert asking <= template.compared


def test_metal_is_the_look_without_a_template() -> None:
    metal = ours("metal")
    assert len(metal.criteria) == 5
    assert replace(metal, criteria={}) == METAL
    assert not metal.rubrics


def test_summaries_are_compared_on_five_levels() -> None:
    """GENIE, Figure 4 (d): six questions, from A much better to B much better."""
    result = ours("summarization")
    names = [
        "redundancy",
        "fluency",
        "conciseness",
        "no_hallucination",
        "informativeness",
        "overall",
    ]
    assert list(result.criteria) == names
    assert result.compared == set(names)
    shown = [level.label for level in result.rubrics["fluency"].criterion.scale.levels]
    meant = [level.label for level in result.criteria["fluency"].scale.levels]
    assert (shown[0], shown[2], shown[-1]) == (
        "A is much better",
        "About the same",
        "B is much better",
    )
    assert tells(meant[0], "worse", "the reference")
    assert tells(meant[-1], "better", "the reference")
    assert result.criteria["fluency"].direction == "higher"


@pytest.mark.parametrize("name", OURS)
def test_every_criterion_says_all_that_people_need(name: str) -> None:
    template = ours(name)
    for criterion in template.criteria.values():
        assert criterion.label
        assert criterion.question.endswith("?")
        assert criterion.abbreviation
    for rubric in template.rubrics.values():
        assert rubric.simple
    assert name == "metal" or template.paragraphs


PAIRED = """
reference = "paired"
[criteria.better]
compares = true
levels = [{value = 0, label = "worse", shown = "A"}, {value = 1, label = "better", shown = "B"}]
"""


def own(folder: Path, text: str) -> TaskTemplate:
    (folder / "annotate").mkdir(exist_ok=True)
    (folder / "annotate/own.toml").write_text(text, encoding="utf-8")
    return load_template("own", [folder, *FOLDERS])


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    result = own(
        tmp_path,
        PAIRED + '[criteria.task_quality]\n[criteria.ease]\nrange = [0, 10]\nquestion = "Easy?"',
    )
    assert result.compared == {"better"}
    assert result.criteria["task_quality"] == ours("metal").criteria["task_quality"]
    assert list(result.rubrics) == ["better", "ease"]
    assert result.heading("first") == "Text A"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour = 1", "key 'colour' is not known"),
        ('reference = "seen"', "Write one of hidden, shown, paired"),
        ("instructions = 1", "instructions is not"),
        ("headings = 1", "headings is not"),
        ('[headings]\nfirst = "A"', "headings: key 'first' is not known"),
        ("criteria = [1]", "criteria is not"),
        ("[criteria.nowhere]", "there is no criteria/nowhere.toml"),
        ("[criteria.a]\ncolour = 1", "key 'colour' is not known"),
        (
            PAIRED.replace("paired", "shown"),
            "criterion better compares",
        ),
        (PAIRED.replace("compares = true", "compares = 1"), "compares is 1"),
        ('reference = "paired"\n[criteria.a]\ncompares = true', "a scale without ends"),
        ('levels = 3\n[criteria.a]\nquestion = "?"', "levels"),
        ("reference = ", "not TOML"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises((DataError, UnknownName)) as error:
        own(tmp_path, text)
    assert words in str(error.value)
    assert "own.toml" in str(error.value)


def test_an_unknown_template() -> None:
    with pytest.raises(UnknownName, match="did you mean 'summarization'"):
        ours("sumarization")
    with pytest.raises(UnknownName, match="not known"):
        ours("../criteria/task_quality")


def test_the_side_is_a_coin_of_the_key_and_the_task() -> None:
    paired = ours("summarization")
    [many] = assignments(paired, count=400)
    first = {task.task: task.output_first for task in many.tasks}
    # six standard deviations around 200 are 140 to 260
    assert 150 < Counter(first.values())[True] < 250
    [again] = assignments(paired, count=400)
    assert {task.task: task.output_first for task in again.tasks} == first
    [other] = assignments(paired, count=400, key="another")
    by_output = [{task.output: task.output_first for task in each.tasks} for each in (many, other)]
    differing = sum(by_output[0][output] != by_output[1][output] for output in by_output[0])
    assert 140 < differing < 260


def test_a_pair_is_another_task_than_its_output_alone() -> None:
    [paired], [alone] = assignments(ours("summarization")), assignments(METAL)
    assert not {task.task for task in paired.tasks} & {task.task for task in alone.tasks}
    assert {task.output for task in paired.tasks} == {task.output for task in alone.tasks}
    [shown] = assignments(ours("translation"))
    assert {task.task for task in shown.tasks} == {task.task for task in alone.tasks}


def test_texts_by_what_they_are_called() -> None:
    task = Task("t", "o", "en", "", "source", "made", ("gold", "other"))
    assert task.texts(METAL) == {"output": "made"}
    assert task.texts(ours("translation")) == {"reference": "• gold\n• other", "output": "made"}
    assert task.texts(ours("summarization")) == {"first": "gold", "second": "made"}
    assert replace(task, output_first=True).texts(ours("summarization")) == {
        "first": "made",
        "second": "gold",
    }


def whole(files: dict[str, bytes]) -> str:
    """All that is handed out as one text, workbooks unpacked."""
    result = []
    for name, content in files.items():
        if name.endswith(".xlsx"):
            with zipfile.ZipFile(io.BytesIO(content)) as book:
                result += [book.read(part) for part in book.namelist()]
        else:
            result.append(content)
    return b"\n".join(result).decode()


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_shows_what_the_template_says(form: str, name: str) -> None:
    template = ours(name)
    files = dict(forms.write(form, assignments(template)))
    text = html.unescape(whole(files))
    for field in ("source", *template.texts) if form in ("html", "mturk", "label-studio") else ():
        assert template.heading(field) in text
    for rubric in template.rubrics.values():
        assert rubric.criterion.question in text
    gold, made = ("gold" in text.replace("reference", ""), "made" in text)
    assert made
    assert gold == (template.reference != "hidden")
    for paragraph in template.paragraphs if form != "html" else ():
        assert paragraph in text


# tasks of a study go to the server, whose pages are those of the html form
@pytest.mark.parametrize("form", [form for form in FORMS if form != "study"])
def test_no_form_tells_which_text_of_a_pair_is_the_reference(form: str) -> None:
    """Exchanging the two texts gives what the other order gives, byte for byte: nothing else
    depends on the side.
    """
    template = ours("summarization")
    [each] = assignments(template, "gold", "made")
    exchanged = tuple(
        replace(
            task,
            text=task.references[0],
            references=(task.text,),
            output_first=not task.output_first,
        )
        for task in each.tasks
    )
    assert dict(forms.write(form, [each])) == dict(
        forms.write(form, [replace(each, tasks=exchanged)])
    )
    text = whole(dict(forms.write(form, [each]))).casefold()
    for word in ("reference", "output_first", "gold standard", "than the reference"):
        assert word not in text.replace("reference, which", ""), word


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize(("form", "file"), [("csv", "en-1.csv"), ("crowd-csv", "tasks-en.csv")])
def test_cells_are_guarded(form: str, file: str) -> None:
    template = ours("summarization")
    [each] = assign(
        make_tasks(
            "k",
            [Output("o", "s", "g", "en", "=1+1")],
            {"s": Source("s", "en", "+x", "", ("@y",))},
            template,
        ),
        "made",
        template.rubrics,
        raters=1,
        template=template,
    )
    [row] = rows(dict(forms.write(form, [each]))[file])
    assert {row["first"], row["second"]} == {"'=1+1", "'@y"}
    assert row["source"] == "'+x"


def test_markup_stays_text() -> None:
    result = assignments(ours("summarization"))
    page = dict(forms.write("html", result))["en-1.html"].decode()
    assert "<script>alert" not in page
    [data] = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
    )
    shown: Any = json.loads(data)["tasks"][0]
    assert {key for key in shown if key in TEXTS} == {"first", "second"}
    assert HOSTILE in shown["first"]
    files = dict(forms.write("mturk", result))
    for row in rows(files["tasks-en.csv"]):
        assert not [
            cell for cell in row.values() if "<img" in cell or "<script" in cell or "${" in cell
        ]
    assert re.findall(r"\$\{(\w+)\}", files["layout-en.html"].decode()) == [
        "title",
        "source",
        "direction",
        "first",
        "direction",
        "second",
    ]
    interface = dict(forms.write("label-studio", result))["interface-en.xml"].decode()
    assert re.findall(r'"\$(\w+)"', interface) == [
        "title",
        "source_text",
        "first_text",
        "second_text",
    ]


def test_guidelines_begin_with_the_instructions() -> None:
    template = ours("summarization")
    words = guidelines.advice_for(template)
    assert words[1:3] == tuple(template.paragraphs)
    assert guidelines.READ_FIRST not in words
    assert guidelines.advice_for(METAL)[1] == guidelines.READ_FIRST
