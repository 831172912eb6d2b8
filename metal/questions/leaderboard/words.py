"""A leaderboard in words: what it says, and what its figures mean."""

from __future__ import annotations

from typing import Any

from metal.data.text import capital, count, estimate, known, listed, plural, share, within
from metal.questions.leaderboard.coverage import coverage_rows, unrated
from metal.questions.leaderboard.generator_scores import LEAST_MISSED, LEAST_SHARED, MOST_MOVED
from metal.questions.leaderboard.run import Leaderboard, form_of, in_own_units
from metal.runs.run import spoken
from metal.show.parts import NAMED, parts, places
from metal.show.rankings import languages_in_words, people_in_words
from metal.stats.ranks import LEVEL

SOURCES = {
    "Score": "GENIE 4 and footnote 6",
    "Standard error": "GENIE, Appendix C",
    "At most": "GENIE, Appendix C; Bhatia and Davis 2000",
    "Ranks": "Mogstad et al. 2024; Holm 1979",
    "Sample": "GENIE 6",
}


NOT_CONCLUDED = (
    "That a high rank carries over to other texts, languages, criteria or people; that generators"
    " whose ranks overlap are equal."
)


def facts(run: Leaderboard) -> dict[str, str]:
    """Facts on what was ranked, how certain that is, what is missing, and what not to conclude.

    The headline says who is best, and the card next to it who is first in each language.
    """
    rows = run.ranking(run.main, run.language)
    return {
        "Ranked": _ranked(run, rows),
        "How sure": _sure(run, rows),
        "Still to be rated": _unrated(run),
        "Do not conclude": NOT_CONCLUDED,
    }


def _ranked(run: Leaderboard, rows: list[dict[str, Any]]) -> str:
    ratings = sum(int(row["ratings"]) for row in rows)
    criteria = listed([within(run.criterion(criterion)) for criterion in run.counted])
    sample = (
        f" A fixed sample of {run.sample} sources per language is scored (seed {run.seed})."
        if run.sample
        else ""
    )
    return (
        f"{plural(len(rows), 'generator')} by {people_in_words(run)} with {ratings:,} ratings in"
        f" {languages_in_words(run.languages)};"
        f" {plural(len(run.counted), 'criterion', 'criteria')}: {criteria}. Shown first is"
        f" {within(run.criterion(run.main))}, {spoken(run.language)}.{sample}"
    )


def not_shown_worse(run: Leaderboard, best: dict[str, Any]) -> list[str]:
    """The generators that were compared with the first of the main ranking without being shown to
    be worse.
    """
    pairs = run.records(
        "comparisons", criterion=run.main, language=run.language, first=best["generator"]
    )
    alike = []
    for pair in pairs:
        if known(pair["p_adjusted"]) and not (
            pair["difference"] > 0 and pair["p_adjusted"] <= LEVEL
        ):
            alike.append(str(pair["second"]))
    return alike


def why_alone(row: dict[str, Any]) -> str:
    """Why a generator cannot be compared with most others; empty if it can.

    Earlier versions wrote `cluster`.
    """
    reasons = (
        within(reason)
        for figure, reason in parts(row["undefined"])
        if figure in ("ranks", "cluster")
    )
    return next(reasons, "")


def score_of(row: dict[str, Any]) -> str:
    """A score with its interval, such as `0.846 [0.805, 0.880]`."""
    return estimate(row, "score", form_of(row))


def _sure(run: Leaderboard, rows: list[dict[str, Any]]) -> str:
    errors = [row["standard_error"] for row in rows if known(row["standard_error"])]
    alone = sum(bool(why_alone(row)) for row in rows)
    sentence = "No generator has two sources, so there is no standard error"
    if errors:
        form = form_of(rows[0])
        ends = " to ".join(dict.fromkeys(form(pick(errors)) for pick in (min, max)))
        sentence = f"Standard errors {ends}"
        if not in_own_units(rows[0]):
            most = max(row["worst_error"] for row in rows)
            sentence += f" (the largest possible with such scores is {share(most)})"
    if len(rows) > 1:
        tested = run.records("comparisons", criterion=run.main, language=run.language)
        shown = sum(known(pair["p_adjusted"]) and pair["p_adjusted"] <= LEVEL for pair in tested)
        verb = "is" if shown == 1 else "are"
        sentence += (
            f"; {shown or 'none'} of {plural(len(tested), 'pair')} of generators {verb} shown to"
            " differ"
        )
    if alone:
        sentence += (
            f"; {plural(alone, 'generator')} cannot be compared with most others, for reasons given"
            " below the ranking"
        )
    return f"{sentence}."


