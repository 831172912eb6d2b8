"""Who is given which task: everybody has work while there is some, and each output gets its people.
Both kinds of database.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from metal.genie import gold_questions
from metal.serving import tables
from metal.serving.handing import (
    GivenAnswer,
    NotYours,
    counts_of,
    hand_out,
    save,
    skip,
    tasks_of,
)
from metal.serving.leaving import readmit, set_aside
from metal.serving.ledger import ServingLedger
from metal.serving.people import RaterInStudy, new_person
from metal.serving.studies import (
    CLOSED,
    OPEN,
    PAUSED,
    SIDES,
    Forms,
    Study,
    ask_more,
    set_state,
    study_of,
)
from tests.serving.conftest import OpenLedger
from tests.serving.simulated import (
    CRITERION,
    answer,
    at_once,
    counted,
    held,
    lapse,
    made_study,
    people,
    rate_all,
)


def answers_in(ledger: ServingLedger) -> list[dict]:
    wanted = select(tables.answers)
    return list(ledger.reads(lambda connection: connection.execute(wanted).mappings().all()))


# ---------------------------------------------------------------- many people at once


@pytest.mark.parametrize("raters", [1, 3])
def test_many_people_at_once_finish_every_output(open_ledger: OpenLedger, raters: int) -> None:
    ledgers = [open_ledger() for _ in range(2)]  # two servers
    study = made_study(ledgers[0], 40, ("hi", "ta"), raters=raters, batch=4)
    crowd = people(ledgers[0], study, 8, ("hi", "ta"))
    done: dict[str, list[str]] = {}

    def work(number: int) -> None:
        rater = crowd[number]
        done[rater.name] = rate_all(ledgers[number % 2], study, rater, random.Random(number))

    at_once([lambda number=number: work(number) for number in range(len(crowd))])
    for tasks in done.values():
        assert len(set(tasks)) == len(tasks)  # nobody twice on an output
    times = Counter(task for tasks in done.values() for task in tasks)
    assert set(times.values()) == {raters}
    for row in counted(ledgers[0], study).values():
        assert row == {"wanted": raters, "free": 0, "answered": raters, "people": raters}


def test_two_tabs_of_a_person_show_the_same_tasks(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger() for _ in range(4)]
    study = made_study(ledgers[0], 30, batch=5)
    (rater,) = people(ledgers[0], study, 1)
    numbers: list[int] = []
    at_once(
        [lambda each=each: numbers.append(hand_out(each, study, rater, "hi")) for each in ledgers]
    )
    assert numbers == [5] * 4
    assert len(tasks_of(ledgers[0], rater, "hi")) == 5


def test_one_answer_from_many_tabs_counts_once(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger() for _ in range(4)]
    study = made_study(ledgers[0], 1, raters=2)
    (rater,) = people(ledgers[0], study, 1)
    (task,) = held(ledgers[0], study, rater, "hi")
    at_once([lambda each=each: answer(each, study, rater, task.task) for each in ledgers])
    assert len(answers_in(ledgers[0])) == 1
    assert counted(ledgers[0], study)[task.task] == {
        "wanted": 2, "free": 1, "answered": 1, "people": 1,
    }  # fmt: skip


def test_the_budget_is_not_exceeded_by_people_who_come_at_once(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger() for _ in range(3)]
    study = made_study(ledgers[0], 100, raters=3, batch=7, pay=0.1, budget=2.5)
    crowd = people(ledgers[0], study, 9)
    at_once([
        lambda n=n: hand_out(ledgers[n % 3], study, crowd[n], "hi") for n in range(len(crowd))
    ])  # fmt: skip
    assert sum(counts_of(ledgers[0], rater).get("held", 0) for rater in crowd) == 25


# ---------------------------------------------------------------- any order of events

ACTIONS = ("take", "answer", "answer", "answer", "clear", "skip", "lapse", "late")


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def lasting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A ledger for all examples of a test."""
    address = ""
    if request.param == "postgresql":
        cluster = request.getfixturevalue("postgres")
        address = cluster.address(cluster.new())
    ledger = ServingLedger(tmp_path_factory.mktemp("lasting"), address)
    yield ledger
    ledger.close()


