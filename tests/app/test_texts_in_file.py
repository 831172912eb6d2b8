"""What the app keeps of large datasets is small: texts stay in files, and heavy work has a process
of its own.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from metal.api.answer_table import ANY, Choice
from metal.api.answers import of_dataset
from metal.api.output_texts import FEW, OutputTexts
from metal.app.library import Library
from metal.app.processes import ProcessFailed, called
from metal.app.server import View
from metal.data.dataset import load_dataset
from metal.data.present import PRESENT
from metal.data.records import Output
from metal.data.stored_texts import IN_FILE, StoredOutput, StoredSource
from metal.data.text_file import PART, TextFile
from metal.errors import UsageError
from tests.app.test_guard import asked
from tests.app.test_managing import own as own
from tests.app.test_managing import posted
from tests.saying import tells

TEXTS = (
    "",
    "Straße, ÉTÉ",
    "e\u0301te\u0301",
    "हिन्दी में",
    "نص عربي",
    "ΟΔΟΣ οδος",
    "İstanbul",
    "字" * 9,
)


@pytest.fixture
def in_file() -> Iterator[None]:
    before = IN_FILE.set(True)
    yield
    IN_FILE.reset(before)


def test_texts_are_read_by_their_numbers_also_while_more_are_added() -> None:
    file = TextFile()
    for number, text in enumerate(TEXTS):
        assert file.add(text) == number
        assert file[number // 2] == TEXTS[number // 2]
    assert [file[number] for number in range(len(file))] == [*TEXTS]
    assert [text for part in file.parts() for text in part] == [*TEXTS]


def test_a_word_is_found_within_a_text_and_not_across_two() -> None:
    file = TextFile()
    for text in ("ab", "", "ca", "b", "abab", "b" * PART, "xab"):
        file.add(text)
    assert list(file.having("ab")) == [0, 4, 6]
    assert list(file.having("b")) == [0, 3, 4, 5, 6]
    assert list(file.having("bb")) == [5]
    assert list(file.having("zz")) == []


@pytest.mark.parametrize("times", [1, FEW * 2])  # as many texts are scanned, few are looked up
@pytest.mark.parametrize(
    ("searched", "outputs"),
    [
        ("straße", [1]),
        ("STRASSE", []),
        ("été", [1]),
        ("E\u0301", [2]),
        ("हिन्दी", [3]),
        ("न", [3]),
        ("عربي نص", [4]),
        ("σ", [5]),
        ("ς", [5]),
        ("istanbul", [6]),
        ("字字", [7]),
        ("o7", [7]),
    ],
)
def test_words_of_every_script_are_found(times: int, searched: str, outputs: list[int]) -> None:
    others = [f"other {number}" for number in range(100 * (times - 1))]
    texts = enumerate(("title", "source", text) for text in (*TEXTS, *others))
    every = OutputTexts([f"o{number}" for number in range(len(TEXTS) + len(others))], texts)
    having = every.having(["TITLE", *searched.split()])
    assert having[: len(TEXTS)].nonzero()[0].tolist() == outputs


def test_a_dataset_with_texts_in_a_file_is_the_same(shelf: Path, in_file: None) -> None:
    folder = shelf / "datasets" / "demo"
    stored = load_dataset(folder)
    IN_FILE.set(False)
    plain = load_dataset(folder)
    assert stored.outputs == plain.outputs
    assert plain.sources == stored.sources
    assert stored.digest == plain.digest
    output, source = next(iter(stored.outputs.values())), next(iter(stored.sources.values()))
    assert (type(output), type(source)) == (StoredOutput, StoredSource)
    assert output.text not in map(str, vars(output).values())
    assert hash(output) == hash(plain.outputs[output.output])
    assert type(pickle.loads(pickle.dumps(output))) is Output
    assert copy.copy(source) == source == plain.sources[source.source]
    assert replace(output, text="new").text == "new"
    for kind in (ANY, ""):
        rows = [of_dataset(each).chosen(Choice(kind=kind, q="the")) for each in (stored, plain)]
        assert rows[0].equals(rows[1])


def test_pairs_are_shown_in_both_orders(tmp_path: Path, in_file: None) -> None:
    pair = Output("o", "s", "a+b", "en", first="a", second="b", texts=("one", "two"))
    lines = {"sources": {"source": "s", "language": "en"}, "outputs": {}}
    lines["outputs"] = {
        "output": "o",
        "source": "s",
        "generator": "a+b",
        "language": "en",
        "first": "a",
        "second": "b",
        "texts": ["one", "two"],
    }
    for name, record in lines.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "raters.jsonl").write_text('{"rater": "r", "kind": "human", "group": "g"}\n')
    (tmp_path / "ratings.csv").write_text("output,criterion,rater,score\no,q,r,1\n")
    (tmp_path / "dataset.toml").write_text('name = "x"\n[criteria.q]\nmeasure = "interval"\n')
    stored = load_dataset(tmp_path).outputs["o"]
    assert (stored.text, stored.texts) == (pair.text, ("one", "two"))
    assert stored.swapped.shown == ("two", "one")


def fails(kind: str) -> str:
    if kind == "usage":
        raise UsageError("not so")
    if kind == "defect":
        raise ValueError("strange")
    os._exit(3)


def present() -> tuple[Path, bool, int]:
    print("a word on the standard output")
    return PRESENT.get(), IN_FILE.get(), os.getpid()


def test_a_process_answers_as_the_function_does(tmp_path: Path) -> None:
    before = PRESENT.set(tmp_path)
    folder, stored, process = called(present, aside=True)
    PRESENT.reset(before)
    assert (folder, stored) == (tmp_path, True)
    assert process != os.getpid()
    with pytest.raises(UsageError, match="not so"):
        called(fails, "usage", aside=True)
    with pytest.raises(ProcessFailed) as failed:
        called(fails, "defect", aside=True)
    assert tells(str(failed.value), "ended early", "ValueError: strange", "memory")
    with pytest.raises(ProcessFailed) as failed:
        called(fails, "end", aside=True)
    assert tells(str(failed.value), "exit code 3")


def test_large_runs_are_compared_and_asked_about_in_processes(
    own: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = asked(own, "compare?run=runs/audit&run=runs/judged")[1]
    library = Library(own.folder)
    assert not library.is_large(own.folder / "runs" / "audit")
    monkeypatch.setattr("metal.app.library.LARGE_BYTES", 10)
    assert library.is_large(own.folder / "runs" / "audit")
    (own.folder / "runs" / "judged" / "other").write_text("it is compared again")
    assert asked(own, "compare?run=runs/audit&run=runs/judged")[1] == small
    wish = {"judge": "fake:blind", "prompt": "simple", "sample": "4"}
    text = posted(own, "judge/datasets/demo", **wish)[1]
    assert tells(text, "4 outputs", "metal judge", "fake:blind")
    monkeypatch.undo()
    assert posted(own, "judge/datasets/demo", **wish)[1] == text
