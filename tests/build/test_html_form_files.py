"""The form's files: their names, what is in them, and what is read when they come back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from metal.building.forms.html_form import read, write
from metal.building.tasks import Answer
from metal.errors import DataError
from tests.build.assignments import CRITERIA, assignment


def test_nothing_tells_who_wrote_what() -> None:
    [(_, content)] = write([assignment()])
    assert b"secret" not in content
    assert content.count(assignment().tasks[0].task.encode()) == 1


def test_the_script_holds_nothing_that_old_browsers_stumble_over() -> None:
    [(_, content)] = write([assignment()])
    script = content.decode().rpartition("<script>")[2]
    assert '"use strict"' in script
    assert re.findall(r"\?\.[\w(\[]|\?\?|[|&]{2}=|replaceChildren|replaceAll|\.at\(|hasOwn|/[uv]\b", script) == []


def test_names_of_files_are_safe_and_their_own() -> None:
    raters = ["hi-1", "HI-1", "../etc/passwd", "عائشة", "con", "...", "a b/c", "x" * 300]
    names = [name for name, _ in write(assignment(count=1, rater=rater) for rater in raters)]
    assert names[:7] == [
        "hi-1.html", "HI-1-2.html", "etc-passwd.html", "عائشة.html", "rater-con.html", "rater.html", "a-b-c.html"
    ]  # fmt: skip
    assert len(names[7]) == 65


def answers_file(**changed: Any) -> bytes:
    entry = {"task": "t1", "scores": {"task_quality": "2"}, "comment": "", "seconds": 5} | changed
    return json.dumps({"metal": "answers", "version": 1, "dataset": "d", "rater": "hi-1", "answers": [entry]}).encode()


WRONG = [
    (b'{"metal":\n nonsense}', "f.json line 2: not JSON"),
    (b"\n\xff", "f.json line 2: not UTF-8"),
    (b"[" * 100_000, "f.json: not JSON that can be read"),
    (b"[]", "f.json: not an answers file"),
    (b'{"metal": "dataset"}', "f.json: not an answers file"),
    (answers_file().replace(b'"version": 1', b'"version": 2'), "f.json: version 2"),
    (answers_file().replace(b'"version": 1', b'"version": true'), "f.json: version True"),
    (answers_file().replace(b'"hi-1"', b"7"), 'f.json: "rater" is not a name'),
    (answers_file().replace(b"[{", b'{"a": {').replace(b"}]", b"}}"), 'f.json: "answers" is not a list'),
    (answers_file(task=3), 'f.json answer 1: "task"'),
    (answers_file(scores=[]), 'f.json answer 1: "scores"'),
    (answers_file(scores={"task_quality": 2}), 'f.json answer 1: "scores"'),
    (answers_file(comment=None), 'f.json answer 1: "comment"'),
    (answers_file(seconds="5"), 'f.json answer 1: "seconds"'),
    (answers_file(seconds=float("nan")), 'f.json answer 1: "seconds"'),
    (answers_file(seconds=True), 'f.json answer 1: "seconds"'),
]


@pytest.mark.parametrize(("content", "words"), WRONG, ids=[words for _, words in WRONG])
def test_another_kind_of_file_is_refused_with_its_place(content: bytes, words: str) -> None:
    with pytest.raises(DataError) as refused:
        read("f.json", content, CRITERIA)
    assert str(refused.value).startswith(words)


def test_what_may_be_missing() -> None:
    [answer] = read("f.json", b"\xef\xbb\xbf" + answers_file(seconds=None, comment="\ud800"), CRITERIA)
    assert answer == Answer("t1", "hi-1", {"task_quality": "2"}, "\N{REPLACEMENT CHARACTER}", "f.json answer 1", None)
