"""Who rates what: fair loads, even company, orders and names that say nothing."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal.building.tasks import Assignment, Task, assign, make_tasks, task_id
from metal.data.records import Output, Source
from metal.errors import UsageError


def tasks(count: int, language: str = "hi") -> list[Task]:
    return [
        Task(f"t{language}{n}", f"o{language}{n}", language, "", "", "text") for n in range(count)
    ]


def shared(assignments: list[Assignment]) -> list[int]:
    """How many tasks every two people have in common."""
    piles = [{task.task for task in assignment.tasks} for assignment in assignments]
    return [len(each & other) for each, other in combinations(piles, 2)]


shapes = st.tuples(
    st.integers(1, 60), st.integers(1, 5), st.integers(0, 6), st.integers(0, 9), st.integers(0, 3)
)


@given(shapes)
def test_each_task_goes_to_so_many_people_and_loads_are_fair(
    shape: tuple[int, int, int, int, int],
) -> None:
    count, raters, more, common, seed = shape
    assignments = assign(
        tasks(count), "d", {}, raters=raters, people=raters + more, common=common, seed=seed
    )
    for assignment in assignments:
        assert len({task.task for task in assignment.tasks}) == len(assignment.tasks) > 0
    times = Counter(task.task for assignment in assignments for task in assignment.tasks)
    for_all = min(common, count)
    assert len(times) == count
    expected = Counter({raters: count - for_all}) + Counter({raters + more: for_all})
    assert Counter(times.values()) == expected
    loads = [len(assignment.tasks) for assignment in assignments] + [0] * (
        raters + more - len(assignments)
    )
    assert max(loads) - min(loads) <= 1


# (people, raters): also where a round of tasks uses everybody up, so that its last group has no
# choice.
COMPANY = [
    (4, 2),
    (4, 3),
    (5, 3),
    (6, 2),
    (6, 3),
    (6, 4),
    (7, 3),
    (8, 2),
    (9, 3),
    (10, 2),
    (10, 5),
    (12, 2),
    (12, 4),
]


@pytest.mark.parametrize(("people", "raters"), COMPANY)
def test_any_two_share_about_as_many_as_any_other_two(people: int, raters: int) -> None:
    for count in (10, 60, 240):
        common = shared(assign(tasks(count), "d", {}, raters=raters, people=people))
        assert max(common) - min(common) <= (2 if raters < 4 and people < 8 else 5), count


def orders(seed: int) -> list[list[str]]:
    return [
        [task.task for task in assignment.tasks]
        for assignment in assign(tasks(30), "d", {}, raters=3, seed=seed)
    ]


def test_orders_are_shuffled_for_each_person_and_seeded() -> None:
    assert orders(0) == orders(0)
    assert (
        len({tuple(order) for order in [*orders(0), *orders(1), [task.task for task in tasks(30)]]})
        == 7
    )


def test_people_are_told_apart_by_language_and_number() -> None:
    mixed = [task for pair in zip(tasks(4, "hi"), tasks(4, "zh-en"), strict=True) for task in pair]
    assignments = assign(mixed, "d", {}, raters=2, first=4)
    assert [(assignment.rater, assignment.language) for assignment in assignments] == [
        ("hi-4", "hi"),
        ("hi-5", "hi"),
        ("zh-en-4", "zh-en"),
        ("zh-en-5", "zh-en"),
    ]
    assert all(
        task.language == assignment.language
        for assignment in assignments
        for task in assignment.tasks
    )


def test_a_language_is_dealt_alike_whatever_else_is_handed_out() -> None:
    alone = assign(tasks(9), "d", {}, raters=2, people=4)
    assert assign([*tasks(5, "sw"), *tasks(9)], "d", {}, raters=2, people=4)[4:] == alone


def test_fewer_people_than_raters() -> None:
    with pytest.raises(UsageError, match="`people=2` is fewer than `raters=3`"):
        assign(tasks(3), "d", {}, raters=3, people=2)


def made(dataset: str, names: list[str]) -> list[Task]:
    outputs = [Output(name, "s", "secret", "en", "text", "secret") for name in names]
    return make_tasks(dataset, outputs, {"s": Source("s", "en", "source", "title")})


def test_ids_stay_are_unlike_and_say_nothing() -> None:
    names = [f"gpt-4/good/{n}" for n in range(5000)]
    ids = [task.task for task in made("d", names)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("t[0-9a-f]{12}", name) for name in ids)
    assert ids[:10] == [task.task for task in reversed(made("d", names[9::-1]))]
    # tasks that were handed out keep their ids in later versions
    assert task_id("d", "o") == "t1c9d0e0608c9"
    assert task_id("d", "o") != task_id("e", "o")


def test_a_task_shows_title_source_and_text_only() -> None:
    assert made("d", ["o"]) == [Task(task_id("d", "o"), "o", "en", "title", "source", "text")]


kinds = st.lists(st.integers(0, 15), min_size=1, max_size=3)


@given(shapes, kinds)
def test_hidden_tasks_of_a_kind_are_as_many_for_anybody_as_for_anybody_else(
    shape: tuple[int, int, int, int, int], counts: list[int]
) -> None:
    count, raters, more, common, seed = shape
    hidden = [
        [Task(f"{k}-{n}", f"o{k}-{n}", "hi", "", "", "") for n in range(size)]
        for k, size in enumerate(counts)
    ]
    assignments = assign(
        tasks(count),
        "d",
        {},
        raters=raters,
        people=raters + more,
        common=common,
        seed=seed,
        hidden=hidden,
    )
    without = assign(
        tasks(count), "d", {}, raters=raters, people=raters + more, common=common, seed=seed
    )
    for kind, size in enumerate(counts):
        given = [
            [task.task for task in assignment.tasks if task.task.startswith(f"{kind}-")]
            for assignment in assignments
        ]
        assert Counter(name for names in given for name in names) == {
            f"{kind}-{n}": raters for n in range(size)
        }
        assert all(len(set(names)) == len(names) for names in given)
        loads = [len(names) for names in given] + [0] * (raters + more - len(assignments))
        assert max(loads) - min(loads) <= 1
    ordinary = [
        sorted(task.task for task in assignment.tasks if task.task.startswith("t"))
        for assignment in assignments
    ]
    assert [names for names in ordinary if names] == [
        sorted(t.task for t in assignment.tasks) for assignment in without
    ]


def test_hidden_tasks_stay_within_their_language_and_stand_anywhere() -> None:
    ordinary = [*tasks(40, "hi"), *tasks(40, "sw")]
    hidden = [
        [
            Task(f"h{each.task}", "", each.language, "", "", "")
            for each in ordinary
            if each.task.endswith(end)
        ]
        for end in "19"
    ]
    places = []
    for assignment in assign(ordinary, "d", {}, hidden=hidden):
        own = [place for place, task in enumerate(assignment.tasks) if task.task.startswith("h")]
        assert {task.language for task in assignment.tasks} == {assignment.language}
        assert len(own) == 8
        places += own
    assert min(places) < 16
    assert max(places) >= 32
    assert len(set(places)) > 16
