"""A design study in words: what it says, and what its figures mean."""

from __future__ import annotations

from typing import Any

from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON
from metal.data.text import count, dollars, known, listed, plural, with_minus, within
from metal.questions.design.plans import ITEMS, SCORE
from metal.questions.design.run import Design, interval_of
from metal.questions.design.study import LEAST_ITEMS
from metal.questions.design.tables import asked_for, designs
from metal.questions.design.verdicts import NEW_JUDGE
from metal.runs.run import spoken

QUESTIONS = {
    LIKE_A_PERSON: "Like a person",
    INFORMATIVE: "Informative",
    SCORE: "Generators' scores",
}
SOURCES = {
    "Score": "GENIE section 4, footnote 6",
    "Budget": "GENIE section 4, footnotes 4 to 7",
    "Cost": "GENIE section 6",
}


def facts(run: Design) -> dict[str, str]:
    """Facts on what the plan is based on, how to spend labels, what is needed, what it costs, and
    what not to conclude.
    """
    lines = {
        "Planned from": _planned_from(run),
        "One label or several": designs_compared(run),
        **{title: _items_needed(run, question) for question, title in QUESTIONS.items()},
        "Pay": pay(run),
        "Do not conclude": limits(run),
    }
    return {title: sentence for title, sentence in lines.items() if sentence}


def _planned_from(run: Design) -> str:
    criteria = dict.fromkeys(within(run.criterion(criterion)) for criterion, _ in run.cells)
    languages = [spoken(code) for code in run.languages]
    people = sum(rater.kind == "human" for rater in run.raters.values())
    rounds = plural(run.settings["rounds"], "round")
    how = (
        f"Simulated in {rounds} per design"
        if run.thorough
        else "Items by a formula, budgets of labels simulated in "
    )
    how += "" if run.thorough else rounds
    return (
        f"{how}, from the ratings of {plural(people, 'person', 'people')} on"
        f" {listed(list(criteria))} in"
        f" {listed(languages) if len(languages) < 12 else len(languages)}."
    )