@pytest.mark.slow
@settings(max_examples=10)
@given(
    events=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(ACTIONS)), min_size=15, max_size=40
    ),
    raters=st.integers(1, 3),
    items=st.integers(1, 7),
    seed=st.integers(0, 10**6),
)
def test_whatever_happens_the_counts_are_right_and_the_study_can_be_finished(
    lasting: ServingLedger, events: list[tuple[int, str]], raters: int, items: int, seed: int
) -> None:
    ledger, rng = lasting, random.Random(seed)
    study = made_study(ledger, items, raters=raters, batch=3, name=f"s{next(NUMBERS)}")
    crowd = people(ledger, study, 4)
    in_use = (tables.handed.c.study == study.id) & tables.handed.c.state.in_(("held", "answered"))
    for who, what in events:
        do_one(ledger, study, crowd[who], crowd[who - 1], what, rng)
        for row in counted(ledger, study).values():
            assert row["answered"] == row["people"]
        out = sum(row["wanted"] - row["free"] for row in counted(ledger, study).values())
        used = select(func.count()).where(in_use)
        assert ledger.reads(lambda c, used=used: c.scalar(used)) == out  # what a budget counts
    for rater in people(ledger, study, 3):  # with people enough, each output gets its raters
        rate_all(ledger, study, rater, rng)
    for rater in crowd:
        lapse(ledger, rater)
    for rater in people(ledger, study, 3):
        rate_all(ledger, study, rater, rng)
    for row in counted(ledger, study).values():
        assert row["answered"] == row["people"] >= raters
        assert row["free"] == row["wanted"] - row["answered"] <= 0


def do_one(
    ledger: ServingLedger,
    study: Study,
    rater: RaterInStudy,
    other: RaterInStudy,
    what: str,
    rng: random.Random,
) -> None:
    """Let something happen to a person, where it can."""
    if what != "lapse":
        hand_out(ledger, study, rater, "hi")
    mine = tasks_of(ledger, rater, "hi")
    waiting = [task.task for task in mine if task.state == "held"]
    finished = [task.task for task in mine if task.state == "answered"]
    if what in ("lapse", "late"):
        lapse(ledger, rater)
        hand_out(ledger, study, other, "hi")
    if what in ("answer", "late") and waiting:
        answer(ledger, study, rater, rng.choice(waiting), rng.choice("012"))
    elif what == "clear" and finished:
        answer(ledger, study, rater, rng.choice(finished), "")
    elif what == "skip" and waiting:
        skip(ledger, rater, rng.choice(waiting), "other")


NUMBERS = iter(range(10**6))


# ---------------------------------------------------------------- tasks that lapse


def test_who_holds_tasks_keeps_them_and_gets_no_others(ledger: ServingLedger) -> None:
    study = made_study(ledger, 20, batch=5)
    (rater,) = people(ledger, study, 1)
    first = [task.task for task in held(ledger, study, rater, "hi")]
    assert [task.task for task in held(ledger, study, rater, "hi")] == first


def test_tasks_that_lapse_go_to_others_and_late_answers_count(ledger: ServingLedger) -> None:
    study = made_study(ledger, 4, raters=1, batch=4)
    slow, quick = people(ledger, study, 2)
    late = held(ledger, study, slow, "hi")
    assert held(ledger, study, quick, "hi") == []
    lapse(ledger, slow)
    assert len(held(ledger, study, quick, "hi")) == 4
    answer(ledger, study, slow, late[0].task)
    answer(ledger, study, quick, late[0].task)
    row = counted(ledger, study)[late[0].task]
    assert (row["answered"], row["people"]) == (2, 2)


def test_who_let_tasks_lapse_gets_them_again_if_nobody_else_took_them(
    ledger: ServingLedger,
) -> None:
    study = made_study(ledger, 4, raters=2, batch=4)
    slow, quick = people(ledger, study, 2)
    first = held(ledger, study, slow, "hi")
    answer(ledger, study, slow, first[0].task)
    lapse(ledger, slow)
    rate_all(ledger, study, quick, random.Random(1))  # looks for lapsed tasks, and frees them
    again = held(ledger, study, slow, "hi")
    assert sorted(task.task for task in again) == sorted(task.task for task in first[1:])
    rate_all(ledger, study, slow, random.Random(1))
    assert {row["answered"] for row in counted(ledger, study).values()} == {2}


def test_a_budget_that_absent_people_hold_comes_free_again(ledger: ServingLedger) -> None:
    study = made_study(ledger, 10, raters=1, batch=5, pay=1, budget=5)
    absent, here = people(ledger, study, 2)
    assert len(held(ledger, study, absent, "hi")) == 5
    assert held(ledger, study, here, "hi") == []
    lapse(ledger, absent)
    assert len(held(ledger, study, here, "hi")) == 5


