"""The question of a HIT, and what workers send."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest

from metal.building.crowdsourcing.mturk_documents import fields_of, html_question, read_answers
from metal.building.forms.mturk import HIT_LIMIT
from metal.errors import DataError
from tests.mturk_server import answers_xml

LAYOUT = '<crowd-form><p>${text}</p><input type="radio" name="task_quality" value="1"></crowd-form>'


def page_of(question: str) -> str:
    """The page in an HTMLQuestion, as an XML parser gives it."""
    content = fromstring(question)[0]
    assert content.tag.endswith("HTMLContent")
    return content.text or ""


def test_a_cell_is_put_in_once_and_stays_what_it_was():
    page = page_of(html_question(LAYOUT, {"text": "a ]]> b ${text} &lt;c&gt;"}, "here"))
    assert "<p>a ]]> b ${text} &lt;c&gt;</p>" in page
    assert page.startswith("<!DOCTYPE html>")


def test_a_layout_with_its_own_form_posts_by_itself():
    assert "externalSubmit" not in html_question(LAYOUT, {"text": "a"}, "here")


def test_a_layout_without_a_form_is_posted_to_mturk():
    page = page_of(html_question('<p>${text}</p><input name="x">', {"text": "{braces}"}, "here"))
    assert '<form name="mturk_form" id="mturk_form" method="post"' in page
    assert 'action="https://www.mturk.com/mturk/externalSubmit"' in page
    assert 'name="assignmentId"' in page
    assert "<p>{braces}</p>" in page
    assert "/^https:\\/\\/[a-z.]+\\.mturk\\.com(\\/|$)/.test(to)" in page


def test_a_variable_without_a_column():
    with pytest.raises(DataError, match=r"row 7: the layout has \$\{text\}"):
        html_question(LAYOUT, {"other": ""}, "row 7")


def test_the_limit_counts_bytes_of_the_whole_document():
    size = len(html_question(LAYOUT, {"text": ""}, "here").encode())
    html_question(LAYOUT, {"text": "x" * (HIT_LIMIT - size)}, "here")
    with pytest.raises(DataError, match="65,536 bytes; a HIT takes 65,535"):
        html_question(LAYOUT, {"text": "x" * (HIT_LIMIT - size + 1)}, "here")
    with pytest.raises(DataError, match="a HIT takes"):
        html_question(LAYOUT, {"text": "ب" * (HIT_LIMIT // 2)}, "here")


def test_fields_are_those_of_inputs():
    page = '<meta name="viewport"><input type=radio name="a b"><input name=\'c\'><textarea rows=2 name="d">'
    assert fields_of(page + '<crowd-slider name="e"><input name="c">') == ["a b", "c", "d", "e"]


def test_answers_by_field():
    words = {"task_quality": "2", "comment": "\u202eشكرا </b> ]]> &amp; \U0001f327 a\nb"}
    assert read_answers(answers_xml(words), "here") == words


def test_a_field_that_comes_twice_holds_both():
    each = "<Answer><QuestionIdentifier>a</QuestionIdentifier><SelectionIdentifier>{}</SelectionIdentifier></Answer>"
    assert read_answers(f"<A>{each.format(1)}{each.format(2)}</A>", "here") == {"a": "1, 2"}


BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><QuestionFormAnswers>&c;</QuestionFormAnswers>'


@pytest.mark.parametrize(("document", "words"), [(BOMB, "declares XML entities"), ("<a>", "not XML"), ("", "not XML")])
def test_what_is_not_read(document, words):
    with pytest.raises(DataError, match=words):
        read_answers(document, "assignment 7")
