"""Battles of Chatbot Arena whose columns are not those of a table of pairs, and FastChat's
judgments of pairs.

winner_model_a, winner_model_b, winner_tie    votes, of which exactly one is 1; voters have no name.
                                              Or probabilities: a judge answers with the likeliest
winner, evaluation_session_id                 votes; a session is a person
g1_winner, g2_winner                          a judge's answers to a pair in both orders

Battles with `model_a`, `model_b`, `winner` and `judge` are read as any table of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from metal.data.formats import Draft, Format
from metal.data.formats.harnesses import OPTIONS, HarnessRows
from metal.data.formats.harnesses.records import EVALUATOR, records_in, records_of, unpacked
from metal.data.formats.harnesses.values import is_number, language_in
from metal.data.ratings import FRAME
from metal.data.tables.harnesses import marks_of

VOTER = "voter"  # whoever voted, where the file does not tell people apart
VOTES = {"winner_model_a": "first", "winner_model_b": "second", "winner_tie": "tie"}
WINNERS = {"model_a": "first", "model_b": "second", "model_1": "first", "model_2": "second"}
WINNERS |= {"tie": "tie"}
YES = ("1", "1.0", "True", "true")  # in a column of votes
GAMES = (("g1", "AB"), ("g2", "BA"))
NO_WINNER = "no winner"
ROUNDED = 0.02  # how far the sum of three rounded probabilities may be from 1


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read a file of battles, or of judgments of pairs."""
    records = records_in(path, "battles of Chatbot Arena")
    return _gathered(records).draft(options, path, records.notes)


def read_frame(frame: pd.DataFrame, options: Mapping[str, Any]) -> Draft:
    """Read a DataFrame of battles, or of judgments of pairs."""
    return _gathered(records_of(frame)).draft({"name": "ratings", **options}, FRAME)


def _gathered(battles: Iterable[Mapping[str, Any]]) -> HarnessRows:
    gathered, battles = HarnessRows("Chatbot Arena"), list(battles)
    soft = any(0 < share < 1 for battle in battles for share in _shares(battle))
    if soft:
        gathered.notes.append(
            f"the votes are probabilities: those of a judge, {EVALUATOR}, whose answer is the"
            " likeliest"
        )
    for battle in battles:
        if "g1_winner" in battle:
            _add_judgment(gathered, battle)
        else:
            _add_vote(gathered, battle, soft=soft)
    return gathered


def _add_vote(gathered: HarnessRows, battle: Mapping[str, Any], *, soft: bool) -> None:
    """Add a vote. soft: whether the votes of the file are probabilities."""
    voter = battle.get("evaluation_session_id") or VOTER
    own: dict[str, Any] = {"rater": voter, "kind": "human", "winner": _voted(battle)}
    if soft:
        winner, confidence = _likeliest(battle)
        own = {"rater": EVALUATOR, "kind": "llm", "winner": winner, "confidence": confidence}
    gathered.add(
        source=battle.get("question_id") or battle.get("id"),
        source_text=_together(battle.get("prompt")),
        first=battle.get("model_a"),
        second=battle.get("model_b"),
        first_text=_together(battle.get("response_a")) or battle.get("conversation_a"),
        second_text=_together(battle.get("response_b")) or battle.get("conversation_b"),
        language=language_in(battle),
        **own,
        criterion=None,
        reason=None if own["winner"] else NO_WINNER,
    )


def _voted(battle: Mapping[str, Any]) -> str | None:
    """Which output won; None if the vote is missing, or if there are several."""
    if "winner" in battle:
        winner = str(battle["winner"])
        return "tie" if winner.startswith(("tie", "both")) else WINNERS.get(winner)
    voted = [meaning for name, meaning in VOTES.items() if str(battle.get(name)) in YES]
    return voted[0] if len(voted) == 1 else None


def _shares(battle: Mapping[str, Any]) -> list[float]:
    """The numbers of a battle's votes: of the first output, the second, and a tie; none unless all
    three are numbers.
    """
    votes = [battle.get(name) for name in VOTES]
    return [float(vote) for vote in votes if vote is not None] if all(map(is_number, votes)) else []


def _likeliest(battle: Mapping[str, Any]) -> tuple[str | None, float | None]:
    """The likeliest winner with its probability; a tie if two are equally likely, and None unless
    the votes are probabilities.
    """
    shares = _shares(battle)
    if not shares or min(shares) < 0 or abs(sum(shares) - 1) > ROUNDED:
        return None, None
    likeliest = max(shares)
    if shares.count(likeliest) > 1:
        return "tie", None
    return [*VOTES.values()][shares.index(likeliest)], min(likeliest, 1.0)


def _add_judgment(gathered: HarnessRows, judgment: Mapping[str, Any]) -> None:
    """Add both games of a judge: in the second, the other output was shown first."""
    judge, turn = unpacked(judgment.get("judge")), str(judgment.get("turn") or 1)
    if isinstance(judge, list):
        judge = "/".join(map(str, judge))
    source = str(judgment.get("question_id"))
    source += "" if turn == "1" else f"/turn {turn}"
    for game, shown in GAMES:
        answer = str(judgment.get(f"{game}_winner"))
        winner = WINNERS.get(answer)
        gathered.add(
            source=source,
            first=judgment.get("model_1"),
            second=judgment.get("model_2"),
            language=language_in(judgment),
            rater=judge or EVALUATOR,
            kind="llm",
            criterion=None,
            winner=winner,
            reason=None if winner else answer,
            comment=judgment.get(f"{game}_judgment"),
            shown=shown,
        )


def _together(text: Any) -> Any:
    """The turns of a text that is a list of them."""
    turns = unpacked(text)
    if isinstance(turns, list) and all(isinstance(turn, str | None) for turn in turns):
        return "\n\n".join(filter(None, turns))
    return text


FORMAT = Format(
    "battles of Chatbot Arena, and FastChat's judgments of pairs (JSON, CSV, Parquet)",
    read,
    OPTIONS,
    keys=marks_of("arena"),
    read_frame=read_frame,
)