def test_tasks_left_to_others_go_to_them_and_do_not_come_back(ledger: ServingLedger) -> None:
    study = made_study(ledger, 1, raters=1)
    first, second = people(ledger, study, 2)
    (task,) = held(ledger, study, first, "hi")
    skip(ledger, first, task.task, "other")
    skip(ledger, first, task.task, "other")  # a second click
    assert counted(ledger, study)[task.task]["free"] == 1
    assert held(ledger, study, first, "hi") == []
    assert [each.task for each in held(ledger, study, second, "hi")] == [task.task]
    with pytest.raises(NotYours, match="not one of the reasons"):
        skip(ledger, second, task.task, "<script>")


# ---------------------------------------------------------------- rules


def test_nobody_gets_more_than_the_cap(ledger: ServingLedger) -> None:
    study = made_study(ledger, 30, raters=2, batch=4, most=10)
    one, two = people(ledger, study, 2)
    assert len(rate_all(ledger, study, one, random.Random(0))) == 10
    assert len(rate_all(ledger, study, two, random.Random(0))) == 10


@pytest.mark.parametrize(("share", "wanted"), [(0.1, 4), (0.25, 10)])
def test_test_questions_come_in_their_share(
    ledger: ServingLedger, share: float, wanted: int
) -> None:
    study = made_study(ledger, 40, raters=2, batch=7, questions=20, tests=share)
    for rater in people(ledger, study, 2):
        done = rate_all(ledger, study, rater, random.Random(0))
        assert len([task for task in done if task.startswith("q")]) == wanted
        assert len(done) == 40 + wanted
    assert {row["answered"] for row in counted(ledger, study).values()} == {2}


def test_one_more_person_is_asked_where_people_split(ledger: ServingLedger) -> None:
    study = made_study(ledger, 2, raters=2, one_more=True)
    first, second, third, fourth = people(ledger, study, 4)
    for rater, split in ((first, "0"), (second, "2")):
        for task in held(ledger, study, rater, "hi"):
            answer(ledger, study, rater, task.task, split if task.task == "thi0" else "1")
    assert [task.task for task in held(ledger, study, third, "hi")] == ["thi0"]
    answer(ledger, study, third, "thi0", "1")  # three different answers: nobody else is asked
    assert held(ledger, study, fourth, "hi") == []
    assert counted(ledger, study)["thi0"]["wanted"] == 3


def test_answers_of_who_left_do_not_split(ledger: ServingLedger) -> None:
    study = made_study(ledger, 1, raters=2, one_more=True)
    first, second, third, fourth = people(ledger, study, 4)
    (task,) = held(ledger, study, first, "hi")
    save_partial(ledger, study, first, task.task)
    skip(ledger, first, task.task, "other")
    for rater in (second, third):
        held(ledger, study, rater, "hi")
        answer(ledger, study, rater, task.task, "1")
    assert held(ledger, study, fourth, "hi") == []


def save_partial(ledger: ServingLedger, study, rater, task: str) -> None:
    save(ledger, Forms(ledger), study, rater, [GivenAnswer(task, {CRITERION: ""}, "not sure")])


def test_people_get_only_languages_that_they_read(ledger: ServingLedger) -> None:
    study = made_study(ledger, 5, ("hi", "ta"), raters=1)
    (hindi,) = people(ledger, study, 1, ["hi"])
    done = rate_all(ledger, study, hindi, random.Random(0))
    assert {task[1:3] for task in done} == {"hi"}
    with pytest.raises(Exception, match="choose one or more"):
        new_person(ledger, study, ["xx"])


def test_a_cleared_answer_is_to_be_given_again(ledger: ServingLedger) -> None:
    study = made_study(ledger, 1, raters=1)
    one, two = people(ledger, study, 2)
    (task,) = held(ledger, study, one, "hi")
    answer(ledger, study, one, task.task, "1")
    answer(ledger, study, one, task.task, "")
    assert counted(ledger, study)[task.task] == {
        "wanted": 1, "free": 0, "answered": 0, "people": 0,
    }  # fmt: skip
    assert held(ledger, study, two, "hi") == []  # it is still with the first
    assert [each.task for each in held(ledger, study, one, "hi")] == [task.task]


