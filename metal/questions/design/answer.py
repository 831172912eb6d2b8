"""The first screen of a design study: which ratings to collect next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import repeat

from metal.auditing.verdict import DISAGREE, INFORMATIVE, LIKE_A_PERSON
from metal.data.text import count, dollars, duration, known, name, percent, plural, within
from metal.questions.design.plans import SCORE
from metal.questions.design.run import Design, interval_of, open_end
from metal.questions.design.verdicts import NEW_JUDGE
from metal.questions.design.words import designs_compared, limits, pay
from metal.runs.columns import Row
from metal.runs.run import spoken
from metal.show.parts import go_on, in_sentence, places, to_hand_out
from metal.show.view import Cell, Remark, Rows, TableView

MOST_ROWS = 8
ORDER: dict[str, int] = {LIKE_A_PERSON: 0, INFORMATIVE: 0, SCORE: 2}


def to_buy(run: Design) -> list[Row]:
    """The questions that more ratings would settle, the fewest ratings first.

    Questions about real judges come first, then those about any judge, then those about scores.
    """
    rows = [row for row in run.records("needs") if known(row["items_needed"]) and not _settled(row)]
    return sorted(
        rows,
        key=lambda row: (
            ORDER[row["question"]] + int(row["who"] == NEW_JUDGE),  # real judges first, then any
            row["items_to_buy"] * row["raters"],
        ),
    )


def _settled(row: Row) -> bool:
    """Whether an audit already answers the question, or would with the existing number of items."""
    audited = row.get("verdict", "") in (LIKE_A_PERSON, row["question"])
    return audited or bool(known(row["items_needed"]) and not row["extrapolated"])


def headline(run: Design) -> str:
    """The answer in a sentence."""
    if buy := to_buy(run):
        first = buy[0]
        return f"{_aim(run, first)} {_bought(run, first)}."
    rows = run.records("needs")
    enough = sum(map(_settled, rows))
    if not rows:
        return "None of the questions asked could be settled by ratings."
    if not enough:
        return "More ratings of this kind would not settle any question."
    if enough == len(rows):
        return "The existing ratings settle all questions: buy none."
    return (
        f"The existing ratings settle {enough} of {len(rows)} questions; more ratings of this kind"
        " would not settle the rest."
    )


def _aim(run: Design, row: Row) -> str:
    on_case = _where(run, row)
    if row["question"] == SCORE:
        return (
            f"To measure the score of {within(row['who'])} {on_case} to within"
            f" {run.settings['width']:g}:"
        )
    if row["who"] == NEW_JUDGE:
        if row["question"] == LIKE_A_PERSON:
            return f"To recognise {NEW_JUDGE} {on_case}:"
        return f"To show that {NEW_JUDGE} is {row['question']} {on_case}:"
    return (
        f"For a chance of {percent(row['target'])} to show that {within(row['who'])} is"
        f" {row['question']} {on_case}:"
    )


def _where(run: Design, row: Row) -> str:
    return f"on {in_sentence(run.criterion(row['criterion']))} in {spoken(row['language'])}"


def _bought(run: Design, row: Row) -> str:
    """What to collect, as words: the number of items and people, how many ratings exist, and the
    price of the rest.
    """
    rated = f"{count(row['items_now'])} {'is' if row['items_now'] == 1 else 'are'} there"
    people = plural(int(row["raters"]), "person", "people")
    price = " and ".join(filter(None, _price(row)))
    more = count(row["items_to_buy"])
    if open_end(row):
        sentence = (
            f"at least {plural(int(row['items_low']), 'item')} x {people} (this pilot shows no "
            f"upper end). {rated}; "
        )
        sentence += f"rate {more} more, then plan again"
        return sentence + (f" ({price}, {_included(run)})" if price else "")
    sentence = f"{_size(row)} x {people}, of which {rated}"
    upto = " up to the upper end" if interval_of(row) else ""
    if price:
        return f"{sentence}; the other {more}{upto} cost {price}, {_included(run)}"
    return f"{sentence}; rate {more} more, up to the upper end" if upto else sentence


def _size(row: Row) -> str:
    """The number of items with its 80% interval: `about 180 items (80 to 700)`; only the number if
    there is no interval.
    """
    items = plural(int(row["items_needed"]), "item")
    return f"about {items} ({interval_of(row)})" if interval_of(row) else items


def _price(row: Row) -> tuple[str, str]:
    """The working time and price of the items still to be rated; empty if unknown."""
    hours, usd = row["hours_to_buy"], row["usd_to_buy"]
    time = ""
    if known(hours):
        time = plural(round(hours), "hour") if hours >= 1 else duration(hours * 3600)
    return time, dollars(usd) if known(usd) else ""


def _included(run: Design) -> str:
    """What hours and costs include in addition to the ratings."""
    prices = run.settings["prices"]
    parts = [f"{percent(prices['test_share'])} test questions"] if prices["test_share"] else []
    parts += [f"a {percent(prices['fee'])} fee"] if prices["fee"] and "pay" in prices else []
    return f"{' and '.join(parts)} included" if parts else "without test questions or a fee"


def lead(run: Design) -> str:
    """Say what the existing ratings already settle, and what no number of ratings would settle."""
    rows, buy = run.records("needs"), to_buy(run)
    if not buy:
        return ""
    enough = sum(map(_settled, rows))
    never = len(rows) - enough - len(buy)
    settled = (
        f"Of {plural(len(rows), 'question')}, the existing ratings settle {enough:,}; more "
        f"ratings would settle {len(buy):,}"
    )
    return settled + (f"; {never:,} cannot be settled (reasons below)." if never else ".")


def scope(run: Design) -> str:
    """What the numbers are based on, for the line above the headline."""
    people = sum(rater.kind == "human" for rater in run.raters.values())
    how = "80% intervals by a formula"
    if run.thorough:
        how = f"{plural(run.settings['rounds'], 'round')} a design"
    return " · ".join(
        [plural(people, "person", "people"), plural(len(run.languages), "language"), how]
    )


def answer_table(run: Design) -> TableView:
    """A table of the ratings to collect, the most useful first."""
    rows: Rows = []
    for row in to_buy(run):
        items = Cell(plural(int(row["items_to_buy"]), "item"), _of_how_many(row))
        people = f"x {plural(int(row['raters']), 'person', 'people')}"
        rows.append([name(_aim(run, row).rstrip(":"), 200), items, people, *_price(row)])
    columns: tuple[str, ...] = ("what for", "to buy", "people", "hours", "price")
    filled = [
        column for column in range(len(columns)) if column < 3 or any(row[column] for row in rows)
    ]
    rows = [[row[column] for column in filled] for row in rows]
    columns = tuple(columns[column] for column in filled)
    return TableView.of(
        run, "needs", "What to buy next", columns, rows, name="answer", most=MOST_ROWS, turns=True
    )


def _of_how_many(row: Row) -> str:
    """The line below what to collect: the number of items needed in all, with its interval."""
    if open_end(row):
        return f"of at least {count(row['items_low'])}; then plan again"
    return f"of {_size(row)}" if interval_of(row) else f"of {count(row['items_needed'])}"


def cards(run: Design) -> Iterator[Remark]:
    """Cards: where people disagree, what to be careful about, how to spend labels, and what to do
    next.
    """
    if unlike := dict.fromkeys(map(_where, repeat(run), run.records("needs", verdict=DISAGREE))):
        advice = (
            "No judge can be validated there until people agree: improve the guidelines before "
            "you collect more ratings."
        )
        yield Remark("Guidelines first", f"People disagree {places(list(unlike))}. {advice}")
    yield Remark("Do not conclude", limits(run))
    yield Remark("One label or several", " ".join(filter(None, [designs_compared(run), pay(run)])))
    if buy := to_buy(run):
        options = f"-l {shlex.quote(buy[0]['language'])} -c {shlex.quote(buy[0]['criterion'])}"
        outputs = plural(int(buy[0]["items_to_buy"]), "output")
        advice = (
            f"Add {outputs} of the same kind to the dataset, then hand out what nobody has rated:"
        )
        yield Remark(
            "What to do next",
            advice,
            to_hand_out(run, f" --raters {int(buy[0]['raters'])} {options}"),
        )
    else:
        yield Remark("What to do next", "See what the existing ratings show:", go_on(run, "audit"))
