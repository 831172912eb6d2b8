"""The first sentence of a board, a leaderboard, a page of people and a design study is true
whatever was measured.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metal
from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON
from metal.data.records import Rater
from metal.genie.behaviour import ALL_CRITERIA, TESTED
from metal.questions.board import answer as of_board
from metal.questions.board.run import Billboard
from metal.questions.design import answer as of_design
from metal.questions.design.plans import SCORE
from metal.questions.design.run import Design
from metal.questions.design.verdicts import NEW_JUDGE
from metal.questions.leaderboard import answer as of_leaderboard
from metal.questions.leaderboard.run import Leaderboard
from metal.questions.people import answer as of_people
from metal.questions.people.monitor_tables import stands_out
from metal.questions.people.run import DESCRIBED, Monitor
from tests.genie.leaderboard.boards import QUALITY

NAN = float("nan")
DATA = {"datasets": [{"path": "data"}]}


def row(rater: str, r: float, low: float = 0.1) -> dict[str, Any]:
    here = {
        "criterion": "overall",
        "language": "",
        "rater": rater,
        "rank_low": 1,
        "rank_high": 2,
        "coverage": 1.0,
    }
    return {**here, "pearson": r, "pearson_low": low, "pearson_high": low + 0.5}


BOARDS = [
    (
        [("a", 0.5), ("b", 0.4)],
        0.62,
        "a agrees best with people overall, all languages together (r 0.50 [0.10, 0.60]; one"
        " person against the others: 0.62 [0.52, 0.72]).",
    ),
    (
        [("a", 0.5)],
        0.501,
        "a agrees with people overall, all languages together (r",
    ),
    (
        [("a", 0.5), ("b", NAN)],
        0.501,
        "a is the only rater that could be compared with people overall, all",
    ),
    ([("a", 0.5)], NAN, "(r 0.50 [0.10, 0.60]; it is unknown how well a person would agree)."),
    (
        [("a", 0.1, -0.1), ("b", 0.0, -0.2)],
        0.5,
        "No rater is shown to agree with people overall, all languages together:",
    ),
    ([("a", 0.1, NAN)], 0.5, "the only rater, a, has r 0.10."),
    (
        [("a", NAN)],
        0.5,
        "No rater's agreement with people is defined overall, all languages together.",
    ),
]


@pytest.mark.parametrize(("raters", "person", "words"), BOARDS)
def test_a_board_says_who_agrees_best(
    rich_board: Path, raters: list[Any], person: float, words: str
) -> None:
    run = Billboard.read(rich_board)
    people = run.tables["people"].assign(
        one_against_others=person,
        one_against_others_low=person - 0.1,
        one_against_others_high=person + 0.1,
    )
    run = replace(
        run,
        tables={
            **run.tables,
            "raters": pd.DataFrame([row(*of) for of in raters]),
            "people": people,
        },
    )
    assert words in of_board.headline(run)


# p: of g0 against each of the others; NAN: not tested, and then the other cannot be compared.
LEADERS = [
    ([0.8], [], "g0 is the only generator that people rated on quality in English (0.800 of 1)."),
    (
        [0.8, 0.7],
        [0.01],
        "People put g0 first on quality in English (0.800 of 1), significantly ahead of the other.",
    ),
    ([0.8, 0.7, 0.6], [0.01, 0.01], "significantly ahead of the others."),
    ([0.8, 0.7, 0.6], [0.01, NAN], "significantly ahead of the one it can be compared with."),
    ([0.8, 0.7, 0.6], [0.5, 0.01], "(0.800 of 1); g1 is not shown to be worse."),
    ([0.8, 0.7, 0.6], [0.5, 0.5], "; 2 others are not shown to be worse."),
    ([0.8, 0.7], [NAN], "but it cannot be compared with the others: few shared."),
]


@pytest.mark.parametrize(("scores", "p", "words"), LEADERS)
def test_a_leaderboard_says_who_leads(scores: list[float], p: list[float], words: str) -> None:
    here = {"criterion": "quality", "language": "en"}
    generators = [f"g{place}" for place in range(len(scores))]
    reasons = ["ranks: few shared" if np.isnan(value) else "" for value in p]
    alone = reasons[0] if len(p) == 1 else ""
    rows = pd.DataFrame(
        {"score": scores, "generator": generators, "undefined": [alone, *reasons]}
    ).assign(**here)
    pairs = pd.DataFrame({"second": generators[1:], "p_adjusted": p, "difference": 0.1}).assign(
        first="g0", **here
    )
    about = {"leaderboard": {"main": "quality", "people": ["A1"]}}
    run = Leaderboard(
        "made", about, {"quality": QUALITY}, {}, {"leaderboard": rows, "comparisons": pairs}, ()
    )
    assert of_leaderboard.headline(run).endswith(words)


def beside(
    rater: str, why: str = "", less: float = NAN, severity: float = 0.0, apart: str = ""
) -> dict[str, Any]:
    figures = {
        "agreement": 0.7 + less,
        "colleagues_agreement": 0.7,
        "agreement_difference": less,
        "severity": severity,
    }
    who = {"rater": rater, "language": "hi", "criterion": ALL_CRITERIA}
    return {**who, **figures, "stands_out": why, "not_compared": apart}


LESS, NEVER = "disagrees with colleagues more", "never gives the label that the others"
SEVERER, MILDER = "much severer than colleagues", "much milder than colleagues"
PEOPLE = [
    ([], [], "No person has rated anything here."),
    ([beside("A")], [], "The only person does not stand out."),
    ([beside("A"), beside("B")], [], "None of the 2 people stands out."),
    (
        [beside("A", apart="few"), beside("B", apart="few")],
        [],
        "Nobody can be compared: people share too few outputs.",
    ),
    (
        [beside("A", MILDER, 0.1, -0.5), beside("B", LESS, -0.1), beside("C", LESS, -0.2)],
        [],
        (
            "2 of 3 people agree with the others significantly less than the others agree with each"
            " other. The lowest is C in Hindi: 50% against 70%."
        ),
    ),
    (
        [beside("A", NEVER), beside("B")],
        [],
        "1 of 2 people agrees with the others significantly less",
    ),
    (
        [beside("A", SEVERER, -0.3, 0.4), beside("B")],
        [],
        "No person disagrees significantly more than the others",
    ),
    ([beside("A")], ["A"], "A fails the test questions: leave this one out."),
    ([beside("A")], list("ABCDE"), "A, B, C and 2 more fail the test questions: leave them out."),
]


def monitored(behaviour: list[dict[str, Any]], noisy: list[str]) -> Monitor:
    columns = [column.name for column in DESCRIBED["behaviour"]]
    tables = {
        name: pd.DataFrame(columns=[column.name for column in of]) for name, of in DESCRIBED.items()
    }
    tables["behaviour"] = pd.DataFrame(behaviour, columns=columns)
    tables["raters"] = pd.DataFrame({"rater": noisy, "noisy": [True] * len(noisy)})
    people = {row["rater"]: Rater(row["rater"], "human") for row in behaviour}
    return Monitor("made", {**DATA, "signature": "s"}, {}, people, tables, ())


@pytest.mark.parametrize(("behaviour", "noisy", "words"), PEOPLE)
def test_people_are_told_the_worst_first(
    behaviour: list[Any], noisy: list[str], words: str
) -> None:
    run = monitored(behaviour, noisy)
    assert words in of_people.headline(run)
    shown = [cells[0].text for cells in of_people.answer_table(run).rows]
    apart = [row for row in behaviour if row["stands_out"]]
    # who is only severe is in a table
    worst = [row for row in apart if row["stands_out"] in (LESS, NEVER)] or apart
    assert shown == [
        *noisy,
        *(row["rater"] for row in sorted(worst, key=lambda row: row["agreement_difference"])),
    ]


def test_every_reason_for_standing_out_has_advice() -> None:
    """Somebody about whom all is odd, but for never giving the majority's label, which excludes
    disagreeing.
    """
    odd: dict[str, Any] = {
        "ratings": 90,
        "shared": 90,
        "sources": 40,
        "ties": 0,
        "majority_agreement": 0.2,
        "compared": 90,
        "agreement": 0.4,
        "colleagues_agreement": 0.8,
        "label": "Good",
        "label_share": 1.0,
        "colleagues_label_share": 0.3,
        "severity": 0.3,
        "comments": 50,
        "repeated": 0.9,
        "colleagues_repeated": 0.1,
        "repeated_comment": "ok",
        "repeated_outputs": 40,
        "agreement_difference": -0.4,
        "label_difference": 0.7,
        **{f"{figure}_p_adjusted": 0.001 for figure in TESTED},
        **{f"{figure}_{end}": 0.0 for figure in TESTED for end in ("low", "high")},
    }
    reasons = [*stands_out(odd), *stands_out({**odd, "majority_agreement": 0})[:1]]
    assert len(reasons) == len(of_people.ADVICE) == 5
    assert all(
        any(reason.startswith(opening) for opening in of_people.ADVICE) for reason in reasons
    )


def need(
    question: str,
    who: str,
    items: float,
    beyond: bool = True,
    raters: int = 3,
    verdict: str = "",
    ends: tuple[float, float] = (NAN, NAN),
) -> dict[str, Any]:
    what = {
        "criterion": "quality",
        "language": "hi",
        "question": question,
        "who": who,
        "raters": raters,
    }
    return {
        **what,
        "items_now": 50,
        "items_needed": items,
        "items_low": ends[0],
        "items_high": ends[1],
        "extrapolated": beyond,
        "verdict": verdict,
        "target": 0.8,
        "items_to_buy": (
            50 if ends[0] > 0 and np.isnan(ends[1]) else max(np.fmax(items, ends[1]) - 50, 0)
        ),
        "hours_to_buy": 1.2,
        "usd_to_buy": 1216.0,
    }


STUDIES = [
    ([], "None of the questions asked could be settled by ratings."),
    (
        [need(LIKE_A_PERSON, "j", NAN, False)],
        "More ratings of this kind would not settle any question.",
    ),
    (
        [need(LIKE_A_PERSON, "j", 50, False)],
        "The existing ratings settle all questions: buy none.",
    ),
    (
        [need(LIKE_A_PERSON, "j", 50, False), need(INFORMATIVE, "j", NAN, False)],
        (
            "The existing ratings settle 1 of 2 questions; more ratings of this kind would not"
            " settle the rest."
        ),
    ),
    (
        [
            need(SCORE, "g", 60),
            need(LIKE_A_PERSON, NEW_JUDGE, 100),
            need(LIKE_A_PERSON, "j", 300),
            need(INFORMATIVE, "j", 216),
        ],
        (
            "For a chance of 80% to show that j is informative on quality in Hindi: 216 items x 3"
            " people, of which 50 are there; the other 166 cost 1 hour and $1,216, 10% test"
            " questions and a 20% fee included."
        ),
    ),
    (
        [
            need(INFORMATIVE, "j", 60, verdict=INFORMATIVE),
            need(LIKE_A_PERSON, "j", 300, verdict=INFORMATIVE),
        ],
        (
            "For a chance of 80% to show that j is like a person on quality in Hindi: 300 items x 3"
            " people"
        ),
    ),
    (
        [
            need(INFORMATIVE, "j", NAN, verdict=LIKE_A_PERSON),
            need(LIKE_A_PERSON, "j", 300, verdict=LIKE_A_PERSON),
        ],
        "The existing ratings settle all questions: buy none.",
    ),
    (
        [need(LIKE_A_PERSON, NEW_JUDGE, 100)],
        "To recognise a judge like a person on quality in Hindi:",
    ),
    (
        [need(LIKE_A_PERSON, "j", 180, ends=(80, 700))],
        (
            "For a chance of 80% to show that j is like a person on quality in Hindi: about 180"
            " items (80 to 700) x 3 people, of which 50 are there; the other 650 up to the upper"
            " end cost 1 hour and $1,216, 10% test questions and a 20% fee included."
        ),
    ),
    (
        [need(LIKE_A_PERSON, "j", 180, ends=(80, NAN))],
        (
            "For a chance of 80% to show that j is like a person on quality in Hindi: at least "
            "80 items x 3 people (this pilot shows no upper end). 50 are there; rate 50 more, "
            "then plan again (1 hour and $1,216, 10% test questions and a 20% fee included)."
        ),
    ),
    (
        [need(SCORE, "g", 60, raters=1)],
        "To measure the score of g on quality in Hindi to within 0.05: 60 items x 1 person",
    ),
]


@pytest.mark.parametrize(("needs", "words"), STUDIES)
def test_a_study_says_what_to_buy_next(needs: list[dict[str, Any]], words: str) -> None:
    table = pd.DataFrame(needs, columns=list(need("", "", 0))).replace({np.nan: None})
    about = {
        **DATA,
        "settings": {"width": 0.05, "prices": {"pay": 1.0, "fee": 0.2, "test_share": 0.1}},
        "signature": "s",
    }
    run = Design("made", about, {"quality": QUALITY}, {}, {"needs": table}, ())
    assert of_design.headline(run).startswith(words)


def test_the_next_command_of_a_board_reads_the_file_it_was_made_from(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {
            "source": f"s{n % 6}",
            "generator": f"g{n // 6}",
            "language": "en",
            "rater": rater,
            "score": rng.integers(1, 6),
        }
        for n in range(24)
        for rater in ("A1", "A2", "gpt-4")
    ]
    path = tmp_path / "my ratings.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    board = metal.billboard(path, resamples=100, permutations=100)
    commands = [card.command for card in of_board.cards(board)]
    assert f"metal audit '{path}'" in commands
    read_otherwise = metal.read(path, directions="lower")
    board = metal.billboard(read_otherwise, resamples=100, permutations=100)
    commands = [card.command for card in of_board.cards(board)]
    assert f"metal audit '{path}' --directions '*=lower'" in commands