def first_by_language(run: Leaderboard) -> str:
    """Say who is first in each language, if there are several generators and languages."""
    each = list(filter(None, run.languages))
    if len(each) < 2 or run.tables["leaderboard"]["generator"].nunique() < 2:
        return ""
    first: dict[str, list[str]] = {}
    for code in each:
        rows = [row for row in run.ranking(run.main, code) if not why_alone(row)]
        if rows:
            first.setdefault(rows[0]["generator"], []).append(spoken(code))
    if len(first) == 1:
        return "".join(
            f"{within(who)} is first in each of {len(languages)} languages."
            for who, languages in first.items()
        )
    leaders = [
        f"{within(generator)} in {places(languages)}" for generator, languages in first.items()
    ]
    more = [f"{len(leaders) - NAMED} more elsewhere"] if len(leaders) > NAMED else []
    return f"First is {'; '.join([*leaders[:NAMED], *more])}."


def _unrated(run: Leaderboard) -> str:
    """Say which generators lack ratings; empty if none does."""
    new = [within(row["generator"]) for row in unrated(run)]
    partly = sum(0 < row["outputs_rated"] < row["outputs"] for row in coverage_rows(run))
    sentences = []
    if new:
        sentences.append(f"no output of {places(new)} is rated yet")
    if partly:
        sentences.append(
            f"{plural(partly, 'generator')} {'is' if partly == 1 else 'are'} only partly rated"
        )
    text = "; ".join(sentences)
    return f"{capital(text)}." if text else ""


def differing_texts(rows: list[dict[str, Any]]) -> str:
    """A remark if generators were not rated on the same texts; otherwise empty."""
    least, most = (int(pick(row["sources"] for row in rows)) for pick in (min, max))
    few, many = (int(pick(row["languages"] for row in rows)) for pick in (min, max))
    if few < many:
        return (
            f"Generators were rated in {few} to {many} languages and on {least} to {most} sources:"
            " their scores are about different texts, people and languages; look at each language"
            " alone."
        )
    if least < most:
        return (
            f"Generators were rated on different sources ({least} to {most}): their scores are"
            " about different texts."
        )
    return ""


def definitions(run: Leaderboard) -> dict[str, str]:
    """The definitions behind this leaderboard, with the settings of this run."""
    settings = run.manifest["settings"]
    permutations = settings.get("permutations", 1000)
    labels = (
        "Several labels of one output become the one given most often (of several such labels,"
        " their mean)"
        if settings.get("aggregate") == "majority"
        else "Several labels of one output are averaged"
    )
    return {
        "Score": (
            "Each rating is put on 0, the worst, to 1, the best of its scale: five Likert levels"
            f" become 0, 0.25, 0.5, 0.75, 1. On a scale without ends, ratings stay as they are."
            f" {labels}; a generator's score is the mean over its outputs."
        ),
        "Overall": (
            "The mean over an output's criteria, each after combining its labels; outputs"
            " that lack a criterion do not count, nor do criteria whose scale has no ends."
        ),
        "Interval": (
            "95%, by Wilson at the effective number of items (from the variance over the"
            " generator's own sources), widened by Student's t for few sources. On a scale without"
            " ends, by Student's t on the jackknife variance over these sources. It does not"
            " change when another generator joins."
        ),
        "Standard error": (
            "Computed by source: the square root of the summed squares of how far each source's"
            " outputs are above or below the score, divided by the number of outputs. With one"
            " output per source that is the standard deviation divided by the square root of n."
        ),
        "At most": (
            "The largest possible standard error for a score m between 0 and 1 and n sources: the"
            " square root of m(1 − m)/n, by the Bhatia-Davis inequality. There is none if the scale"
            " has no ends. If sources have several "
            "outputs, n is the number of independent outputs that they are worth if all outputs "
            "of a source are alike."
        ),
        "Ranks": (
            "A two-sided paired test of every two generators on the sources they share"
            f" ({LEAST_SHARED} at least): {count(permutations)} permutations or more in which the"
            " two exchange their scores, and Student's t if fewer than 10 of them reach the"
            " difference; p is never below 2 to the power of (1 minus the number of sources)."
            " Corrected by Holm over all pairs. A generator's first possible rank is 1 plus the "
            "number of generators shown to be better; its last is the number of all generators "
            "minus that of generators shown to be worse; pairs without a test count as not "
            "different. At 95% all of"
            " these ranks hold at once. Not different does not mean equal."
        ),
        "Groups of people": (
            "A group's weight in a generator's score is its share of the ratings of an output,"
            " averaged over outputs. Two generators are not compared if more than"
            f" {MOST_MOVED:.0%} of the weight is with different groups, or if a group with a "
            f"weight of {LEAST_MISSED:.0%} or more for one generator rated nothing of the other. "
            f"The "
            f"weights are over the sources they share, or over all sources if they share fewer "
            f"than {LEAST_SHARED}. The generator that differs in this way from most others is "
            f"named first (of several, the one with the fewest ratings), and so on until none "
            f"differ."
            " The order is still by score."
        ),
        "Sample": (
            "A fixed number of sources per language, chosen by a hash of seed, language and"
            " source: the same for every generator, also later ones. A larger sample contains"
            " the smaller one."
        ),
        "Beside": "Means of metrics and judges over the outputs that people rated.",
        "Undefined": "A figure without a value is a dash with its reason, never 0.",
    }
