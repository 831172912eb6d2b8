"""What everybody said, as numbers: scales, directions, groups of people, missing scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metal.boards.board import billboard
from metal.boards.cells import OVERALL, board_cells, main_criterion
from metal.boards.settings import BoardSettings
from metal.data.records import METRIC_SCORE, Criterion, Level, Rater, Scale
from metal.errors import UnknownName, UsageError
from tests.billboard.conftest import QUICK, made, one_cell

FIVE = Criterion("five", Scale("ordinal", tuple(Level(n, str(n)) for n in range(1, 6))))
FAULTS = Criterion("faults", Scale("interval", (), 0, 10), direction="lower")
FREE = Criterion("free", Scale("interval"))
NAN = float("nan")


def same(left: object, right: list[float]) -> bool:
    return np.array_equal(np.asarray(left), np.array(right), equal_nan=True)


def test_people_are_averaged_and_missing_is_missing() -> None:
    dataset = made(
        {
            "quality": {
                "A1": [10, None, 40, None],
                "A2": [20, 30, None, None],
                "judge": [1, 2, None, 4],
            }
        }
    )
    cell = one_cell(dataset)
    assert same(cell.human, [15, 30, 40, NAN])
    assert same(cell.of("judge"), [1, 2, NAN, 4])
    assert cell.rated.tolist() == [True, True, True, False]
    assert (cell.criterion, cell.language, cell.criteria) == ("quality", "en", 1)
    # One person against the others, where there are others.
    assert same(cell.alone, [10, 20, 30, 40])
    assert same(cell.others, [20, 10, NAN, NAN])


def test_lower_is_better_is_turned_round() -> None:
    cell = one_cell(made({"faults": {"A1": [0, 3], "judge": [10, 5]}}, criteria=[FAULTS]))
    assert same(cell.human, [0, -3])
    assert same(cell.of("judge"), [-10, -5])
    assert (cell.scale.low, cell.scale.high) == (-10, 0)


def test_codes_of_labels_are_never_correlated() -> None:
    """Three colours coded 1, 2, 3 correlated like levels. Two labels do: their codes only set the
    sign, as declared.
    """
    colour = Criterion(
        "colour", Scale("nominal", tuple(Level(n, each) for n, each in enumerate("rgb", 1)))
    )
    found = Criterion("found", Scale("nominal", (Level(1, "no"), Level(2, "yes"))))
    scores: dict[str, list[float | None]] = {"A1": [1, 2, 2, 1], "judge": [1, 2, 1, 1]}
    dataset = made(
        dict.fromkeys(("colour", "five", "found"), scores), criteria=[colour, FIVE, found]
    )
    assert {cell.criterion for cell in board_cells(dataset, QUICK)} == {"five", "found", OVERALL}
    board = billboard(dataset, QUICK)
    assert any(
        warning.startswith("colour is left out: its labels have no order")
        for warning in board.warnings
    )
    only = made({"colour": scores}, criteria=[colour])
    for refused, chosen in ((dataset, replace(QUICK, criteria=("colour",))), (only, QUICK)):
        with pytest.raises(UsageError, match=r"'colour'.*no order .* `metal[.]audit"):
            board_cells(refused, chosen)


def test_overall_is_the_mean_share_of_the_ranges() -> None:
    dataset = made(
        {
            "five": {"A1": [5, 1, 3, 2], "A2": [5, 3, None, 2], "judge": [1, 2, 3, 4]},
            "faults": {"A1": [0, 10, 5, None], "judge": [5, None, 0, 10]},
        },
        criteria=[FIVE, FAULTS],
    )
    assert [cell.criterion for cell in board_cells(dataset, QUICK)] == ["five", "faults", OVERALL]
    cell = one_cell(dataset, criterion=OVERALL)
    assert same(cell.human, [1, (0.25 + 0) / 2, (0.5 + 0.5) / 2, NAN])
    assert same(cell.of("judge"), [(0 + 0.5) / 2, NAN, (0.5 + 1) / 2, (0.75 + 0) / 2])
    assert (cell.scale.low, cell.scale.high, cell.criteria) == (0, 1, 2)
    assert same(cell.alone, [1, 0, 0.5])  # A2 answered one of the two


def test_overall_of_one_scale_is_the_mean_of_the_scores() -> None:
    other = replace(FIVE, name="other")
    dataset = made(
        {"five": {"A1": [5, 1], "j": [1, 1]}, "other": {"A1": [4, 2], "j": [2, 1]}},
        criteria=[FIVE, other],
    )
    cell = one_cell(dataset, criterion=OVERALL)
    assert same(cell.human, [4.5, 1.5])
    assert (cell.scale.low, cell.scale.high) == (1, 5)


def test_overall_needs_ranges_where_scales_differ() -> None:
    dataset = made(
        {"five": {"A1": [5, 1], "j": [1, 2]}, "free": {"A1": [9, 2], "j": [1, 2]}},
        criteria=[FIVE, FREE],
    )
    with pytest.raises(UsageError, match=r"overall:.*free has no range"):
        board_cells(dataset, replace(QUICK, criteria=(OVERALL,)))
    assert [cell.criterion for cell in board_cells(dataset, QUICK)] == [
        "five",
        "free",
    ]  # not asked for: left out, and said
    assert any(warning.startswith("no overall:") for warning in billboard(dataset, QUICK).warnings)
    found = board_cells(dataset, replace(QUICK, criteria=("free", "five")))
    assert [cell.criterion for cell in found] == ["five", "free"]


def test_a_criterion_that_is_called_overall_is_taken_as_it_is() -> None:
    overall = replace(FIVE, name=OVERALL)
    dataset = made(
        {"five": {"A1": [5, 1], "j": [1, 2]}, OVERALL: {"A1": [2, 3], "j": [1, 2]}},
        criteria=[FIVE, overall],
    )
    assert same(one_cell(dataset, criterion=OVERALL).human, [2, 3])
    assert main_criterion([cell.criterion for cell in board_cells(dataset, QUICK)]) == OVERALL


def test_an_overall_that_only_a_judge_gave_does_not_hide_the_peoples() -> None:
    overall, other = replace(FIVE, name=OVERALL), replace(FIVE, name="other")
    dataset = made(
        {
            "five": {"A1": [5, 1], "j": [1, 2]},
            "other": {"A1": [3, 3], "j": [3, 4]},
            OVERALL: {"j": [5, 5]},
        },
        criteria=[FIVE, other, overall],
    )
    cell = one_cell(dataset, criterion=OVERALL)
    assert same(cell.human, [4, 2])
    assert same(cell.of("j"), [2, 3])


def test_one_score_of_a_metric_serves_every_criterion() -> None:
    dataset = made(
        {
            "five": {"A1": [5, 1], "own": [3, 4]},
            "faults": {"A1": [0, 1]},
            "score": {"metric": [0.25, None], "own": [0.5, 0.75]},
        },
        criteria=[FIVE, FAULTS],
        raters={"own": Rater("own", "metric")},
    )
    for criterion in ("five", "faults", OVERALL):
        assert same(one_cell(dataset, criterion=criterion).of("metric"), [0.25, NAN])
    # what it says of a criterion comes first
    assert same(one_cell(dataset, criterion="five").of("own"), [3, 4])
    assert same(one_cell(dataset, criterion="faults").of("own"), [0.5, 0.75])


def test_people_may_rate_a_criterion_called_score() -> None:
    dataset = made({"score": {"A1": [1, 2], "metric": [3, 4]}}, criteria=[METRIC_SCORE])
    cell = one_cell(dataset)
    assert cell.criterion == "score"
    assert same(cell.human, [1, 2])
    assert same(cell.of("metric"), [3, 4])


def test_people_outside_the_reference_are_one_rater_a_group() -> None:
    groups = {"A1": "expert", "A2": "crowd", "A3": "crowd", "A4": "", "A5": "judge"}
    raters = {name: Rater(name, "human", group) for name, group in groups.items()}
    scores = {
        "A1": [50, 60],
        "A2": [10, 20],
        "A3": [30, None],
        "A4": [1, 2],
        "A5": [3, 4],
        "judge": [0, 1],
    }
    dataset = made({"quality": scores}, raters=raters)
    cell = one_cell(dataset, replace(QUICK, reference="expert"))
    shown = {rater.name: (rater.kind, rater.people) for rater in cell.raters}
    assert shown == {
        "judge": ("llm", ()),
        "crowd": ("human", ("A2", "A3")),
        "other people": ("human", ("A4",)),
        "judge (people)": ("human", ("A5",)),
    }
    assert same(cell.of("crowd"), [20, 20])
    by_name = one_cell(dataset, replace(QUICK, reference="rater=A2"))
    assert same(by_name.of("crowd"), [30, NAN])


def test_repeats_of_a_judge_are_not_on_the_board() -> None:
    again = Rater("judge#2", "llm", about={"repeats": "judge"})
    lost = Rater("gone#2", "llm", about={"repeats": "gone"})
    scores = {"A1": [1, 2], "judge": [1, 2], "judge#2": [2, 2], "gone#2": [2, 1]}
    dataset = made({"quality": scores}, raters={"judge#2": again, "gone#2": lost})
    assert [rater.name for rater in one_cell(dataset).raters] == ["gone#2", "judge"]


def test_all_languages_together_then_each() -> None:
    scores = {"A1": [1, 2, 3, 4], "judge": [1, 2, None, None], "other": [None, None, 1, 2]}
    dataset = made({"quality": scores}, language=["hi", "hi", "sw", "sw"])
    found = {cell.language: cell for cell in board_cells(dataset, QUICK)}
    assert list(found) == ["", "hi", "sw"]
    assert [rater.name for rater in found[""].raters] == ["judge", "other"]
    assert [rater.name for rater in found["hi"].raters] == ["judge"]
    assert same(found["sw"].human, [3, 4])
    assert found["sw"].outputs.tolist() == [2, 3]
    only = board_cells(dataset, replace(QUICK, languages=("sw", "sw")))
    assert [cell.language for cell in only] == ["sw"]
    assert [
        cell.language for cell in board_cells(dataset, replace(QUICK, languages=("sw", "hi")))
    ] == ["", "sw", "hi"]


def test_equal_means_are_equal_numbers() -> None:
    """However they were put together: 0.1 + 0.2 and 0.3 are one mean."""
    scores = {"A1": [0.1, 0.3, 50], "A2": [0.2, 0.0, 50], "metric": [1 / 3, 0.33333333333333326, 1]}
    cell = one_cell(made({"quality": scores}, ("g0", "g1", "g2")))
    assert 0.1 + 0.2 != 0.3
    assert cell.human[0] == cell.human[1]
    assert cell.of("metric")[0] == cell.of("metric")[1]
    small = {
        "A1": [1, 2, 3],
        "tiny": [1e-12, 2e-12, 3e-12],
        "least": [1e-305, 2e-305, 0],
        "nothing": [0, 0, 0],
    }
    cell = one_cell(made({"quality": small}, ("g0", "g1", "g2")))
    assert len(set(cell.of("tiny").tolist())) == len(set(cell.of("least").tolist())) == 3


def test_on_common_outputs() -> None:
    scores = {
        "A1": [1, 2, 3, None],
        "A2": [3, 2, 1, None],
        "first": [1, 2, None, 4],
        "second": [None, 2, 3, 4],
    }
    dataset = made({"quality": scores})
    cell = one_cell(dataset, replace(QUICK, common=True))
    assert same(cell.human, [NAN, 2, NAN, NAN])
    assert same(cell.of("first"), [1, 2, NAN, 4])  # generators are ranked on all they wrote
    assert same(cell.alone, [2, 2])  # people too are compared on these
    nothing = {"A1": [1, 2, 3, 4], "first": [1, 2, 3, None], "second": [None, None, None, 4]}
    dataset = made({"quality": nothing})
    with pytest.raises(
        UsageError,
        match=r"`common`: .* of quality .*; .* scored the fewest",
    ):
        board_cells(dataset, replace(QUICK, common=True))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"raters": ("juge",)}, "rater 'juge' is not known; did you mean 'judge'"),
        ({"raters": ("A1",)}, "rater 'A1' is not known"),
        (
            {"criteria": ("qualty",)},
            "people rated 'qualty' is not known; did you mean 'quality'",
        ),
        (
            {"criteria": (OVERALL,)},
            "people rated 'overall' is not known; known: quality",
        ),
        ({"languages": ("de",)}, "language 'de' is not known; known: en (English)"),
        ({"reference": "crowd"}, "group of people 'crowd' is not known; known: expert"),
    ],
)
def test_unknown_names(settings: dict[str, object], said: str) -> None:
    dataset = made({"quality": {"A1": [1, 2], "judge": [1, 2]}})
    with pytest.raises(UnknownName) as raised:
        board_cells(dataset, BoardSettings(**settings))  # type: ignore[arg-type]
    assert said in str(raised.value)


def test_nothing_to_compare() -> None:
    nobody = {"A1": Rater("A1", "human", "expert")}
    silent = made({"quality": {"judge": [1, 2]}}, raters=nobody)
    with pytest.raises(UsageError, match=r"dataset made:.*\(expert\) rated nothing"):
        board_cells(silent, replace(QUICK, reference="expert"))
    with pytest.raises(UsageError, match="dataset made: no rater"):
        board_cells(made({"quality": {"A1": [1, 2]}}), QUICK)
    half = made(
        {"quality": {"A1": [1, 2, None, None], "j": [1, 2, 3, 4]}},
        language=["hi", "hi", "sw", "sw"],
    )
    with pytest.raises(UsageError, match=r"dataset made:.*nothing in sw"):
        board_cells(half, replace(QUICK, languages=("sw",)))
    apart = {"five": {"A1": [1, None], "j": [1, 2]}, "faults": {"A1": [None, 1], "j": [1, 2]}}
    with pytest.raises(UsageError, match="rated nothing on overall"):
        board_cells(made(apart, criteria=[FIVE, FAULTS]), replace(QUICK, criteria=(OVERALL,)))