def designs_compared(run: Design) -> str:
    """Say how often one label each for more items repeats better than several labels for fewer."""
    pairs = [(by["unilabelling"]["sd"], by["multilabelling"]["sd"]) for by in designs(run).values()]
    pairs = [(uni, multi) for uni, multi in pairs if known(uni) and known(multi)]
    if not pairs:
        return "Items have one label, so there are no designs to compare."
    sentence = (
        "One label each for more items has a lower standard deviation than several labels for "
        "fewer items in "
    )
    sentence += f"{sum(uni < multi for uni, multi in pairs)} of {len(pairs)} cases"
    ratios = sorted(uni / multi for uni, multi in pairs if multi)
    if ratios:
        middle = ratios[len(ratios) // 2]
        sentence += f"; in the median case, it is {middle:.2f} times as large"
    return f"{sentence}."


def _items_needed(run: Design, question: str) -> str:
    """Say how many items a question needs with the most raters, or why that is undefined; empty if
    it was not asked.
    """
    rows = run.records("needs", question=question)
    if not rows:
        return ""
    most = max(int(row["raters"]) for row in rows)
    rows = [row for row in rows if row["raters"] == most]
    defined = [row for row in rows if known(row["items_needed"])]
    if not defined:
        reasons = dict.fromkeys(row["undefined"] for row in rows)
        return f"{asked_for(run, question)}: undefined, {with_minus('; '.join(reasons))}."
    least, dearest = (pick(defined, key=lambda row: row["items_needed"]) for pick in (min, max))
    sentence = (
        f"{asked_for(run, question)} takes, if there are {plural(most, 'person', 'people')} per"
        f" item, {_items(run, least)}"
    )
    sentence += f", and {_items(run, dearest)}" if dearest is not least else ""
    enough = sum(not row["extrapolated"] for row in defined)
    left = len(rows) - len(defined)
    undefined = f" It is undefined for {left}; the reasons are below the table." if left else ""
    return (
        f"{sentence}. The data have enough, even for the upper end, in {enough} of {len(defined)}"
        f" cases.{undefined}"
    )


def _items(run: Design, row: dict[str, Any]) -> str:
    times = row["sources_needed"] / row["sources_now"]
    beside = interval_of(row) or f"{times:.1f} times the existing {count(row['items_now'])}"
    case = run.where(row["criterion"], row["language"])
    return f"{count(row['items_needed'])} items for {case}, {within(row['who'])} ({beside})"


def pay(run: Design) -> str:
    """Say what an hour is paid, and what it should be paid; empty if a task's pay or time is
    unknown.
    """
    prices = run.settings["prices"]
    if "pay" not in prices or "seconds" not in prices:
        return ""
    hourly = prices["pay"] * 3600 / prices["seconds"]
    sentence = (
        f"{dollars(prices['pay'])} for a task of {prices['seconds']:g} seconds is {dollars(hourly)}"
        " an hour"
    )
    least = prices["min_hourly"]
    return (
        f"{sentence}, {'below' if hourly < least else 'at least'} the {dollars(least)} that people"
        " should be paid."
    )


def limits(run: Design) -> str:
    """What a plan from the data does not show."""
    rows = run.records("needs")
    few = min((int(row["sources_now"]) for row in rows if known(row["sources_needed"])), default=0)
    return (
        (
            "That the next sources, outputs and people are like these: the plan is based on the"
            " existing ratings"
        )
        + (f", here from as few as {plural(few, 'source')}" if few else "")
        + (
            ". A binary scale computed from ratings is not the same as a question asked with two"
            " answers."
        )
    )


BY_FORMULA = (
    "A standard error shrinks with the square root of the number of sources. Each figure that has"
    " a limit in the rules of the verdict gives n = n0 ((z(p) + z(power)) x error / (figure -"
    " bound))^2 with the n0 existing sources, and the largest n counts. For the width of a score"
    " n = n0 (width now / width asked for)^2. No verdict is simulated: `--thorough` does that."
)
INTERVAL_WORDS = (
    "80% interval: the existing sources, drawn with replacement 200 times, give 200 numbers; "
    "their 10% and 90% quantiles are the ends. If more than a tenth of these numbers are out of "
    "reach, today's ratings give no upper end: have some more rated, then plan again."
)
NOT_ASKED = (
    "The plan leaves out what an audit of the existing ratings already shows, and cells where"
    " people disagree: no judge can be validated there, so improve the guidelines first."
)


def _simulated(run: Design) -> str:
    """How a simulation finds a number of items."""
    settings = run.settings
    rules = (
        f"margin {settings['margin']:g}, keep {settings['keep']:g}, people's floor"
        f" {settings['people_floor']:g}"
    )
    return (
        "Sources, each with all its outputs, are drawn with replacement, and k of the people of"
        " each item at random. For scores, the search for the number that gives the width (of the"
        " central 95% of the rounds) goes along width ~ 1 / sqrt(n); for verdicts it is a"
        f" bisection between {ITEMS[0]} and {ITEMS[-1]:,} items. The result is based on"
        f" {settings['rounds'] // 5} rounds or more; ± is the Monte Carlo error only. Power is the"
        f" share of rounds with the verdict: in each round the rules of an audit ({rules}) are"
        " applied to a cell; a number of items whose power is far from the power asked for is given"
        f" up after a few rounds. Undefined where {ITEMS[-1]:,} items are not enough. Power need"
        " not rise everywhere: with more items a careless person may be left out, or a different"
        " one."
    )


def definitions(run: Design) -> dict[str, str]:
    """The definitions behind this study, with its settings."""
    settings = run.settings
    return {
        "Score": (
            "The share of the scale, 0 the worst and 1 the best; the mean over outputs, all"
            " generators together."
        ),
        "Budget": (
            "If items usually have k labels, the budget is a k-th of all labels. Multilabelling"
            " takes all k labels of an item; unilabelling takes one label each for k times as"
            f" many items. Items are drawn with replacement, {settings['rounds']:,} times. GENIE"
            " has k = 3."
        ),
        "Binary": (
            "1 for the upper half of the scale including its middle, else 0; computed from"
            " the ratings, without asking anybody again."
        ),
        "Majority": (
            "The label given more often than any other; if there is none, the mean. One label is"
            " its own mean and majority."
        ),
        "Standard deviation": (
            "The standard deviation of the score over rounds: how far it would move if the"
            " evaluation were repeated. For the mean, a formula gives it: (variance between"
            " items + variance of labels within items / labels per item) / items."
        ),
        "Populations": (
            "The raters of one day, round or group, or each person alone, if they rated"
            f" {LEAST_ITEMS} items or more. A score that depends on who rates differs between"
            " populations, however many items there are."
        ),
        "Items needed": (
            (_simulated(run) if run.thorough else BY_FORMULA) + f" {INTERVAL_WORDS} {NOT_ASKED}"
        ),
        NEW_JUDGE.capitalize(): (
            "Each person in turn is left out, and the imagined judge's answers are drawn so that "
            "it finds and confuses every class of the others as often as that person, on average "
            "over people. It copies no single person: if people differ much from each other,"
            " real judges may be better or worse."
        ),
        "Share kept": (
            "The judge's lead over a constant answer as a share of a person's lead, in the data."
        ),
        "Cost": (
            "Tasks are items x people, plus test questions as a share of all tasks. Each task"
            " costs its pay and the platform's fee. Costs are for the upper end of the interval;"
            " the price of what to buy next leaves out the items already rated."
        ),
        "Undefined": "A figure without a value is a dash with its reason, never 0.",
    }
