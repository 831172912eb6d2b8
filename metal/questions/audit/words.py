"""An audit in words: facts from its tables that the first screen does not show, and the meaning of
its figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from metal.auditing.clauses import MIN_COVERAGE
from metal.auditing.judging import added_statistics
from metal.auditing.settings import MIN_RATED
from metal.auditing.standing import MIN_ITEMS, MIN_SOURCES
from metal.auditing.verdict import (
    DISAGREE,
    INFORMATIVE,
    LIKE_A_PERSON,
    SMALL,
    UNDECIDED,
    UNINFORMATIVE,
)
from metal.data.languages import language_name
from metal.data.text import capital, estimate, known, listed, percent, within
from metal.questions.audit.headline import knows, rank
from metal.questions.audit.judges import is_prompt_pair
from metal.questions.audit.places import place
from metal.questions.audit.run import AuditRun
from metal.show.charts.dots import significant
from metal.show.parts import criterion_in_words

MOST_NAMED = 4
FEW_SOURCES = 30
_FITTED = (
    "fitted once to each language and criterion, from people alone; if two answers are equally "
    "probable, the item is a tie and left out. Resamples keep the fitted answer, so intervals do "
    "not include the model's own uncertainty"
)
SOURCES = {
    "Weighted F1": "METAL paper, 4.4.1",
    "Kappa, alpha, AC1": "Cohen 1960, Krippendorff 2004, Gwet 2014",
    "Fleiss' kappa": "Fleiss 1971; METAL Table 6",
    "Three human ceilings": "METAL 5.1",
    "Alternative annotator test": "Calderon et al. 2025",
}


def facts(run: AuditRun) -> dict[str, str]:
    """Facts that the first screen does not show, by topic; each line follows from the run's tables
    alone.
    """
    cells = run.judged
    decided = [cell for cell in cells if cell["verdict"] not in (UNDECIDED, DISAGREE)]
    return {
        "Judges": _most_trusted(run, decided, "judge", "", "judges", within),
        "Languages": _most_trusted(run, decided, "language", "in ", "languages", language_name),
        "Criteria": _most_trusted(
            run,
            decided,
            "criterion",
            "on ",
            "criteria",
            lambda criterion: criterion_in_words(run, criterion),
        ),
        "Worst": _worst(decided, run) if len(decided) > 1 else "",
        "Prompts": _prompts(run),
        "People": _people(run),
        "Do not conclude": _limits(run, cells),
    }


def _worst(decided: Sequence[dict[str, Any]], run: AuditRun) -> str:
    cell = max(decided, key=rank)
    case = f"{within(cell['judge'])} {place(run, cell)}"
    named = {"F1": "weighted_f1", "kappa": "kappa"}
    figures = ", ".join(
        f"{called} {estimate(cell, column)}"
        for called, column in named.items()
        if known(cell[column])
    )
    return f"{case}: {cell['verdict']} ({'; '.join(filter(None, [knows(cell), figures]))})."


def _most_trusted(
    run: AuditRun,
    decided: Sequence[dict[str, Any]],
    column: str,
    link: str,
    many: str,
    called: Callable[[str], str],
) -> str:
    """Say which language, criterion or judge is at least informative most often and least often.

    Each is shown with its share of the verdicts that could be given. Empty if all shares are equal.
    """
    trusted: dict[str, list[bool]] = {}
    for cell in decided:
        trusted.setdefault(cell[column], []).append(cell["verdict"] in (LIKE_A_PERSON, INFORMATIVE))
    shares = {key: sum(informed) / len(informed) for key, informed in trusted.items()}
    if len(set(shares.values())) < 2:
        return ""
    extremes = []
    for share in (max(shares.values()), min(shares.values())):
        keys = [key for key in shares if shares[key] == share]
        names = f"{len(keys)} {many} alike"
        if len(keys) <= MOST_NAMED:
            names = listed(list(map(called, keys)))
        of = "" if len(keys) > 1 else f" of {len(trusted[keys[0]])}"
        extremes.append(f"{link}{names} ({percent(share)}{of})")
    best = capital(run.best_verdict)
    return f"{best} or informative most often {extremes[0]}, least often {extremes[1]}."


def _prompts(run: AuditRun) -> str:
    """Say how often prompts of one model differ; empty if no model was asked with two prompts."""
    rows = [
        row
        for row in run.records("differences")
        if is_prompt_pair(run, row) and known(row["p_adjusted"])
    ]
    if not rows:
        return ""
    compared = f"{len(rows)} differences between prompts of one model"
    proven = list(filter(significant, rows))
    if not proven:
        return f"None of {compared} is significant; that does not prove them equal."
    ahead = [row["first" if row["difference"] > 0 else "second"] for row in proven]
    better = Counter(run.model_and_prompt(judge)[1] for judge in ahead)
    parts = [
        f"{within(prompt) or 'no prompt'} ahead in {number}"
        for prompt, number in better.most_common()
    ]
    return f"Of {compared} {len(proven)} are significant: {listed(parts)}."


def _people(run: AuditRun) -> str:
    rows = [row for row in run.records("people") if known(row["fleiss_kappa"])]
    if not rows:
        if not run.audited:
            return ""
        return "Their agreement beyond chance (Fleiss' kappa) is undefined everywhere."
    most, least = (
        f"{place(run, row)} ({estimate(row, 'fleiss_kappa')})"
        for row in (pick(rows, key=lambda row: row["fleiss_kappa"]) for pick in (max, min))
    )
    sentences = f"They agree most {most}, least {least}, by Fleiss' kappa."
    if len(rows) == 1:
        sentences = f"Their Fleiss' kappa is {estimate(rows[0], 'fleiss_kappa')}."
    weak = [row for row in rows if known(row["fleiss_kappa_low"]) and row["fleiss_kappa_low"] <= 0]
    if weak:
        sentences += (
            f" In {len(weak)} of {len(rows)} their own agreement beyond chance is not shown: no"
            " judge can be validated there."
        )
    return sentences


def _limits(run: AuditRun, cells: Sequence[dict[str, Any]]) -> str:
    parts = ["that people are right, only that they agree"]
    if cells:
        parts.insert(
            0, "that a judge good here is good on other texts, generators, languages or criteria"
        )
        if len(run.languages) > 1:
            parts.append(
                "that two languages differ, because different people rated each and the "
                "difference was not tested"
            )
        if any(cell["verdict"] == UNDECIDED for cell in cells):
            parts.append("that “undecided” means bad")
        parts.append("that a judge's reasons are sound")
    few = int(min((cell["sources"] for cell in cells if cell["sources"]), default=FEW_SOURCES))
    more = (
        f" With as few as {few} sources, intervals of differences, leads and leniency are too"
        " narrow."
    )
    return f"{'; '.join(parts)}.".capitalize() + (more if few < FEW_SOURCES else "")


def definitions(run: AuditRun) -> dict[str, str]:
    """The definitions behind this report, with the settings of this run."""
    settings = run.manifest.get("settings", {})
    rule = settings.get("aggregate", "majority-or-mean")
    aggregate = {
        "majority-or-mean": (
            "the answer given more often than any other; if there is none, the mean of the "
            "answers if that is itself an answer; otherwise the item is a tie and is left out"
        ),
        "majority-or-middle": (
            "the answer given more often than any other; if there is none, the middle of the scale"
        ),
        "majority": (
            "the answer given more often than any other; if there is none, the item is a tie "
            "and is left out"
        ),
        "dawid-skene": (
            "the most probable answer under Dawid and Skene's model, which weighs each person's "
            "answers by how often that person is right and which labels that person confuses; "
            f"{_FITTED}"
        ),
        "mace": (
            "the most probable answer under MACE, which estimates for each person how often "
            f"they know the answer, and what they answer when they do not; {_FITTED}"
        ),
    }[rule]
    compat = (
        "; as requested, Fleiss' kappa is printed as 0 where all ratings are in one class, as in"
        " Table 6 of the METAL paper"
    )
    compat = compat if settings.get("paper_compat") else ""
    defined = {
        "People's aggregate": f"{aggregate}. Only items that enough people rated count.",
        "Weighted F1": (
            "F1 of each class with the people's aggregate as truth, averaged with the frequency "
            "of the class among people as weight. It rewards always giving the most frequent "
            "answer, so never read it alone."
        ),
        "Most frequent class": (
            "F1 of always giving the people's most frequent answer in that language and"
            " criterion: the floor. The lead is a judge's F1 minus this floor, on the same items."
        ),
        "Kappa, alpha, AC1": (
            "Agreement beyond chance; they differ in how they model chance (Cohen: each side's "
            "own answers; Krippendorff: all answers together; Gwet: by how hard the items are). "
            "Quadratic kappa weights each disagreement by the squared distance between the two "
            "levels. 0 is chance, 1 is perfect."
        ),
        "Fleiss' kappa": (
            "Agreement beyond chance within a panel of people, on all items with two or more "
            "ratings. Table 6 of the METAL paper has it on the items with the usual number of "
            "ratings."
        ),
        "Three human ceilings": (
            "Pairwise: person with person (METAL's human row). Against the others: each person"
            " against the majority of the others, the fair measure for a judge. Against all: each "
            "person against an aggregate that contains their own answer, which is optimistic. "
            "People with"
            f" fewer than {MIN_RATED} ratings are left out of all three."
        ),
        "Alternative annotator test": (
            "The test leaves out one person at a time and asks whether the judge is as close to "
            "the remaining people as that person was. The judge gets an allowance (epsilon), "
            "because people cost more. The winning rate is the share of people beaten; 0.5 "
            "passes."
        ),
    }
    added = added_statistics().items()
    of_plugins = {
        each.title: each.definition for name, each in added if name in run.tables["judges"]
    }
    further = {
        "The same figures from other libraries": (
            "`metal verify RUN` recomputes F1, kappas, alphas, Fleiss' kappa, correlations and "
            "the alternative annotator test from the ratings with scikit-learn, krippendorff, "
            "statsmodels and scipy. It says how many figures are equal, and to how many digits."
        ),
        "Intervals": (
            "95%, over whole sources, because outputs of one source are not independent. Shares "
            "and F1: Wilson's, with the number of independent items that would give the same "
            "variance. Agreement beyond chance: jackknife of the observed disagreement divided "
            "by the expected. Differences: percentile bootstrap with "
            f"{settings.get('resamples', 2000):,} resamples; more than 2,048 sources are drawn "
            "in random blocks."
        ),
        "Without one person": (
            "The lowest and highest value of a figure when each person is left out in turn. Other"
            " outputs may then count, so the figure itself may lie outside this range. People are"
            " a sample too: each figure holds for these people."
        ),
        "Families of tests": (
            "Differences between judges are corrected so that one false alarm among the languages"
            " is unlikely (Holm). Verdicts are not corrected: each is about its own cell."
        ),
        "Verdicts": (
            "A judge is put in each person's place, facing the other people. Both are compared "
            "with the others' most frequent answer, class by class, so that a rare class counts "
            "as much as a common one. The judge's lead over a constant answer, as a share of "
            "the person's lead, is what it keeps: 0 is a constant, 1 a person. "
            f"“{LIKE_A_PERSON}”: shown to be less than {settings.get('margin', 0.1):g} below a "
            f"person, to keep more than {settings.get('keep', 0.7):.0%}, and to find the bad end "
            f"and every common class; the judge answers at least {MIN_COVERAGE:.0%} of the "
            f"questions. “{INFORMATIVE}”: surely better than a constant; the reason says what is "
            f"open. “{UNINFORMATIVE}”: one answer only, or surely less than {SMALL} better than "
            f"a constant. “{DISAGREE}”: people agree too little with each other to compare a "
            f"judge with them. “{UNDECIDED}”: fewer than {MIN_ITEMS} items or {MIN_SOURCES} "
            "sources, or too uncertain. A verdict holds for its own cell and these people, at "
            "5%; it does not depend on which other cases were audited."
        ),
        "Undefined": (
            "A figure that has no value (for instance kappa where only one class was used) is a "
            f"dash with its reason, never 0{compat}. Unanswered questions are counted in "
            "coverage and, as wrong answers, in strict F1; they are never guessed."
        ),
    }
    return {**defined, **of_plugins, **further}


def sources(run: AuditRun) -> dict[str, str]:
    """Where the definitions come from."""
    rule = run.manifest.get("settings", {}).get("aggregate")
    source = {"dawid-skene": "Dawid and Skene 1979", "mace": "Hovy et al. 2013"}.get(
        rule, "METAL paper, 3.2.6"
    )
    return {**SOURCES, "People's aggregate": source}
