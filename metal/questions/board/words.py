"""A board in words: what it says, what its figures mean, which have no value, and the rank of a
newcomer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from metal.boards.board import Board
from metal.boards.ensemble import LEAST_COVERAGE, NAME
from metal.data.text import (
    count,
    estimate,
    figure,
    interval,
    known,
    listed,
    p_value,
    plural,
    ranks,
    share,
    signed,
    within,
)
from metal.questions.board.raters import one_person
from metal.questions.board.run import KINDS, Billboard
from metal.runs.columns import Row, title_of
from metal.runs.run import spoken
from metal.show.parts import parts, places
from metal.show.rankings import languages_in_words, people_counted, people_in_words
from metal.show.view import TableView
from metal.stats.ranks import LEVEL

FEW_SOURCES = 30
SOURCES = {
    "r": "Bidimensional Leaderboards 2.1",
    "SPA": "Thompson et al. 2024",
    "Pairwise accuracy": "Deutsch et al. 2023",
    "Ranks": "Mogstad et al. 2024; Holm 1979; Deutsch et al. 2021; Koning and Hemerik 2024",
    "Ensemble": "Bidimensional Leaderboards 2.2",
    "Overrating": "Bidimensional Leaderboards 2.3",
}


def facts(run: Billboard) -> dict[str, str]:
    """What was ranked, who agrees best, how close to a person, how the ensemble does, and what not
    to conclude.
    """
    rows = [
        row
        for row in run.records("raters", criterion=run.main, language=run.language)
        if known(row["pearson"])
    ]
    return {
        "Ranked": _ranked(run),
        "Agrees best": _best(run, rows),
        "Against a person": _person(run, rows),
        "Ensemble": _ensemble(run, rows),
        "Best generator": best_generators(run),
        "Overrating": _overrated(run),
        "Do not conclude": _limits(run),
    }


def _ranked(run: Billboard) -> str:
    kinds = Counter(run.kinds[rater] for rater in run.rows("raters")["rater"].unique())
    named = {
        "human": ("other group of people", "other groups of people"),
        "llm": ("LLM judge", "LLM judges"),
    }
    raters = listed(
        [
            plural(kinds[kind], *named.get(kind, (kind_name,)))
            for kind, kind_name in KINDS.items()
            if kinds[kind]
        ]
    )
    generators = (
        run.rows("within_generators")["generator"].nunique()
        if len(run.tables["within_generators"])
        else 0
    )
    criteria = listed([within(run.criterion(criterion)) for criterion in run.measured])
    outputs = sum(
        int(row["outputs"])
        for row in run.records("people", criterion=run.main, language=run.language)
    )
    return (
        f"{raters} against {people_in_words(run)} on the outputs of"
        f" {plural(generators, 'generator')} in {languages_in_words(run.languages)};"
        f" {plural(len(run.measured), 'criterion', 'criteria')}: {criteria}. Shown first is"
        f" {within(run.criterion(run.main))}, {spoken(run.language)}: {outputs:,} outputs that"
        f" people rated. Version {run.version} of the board."
    )


def pearson(row: Row) -> str:
    """`r 0.45 [0.41, 0.49]`"""
    return f"r {estimate(row, 'pearson')}"


def _best(run: Billboard, rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return (
            "Nobody: no rater's correlation with people is defined here; see the reasons"
            " below the table."
        )
    best = rows[0]
    kind = "" if run.kinds[best["rater"]] == "ensemble" else f" ({run.kind(best['rater'])})"
    sentence = (
        f"{within(best['rater'])}{kind}: {pearson(best)} over {int(best['outputs']):,} outputs"
    )
    return f"{sentence}. {ahead(run, rows)}{best_single(run, rows)}"


def ahead(run: Billboard, rows: Sequence[Row]) -> str:
    """A phrase on whether the first of ranked rows is shown to be better than the next."""
    if len(rows) == 1:
        return "There is no other rater to compare it with."
    best, second = rows[:2]
    versus = f"{within(second['rater'])} ({figure(second['pearson'])})"
    if not known(best.get("rank_high")):  # runs of earlier versions have none
        return f"The next is {versus}."
    if best["rank_high"] == 1:
        return f"It is significantly better than the next one, {versus}, and than all below that."
    standing = f"it may be anywhere from rank {ranks(1, best['rank_high'])}"
    if _told_apart(run, best, second):
        return f"It is significantly better than the next one, {versus}, but {standing}."
    return (
        f"It is not shown to be better than the next one, {versus}{_tested(run, best, second)}:"
        f" {standing}."
    )


def best_single(run: Billboard, rows: Sequence[Row]) -> str:
    """A sentence on the best rater that is not an ensemble, if an ensemble comes first; else
    empty.
    """
    if run.kinds[rows[0]["rater"]] != "ensemble":
        return ""
    single = next((row for row in rows if run.kinds[row["rater"]] != "ensemble"), None)
    return (
        f" The best that is not an ensemble is {within(single['rater'])}, {pearson(single)}."
        if single
        else ""
    )


def _tested(run: Billboard, first: Row, second: Row) -> str:
    """The p-value of two raters of the main ranking, the better one first; empty without one."""
    p = _adjusted(run, first, second)
    return f", p {p_value(p)} after correction" if known(p) else ""


def _told_apart(run: Billboard, first: Row, second: Row) -> bool:
    """Whether two raters of the main ranking are shown to differ."""
    p = _adjusted(run, first, second)
    return known(p) and p <= LEVEL


def _adjusted(run: Billboard, first: Row, second: Row) -> Any:
    """p of two raters of the main ranking after correction over all pairs; None without one."""
    pair = {"first": first["rater"], "second": second["rater"]}
    for row in run.records("comparisons", criterion=run.main, language=run.language, **pair):
        return row.get("p_adjusted")
    return None


def _person(run: Billboard, rows: Sequence[dict[str, Any]]) -> str:
    ceiling = one_person(run, run.main, run.language)
    (row,) = run.records("people", criterion=run.main, language=run.language)
    if ceiling is None:
        why = [reason for _, reason in parts(row["undefined"])]
        why = (
            [f"there is only {people_counted(run).replace('1 ', 'one ')}"]
            if len(run.people_names) == 1
            else why
        )
        because = f" ({why[0]})" if why else ""
        return (
            f"It cannot be said what one person reaches against the others{because}, so nobody"
            " knows how good r can get."
        )
    sentence = (
        f"One person against the mean of the others reaches r {estimate(row, 'one_against_others')}"
    )
    if not rows:
        return f"{sentence}."
    gap = ceiling - rows[0]["pearson"]
    best = within(rows[0]["rater"])
    if gap > 0:
        return f"{sentence}; {best} is {figure(gap)} below that. The line is dashed in the chart."
    return (
        f"{sentence}; {best} is {figure(-gap)} above that, which only means that it is closer to"
        " the mean of all people than one person is to the others."
    )


def _ensemble(run: Billboard, rows: Sequence[dict[str, Any]]) -> str:
    if not run.records("ensembles", criterion=run.main, language=run.language):
        return "None was fitted here; the warnings say why."
    members = run.records("ensemble_members", criterion=run.main, language=run.language)
    named = listed([within(row["member"]) for row in members])
    unseen = next((row for row in rows if row["rater"] == NAME), None)
    metric = next((row for row in rows if run.kinds[row["rater"]] == "metric"), None)
    if unseen is None or metric is None:
        return f"It combines {named}; its r on generators that it has not seen is undefined."
    sentence = (
        f"It combines {named}: on generators that it has not seen, it has {pearson(unseen)}, "
    )
    first, second, verdict = metric, unseen, "worse than"
    if unseen["pearson"] > metric["pearson"]:
        first, second, verdict = unseen, metric, "better than"
    if not _told_apart(run, first, second):
        verdict = "not shown to differ from"
    tested = _tested(run, first, second)
    return (
        f"{sentence}{verdict} the best single metric, {within(metric['rater'])}"
        f" ({pearson(metric)}{tested})."
    )


def best_generators(run: Billboard) -> str:
    """For each rater that ranks several generators, the generator that it puts first."""
    by: dict[str, list[dict[str, Any]]] = {}
    for row in run.records("generators", criterion=run.main, language=run.language):
        if known(row["rank"]):
            by.setdefault(row["by"], []).append(row)
    winners = []
    for who, ranked in by.items():
        if len(ranked) == 1:
            continue
        last: Any = ranked[0].get("rank_high")
        alike = (
            f" ({count(last - 1)} more not shown to be worse)" if known(last) and last > 1 else ""
        )
        winners.append(f"{within(who)} {within(ranked[0]['generator'])}{alike}")
    return f"By {'; by '.join(winners)}." if winners else ""


def _overrated(run: Billboard) -> str:
    rows = run.records("overrating", criterion=run.main, language=run.language)
    drawn = [row for row in rows if known(row["value"])]
    if not drawn:
        return ""
    over = sum(row["low"] > 0 for row in drawn)
    under = sum(row["high"] < 0 for row in drawn)
    most = max(drawn, key=lambda row: row["value"])
    sentence = (
        f"Of {plural(len(drawn), 'rater')} {over} overrate machines and {under} underrate them, by"
        " 90% intervals"
    )
    if over:
        sentence += (
            f"; {within(most['rater'])} overrates them most, by {figure(most['value'])} standard "
            "deviations"
        )
    left = len(rows) - len(drawn)
    return sentence + (f". It is undefined for {left}." if left else ".")


def _limits(run: Billboard) -> str:
    sentences = [
        (
            "That a high rank carries over to other texts, languages or criteria; that people are"
            " right (a rater only agrees with them); that raters whose ranks overlap are equal."
        ),
    ]
    rows = run.rows("raters", criterion=run.main, language=run.language)
    least = float(rows["coverage"].min())
    if least < 1 and rows["coverage"].max() - least > 0.001:
        sentences.append(
            "Raters scored different outputs (see coverage), so their figures are not based on"
            " the same outputs."
        )
    generators = run.rows("generators", criterion=run.main, language=run.language)
    if len(generators) and int(generators["sources"].min()) < FEW_SOURCES:
        few = int(generators["sources"].min())
        sentences.append(
            f"With as few as {few} sources of a generator, intervals are somewhat too narrow."
        )
    return " ".join(sentences)


MOST_ROWS = 60


def definitions(run: Billboard) -> dict[str, str]:
    """The definitions behind this board, with the settings of this run."""
    settings = run.manifest["settings"]
    resamples, permutations = settings.get("resamples", 2000), settings.get("permutations", 1000)
    return {
        "People": (
            "An output's score is the mean of the reference people's scores. Everybody else"
            " is a rater; people outside the reference count as one rater per group, with"
            " their mean."
        ),
        "r": (
            "Pearson correlation with the people's score over all outputs that both scored. rho is"
            " Spearman's, tau Kendall's tau-b. All scores are turned so that higher is better."
        ),
        "Overall": (
            "The mean of the criteria that people rated; if their scales differ, the mean of"
            " shares of their ranges."
        ),
        "One person": (
            "Each person's scores against the mean of the others, pooled over people: what to"
            " expect from a rater as good as a person. Raters are compared with the mean of all"
            " people, which is somewhat easier to agree with."
        ),
        "r between generators": "Pearson correlation of the generators' mean scores.",
        "SPA": (
            "Soft pairwise accuracy: how close the rater's confidence that one generator is "
            "better than another is to people's confidence, over all pairs of generators. "
            "Confidence comes from permutation tests, with ties counted as half."
        ),
        "Pairwise accuracy": (
            "The share of pairs of outputs of one source that a rater orders as people do,"
            " including ties. Scores closer than a threshold count as tied; the threshold is"
            " the best-fitting one."
        ),
        "Intervals": (
            "95%, over sources, for these people. Pearson's: percentile bootstrap with "
            f"{count(resamples)} resamples of whole sources (of random blocks of sources if "
            "there are more than 2,048). rho, tau and one person: Fisher's transformation of "
            "the coefficient, with its infinitesimal jackknife variance. SPA and pairwise "
            "accuracy: Wilson's, with the number of independent pairs that would give the same "
            "variance; the threshold for ties is kept."
        ),
        "Ranks": (
            "A two-sided paired test of every two raters (or generators) on the sources they"
            f" share: {count(permutations)} permutations or more in which the two exchange their"
            " scores on whole sources, and Student's t if fewer than 10 of them reach the"
            " difference; p is never below 2 to the power of (1 minus the number of sources)."
            " Corrected by Holm over all pairs. A rater's first possible rank is 1 plus the"
            " number of those shown to be better; its last is the number of raters minus those"
            " shown to be worse; pairs without a test count as not different. At 95% all of these"
            " ranks hold at once. Not different does not mean equal."
        ),
        "Ensemble": (
            f"A linear model of {settings.get('nonzero', 3)} metrics, chosen by the lasso among"
            f" those that scored at least {LEAST_COVERAGE:.0%} of the outputs. On unseen"
            " generators: each generator is scored by a model that was fitted without it."
        ),
        "Overrating": (
            "A linear mixed model of a rater's standardised score, fitted by REML. Its terms"
            " are the kind of generator (machine or human), the people's score, and a random"
            " intercept for each source. The coefficient of machine, with a 90% interval: by how"
            " much a rater prefers machine writing that people find equally good."
            " Self-preference is the same for generators of the judge's own family."
        ),
        "Coverage": (
            "The share of people's outputs that a rater scored. The rest is missing, never 0."
        ),
        "Undefined": "A figure without a value is a dash with its reason, never 0.",
    }


def undefined_table(run: Billboard) -> TableView | None:
    """Every figure that has no value, by reason; None if all have one."""
    places_of: dict[tuple[str, str, str], list[str]] = {}
    for table in ("raters", "within_generators", "overrating", "self_preference", "people"):
        for row in run.records(table):
            for column, reason in parts(row.get("undefined")):
                case = run.where(row["criterion"], row["language"])
                who = " on ".join(within(row[key]) for key in ("rater", "generator") if key in row)
                places_of.setdefault((table, column, reason), []).append(
                    f"{who} ({case})" if who else case
                )
    if not places_of:
        return None
    rows = [
        (
            table.replace("_", " "),
            title_of(run.columns(table), column) or column,
            reason,
            count(len(cases)),
            places(cases),
        )
        for (table, column, reason), cases in places_of.items()
    ]
    cut = (
        (f"The first {MOST_ROWS} of {len(rows)} reasons; the CSV files have all.",)
        if len(rows) > MOST_ROWS
        else ()
    )
    columns = ("table", "figure", "why it has no value", "times", "for")
    title = "Figures without a value"
    return TableView.of(
        None, "", title, columns, rows[:MOST_ROWS], name="undefined", heads=3, notes=cut
    )


def standing_lines(board: Board, name: str, before: Collection[str]) -> Iterator[str]:
    """A rater's or generator's place on the board of the main criterion, and the effect on the
    ensemble.

    before: the ensembles that existed before.
    """
    raters = _main_rows(board, "raters")
    ranked = sum(known(row["rank"]) for row in raters)
    for row in raters:
        if row["rater"] == name:
            yield f"{board.main}: {_rank(row, ranked)}"
    generators = _main_rows(board, "generators")
    for row in generators:
        if row["generator"] == name and known(row["rank"]):
            last = sum(other["by"] == row["by"] for other in generators)
            standing = f"rank {count(row['rank'])} of {last} generators by {within(row['by'])}"
            yield f"{board.main}: {standing}, mean {share(row['score'])}"
    for row in _main_rows(board, "overrating"):
        if row["rater"] == name and known(row["value"]):
            ends = interval(row["low"], row["high"], signed)
            yield f"overrates machines by {signed(row['value'])} sd {ends}"
    for row in _main_rows(board, "ensembles"):
        new = "stays" if row["ensemble"] in before else "new"
        unseen = figure(row["pearson_unseen"])
        yield f"{row['ensemble']} ({new}): {row['members']}; r {unseen} on unseen generators"


def _main_rows(board: Board, table: str) -> list[dict[str, Any]]:
    """The rows of the main criterion in the board's first language."""
    rows = board.tables[table]
    if rows.empty:
        return []
    language = str(board.tables["raters"]["language"].iloc[0])
    rows = rows[(rows["criterion"] == board.main) & (rows["language"] == language)]
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]


def _rank(row: dict[str, Any], ranked: int) -> str:
    if not known(row["pearson"]):
        return str(row["undefined"])
    r = f"r {estimate(row, 'pearson')}"
    left_open = ranks(row["rank_low"], row["rank_high"])
    return f"{r} with people, rank {count(row['rank'])} ({left_open}) of {ranked} raters"