def test_paused_and_closed_studies_hand_out_nothing(ledger: ServingLedger) -> None:
    study = made_study(ledger, 5, batch=2)
    holder, late = people(ledger, study, 2)
    mine = held(ledger, study, holder, "hi")
    for state in (PAUSED, CLOSED):
        set_state(ledger, study.id, state)
        study = study_of(ledger, study.id)
        assert held(ledger, study, late, "hi") == []
        assert held(ledger, study, holder, "hi") == mine
    set_state(ledger, study.id, OPEN)
    assert held(ledger, study_of(ledger, study.id), late, "hi")


def test_more_people_can_be_asked_for_a_language(ledger: ServingLedger) -> None:
    study = made_study(ledger, 3, ("hi", "ta"), raters=1)
    first, second = people(ledger, study, 2, ["hi", "ta"])
    assert len(rate_all(ledger, study, first, random.Random(0))) == 6
    assert rate_all(ledger, study, second, random.Random(0)) == []
    ask_more(ledger, study.id, 1, "ta")
    assert sorted(rate_all(ledger, study, second, random.Random(0))) == ["tta0", "tta1", "tta2"]


def test_more_people_are_asked_once_though_the_connection_breaks_after_it_was_written(
    ledger: ServingLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = made_study(ledger, 2, raters=1)
    once = ledger._within
    broken = []

    def breaking(work: Any, *, writes: bool) -> Any:
        done = once(work, writes=writes)
        if writes and not broken:
            broken.append(1)
            raise OperationalError("COMMIT", {}, ConnectionError(), connection_invalidated=True)
        return done

    monkeypatch.setattr(ledger, "_within", breaking)
    ask_more(ledger, study.id, 1)
    assert broken == [1]
    assert {row["wanted"] for row in counted(ledger, study).values()} == {2}
    ask_more(ledger, study.id, 1)  # another request
    assert {(row["wanted"], row["free"]) for row in counted(ledger, study).values()} == {(3, 3)}
    assert study_of(ledger, study.id).settings == replace(study.settings, topped={"": 2})


def test_who_is_excluded_meanwhile_gets_and_gives_nothing(ledger: ServingLedger) -> None:
    study = made_study(ledger, 5, batch=2)
    (rater,) = people(ledger, study, 1)
    (task, _) = held(ledger, study, rater, "hi")
    set_aside(ledger, study, rater)  # `rater` says what was true before
    assert hand_out(ledger, study, rater, "hi") == 0
    with pytest.raises(NotYours, match="no longer"):
        answer(ledger, study, rater, task.task)
    assert answers_in(ledger) == []


def test_the_tasks_of_who_is_excluded_go_to_others(ledger: ServingLedger) -> None:
    study = made_study(ledger, 6, raters=1, batch=3)
    careless, careful = people(ledger, study, 2)
    first, second, third = held(ledger, study, careless, "hi")
    answer(ledger, study, careless, first.task)
    skip(ledger, careless, second.task, "other")
    set_aside(ledger, study, careless)
    assert len(rate_all(ledger, study, careful, random.Random(0))) == 6
    assert {row["answered"] for row in counted(ledger, study).values()} == {1}
    readmit(ledger, study, careless)
    rows = counted(ledger, study)
    assert (rows[first.task]["answered"], rows[first.task]["people"]) == (2, 2)
    assert (rows[third.task]["answered"], rows[third.task]["people"]) == (1, 1)


def test_who_is_excluded_while_they_work_keeps_nothing(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger() for _ in range(2)]
    for number in range(5):
        study = made_study(ledgers[0], 12, raters=1, batch=2, name=f"study-{number}")
        (rater,) = people(ledgers[0], study, 1)

        def works(study: Study = study, rater: RaterInStudy = rater) -> None:
            with contextlib.suppress(NotYours):
                rate_all(ledgers[0], study, rater, random.Random(0))

        at_once([works, lambda s=study, r=rater: set_aside(ledgers[1], s, r)])
        assert {(row["free"], row["answered"]) for row in counted(ledgers[0], study).values()} == {
            (1, 0)
        }


def test_names_of_people_who_come_at_once_differ(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger() for _ in range(3)]
    study = made_study(ledgers[0], 1, first=4)
    names: list[str] = []
    at_once([
        lambda each=each: names.append(new_person(each, study, ["hi"])[0].name)
        for each in ledgers for _ in range(4)
    ])  # fmt: skip
    assert sorted(names, key=lambda name: int(name[3:])) == [f"hi-{n}" for n in range(4, 16)]


def test_who_comes_from_a_platform_twice_at_once_is_one_person(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger() for _ in range(4)]
    study = made_study(ledgers[0], 1)
    keys: list[int] = []
    at_once([
        lambda each=each: keys.append(new_person(each, study, ["hi"], name="prolific:abc")[0].id)
        for each in ledgers
    ])  # fmt: skip
    assert len(set(keys)) == 1


# ---------------------------------------------------------------- answers that are none


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ({CRITERION: "3"}, "not on the scale"),
        ({CRITERION: "1.0"}, "not on the scale"),
        ({CRITERION: "１"}, "not on the scale"),
        ({"other": "1"}, "nobody asked"),
    ],
)
def test_a_wrong_answer_keeps_none_of_its_batch(
    ledger: ServingLedger, scores: dict[str, str], why: str
) -> None:
    study = made_study(ledger, 2, batch=2)
    (rater,) = people(ledger, study, 1)
    one, two = held(ledger, study, rater, "hi")
    right = GivenAnswer(one.task, {CRITERION: "1"})
    with pytest.raises(NotYours, match=why):
        save(ledger, Forms(ledger), study, rater, [right, GivenAnswer(two.task, scores)])
    assert answers_in(ledger) == []


