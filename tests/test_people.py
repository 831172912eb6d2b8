"""Which people are the reference."""

from __future__ import annotations

import pytest

from metal.data.dataset import Card, Dataset, assemble, people_named
from metal.data.ratings import facts_from
from metal.data.records import Criterion, Output, Rater, Rating, Scale, Source
from metal.errors import UnknownName, UsageError


def of(*raters: Rater) -> Dataset:
    return assemble(
        Card("made"),
        [Criterion("q", Scale("interval"))],
        [Source("s", "en")],
        [Output("o", "s", "g", "en")],
        raters,
        facts_from(Rating("o", "q", rater.rater, 1) for rater in raters),
    )


PEOPLE = of(
    Rater("E2", "human", "expert"),
    Rater("E1", "human", "expert"),
    Rater("W1", "human", "crowd"),
    Rater("X", "human"),
    Rater("a=b", "human", "x=y"),
    Rater("judge", "llm", "expert"),
)


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ("", ("E1", "E2", "W1", "X", "a=b")),
        ("expert", ("E1", "E2")),
        ("group=expert", ("E1", "E2")),
        ("crowd", ("W1",)),
        ("group=x=y", ("a=b",)),
        ("rater=W1", ("W1",)),
        ("rater=X, E1 ,X,", ("E1", "X")),
        ("rater=a=b", ("a=b",)),
    ],
)
def test_people_by_group_and_by_name(reference: str, named: tuple[str, ...]) -> None:
    assert people_named(PEOPLE, reference) == named


@pytest.mark.parametrize(
    ("reference", "error", "message"),
    [
        ("experts", UnknownName, "group of people 'experts' is not known; did you mean 'expert'?"),
        ("group=judge", UnknownName, "group of people 'judge' is not known"),
        ("rater=judge", UnknownName, "person 'judge' is not known; known: E1, E2, W1, X, a=b"),
        ("rater=E1,E9", UnknownName, "person 'E9' is not known; did you mean"),
        ("rater=expert", UnknownName, "person 'expert' is not known"),
        ("rater=", UsageError, "`reference` rater=: nobody is named; write rater=NAME, or leave it out for all people"),
        ("rater= , ", UsageError, "nobody is named"),
        ("group=", UsageError, "`reference` group=: nobody is named; write group=NAME"),
        ("kind=human", UsageError, "`reference` kind=human: write group=NAME or rater=NAME,NAME"),
    ],
)
def test_people_who_do_not_exist(reference: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        people_named(PEOPLE, reference)
    assert message in str(raised.value)


def test_no_people_at_all() -> None:
    alone = of(Rater("judge", "llm"))
    with pytest.raises(UsageError, match="dataset made has no human raters"):
        people_named(alone, "")
    with pytest.raises(UnknownName, match="group of people 'expert' is not known; there are none"):
        people_named(alone, "expert")
    with pytest.raises(UnknownName, match="person 'A' is not known; there are none"):
        people_named(alone, "rater=A")