def test_tasks_of_others_are_not_answered(ledger: ServingLedger) -> None:
    study = made_study(ledger, 4, batch=2, raters=1)
    one, two = people(ledger, study, 2)
    (task, _), _ = held(ledger, study, one, "hi"), held(ledger, study, two, "hi")
    for name in (task.task, "unknown", "t' OR 1=1 --", ""):
        with pytest.raises(NotYours, match="was not given"):
            answer(ledger, study, two, name)


@pytest.mark.parametrize(
    "content",
    [
        None, [], "x", 1, {}, {"task": 1, "scores": {}}, {"task": "t", "scores": []},
        {"task": "t", "scores": {"a": 1}}, {"task": "t", "scores": {"a": "1" * 101}},
        {"task": "t", "scores": {}, "comment": None}, {"task": "t", "scores": {}, "seconds": "1"},
        {"task": "t", "scores": {}, "seconds": True},
        {"task": "t", "scores": {}, "seconds": float("nan")},
        {"task": "t", "scores": {}, "comment": "x" * 10_001},
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused(content: object) -> None:
    with pytest.raises(NotYours):
        GivenAnswer.of(content)


def test_an_answer_is_cleaned_of_what_cannot_be_kept() -> None:
    read = GivenAnswer.of(
        {"task": "t", "scores": {}, "comment": "cut \ud83d\0.", "seconds": 10**400}
    )
    assert (read.comment, read.seconds) == ("cut ?.", 3600.0)


def test_sides_are_those_of_test_questions() -> None:
    assert SIDES == gold_questions.SIDES


def test_one_more_person_is_asked_where_somebody_changes_their_mind(ledger: ServingLedger) -> None:
    study = made_study(ledger, 1, raters=2, one_more=True)
    first, second, third = people(ledger, study, 3)
    for rater in (first, second):
        (task,) = held(ledger, study, rater, "hi")
        answer(ledger, study, rater, task.task, "1")
    assert held(ledger, study, third, "hi") == []
    for level in ("2", "1", "2"):  # however often they do
        answer(ledger, study, second, task.task, level)
    assert [each.task for each in held(ledger, study, third, "hi")] == [task.task]
    assert counted(ledger, study)[task.task]["wanted"] == 3


def test_one_more_person_is_asked_where_people_split_after_more_were_asked(
    ledger: ServingLedger,
) -> None:
    study = made_study(ledger, 1, ("hi", "ar"), raters=2, one_more=True)
    ask_more(ledger, study.id, 1, "hi")
    for _ in range(2):
        ask_more(ledger, study.id, 1, once="sent twice")
    study = study_of(ledger, study.id)
    everybody = people(ledger, study, 6, languages=("hi", "ar"))
    for number, rater in enumerate(everybody):
        for language in study.languages:
            for task in held(ledger, study, rater, language):
                answer(ledger, study, rater, task.task, str(number % 2))
    wanted = {task: row["wanted"] for task, row in counted(ledger, study).items()}
    assert wanted == {"thi0": 5, "tar0": 3}  # two and two of four split; two of three do not
