"""The leaderboard in a few sentences, each true by the run's tables alone."""

from __future__ import annotations

from typing import Any

from metal.data.text import interval, known, listed, plural, share, within
from metal.runs.leaderboard_run import LeaderboardRun
from metal.runs.run import spoken
from metal.show.board.facts import FEW_SOURCES, languages_in_words, people_in_words
from metal.show.leaderboard.coverage import coverage_rows, unrated
from metal.show.notes import parts
from metal.show.sections import Fact


def facts(run: LeaderboardRun) -> list[Fact]:
    """What was ranked, who is best, how sure that is, where it differs, what is missing, what not to conclude."""
    rows = run.ranking(run.main, run.language)
    lines = [Fact("Ranked", _ranked(run, rows)), Fact("Best", _best(rows)), Fact("How sure", _sure(rows))]
    lines += [Fact("By language", _languages(run)), Fact("Still to be rated", _unrated(run))]
    return [*(line for line in lines if line.says), Fact("Not to be concluded", _limits(rows))]


def _ranked(run: LeaderboardRun, rows: list[dict[str, Any]]) -> str:
    ratings = sum(int(row["ratings"]) for row in rows)
    criteria = listed([within(run.criterion(criterion)) for criterion in run.counted])
    sample = f" A fixed sample of {run.sample} sources a language is scored (seed {run.seed})." if run.sample else ""
    return (
        f"{plural(len(rows), 'generator')} by {people_in_words(run)} with {ratings:,} ratings in "
        f"{languages_in_words(run.languages)}; {plural(len(run.counted), 'criterion', 'criteria')}: {criteria}. "
        f"Shown first is {within(run.criterion(run.main))}, {spoken(run.language)}.{sample}"
    )


def _best(rows: list[dict[str, Any]]) -> str:
    best = rows[0]
    words = f"{within(best['generator'])}: {_score(best)}"
    if len(rows) == 1:
        return f"{words}. There is no other generator to compare it with."
    if not known(best["cluster"]):
        words = f"{words}; it cannot be compared with the others: {_why_alone(best)}"
        rest = next((row for row in rows if known(row["cluster"])), None)
        first = f" Of those that can, {within(rest['generator'])} is first: {_score(rest)}." if rest else ""
        return f"{words}.{first}"
    alike = sum(row["cluster"] == best["cluster"] for row in rows)
    if alike == 1:
        return f"{words}, significantly better than the others it can be compared with."
    others = "1 other is" if alike == 2 else f"{alike - 1} others are"
    return f"{words}. {others} not shown to be worse: together they are the first cluster."


def _why_alone(row: dict[str, Any]) -> str:
    """Why a generator is in no cluster."""
    return next((within(reason) for figure, reason in parts(row["undefined"]) if figure == "cluster"), "no test")


def _score(row: dict[str, Any]) -> str:
    return f"{share(row['score'])} {interval(row['score_low'], row['score_high'], share)}".strip()


def _sure(rows: list[dict[str, Any]]) -> str:
    errors = [row["standard_error"] for row in rows if known(row["standard_error"])]
    clusters = len({int(row["cluster"]) for row in rows if known(row["cluster"])})
    alone = sum(not known(row["cluster"]) for row in rows)
    most = max(row["worst_error"] for row in rows)
    words = "No generator has two sources, so there is no standard error"
    if errors:
        words = (
            f"Standard errors from {share(min(errors))} to {share(max(errors))}, by what such scores allow at most "
            f"{share(most)}"
        )
    if clusters and len(rows) > 1:
        alike = "one cluster, in which nobody is shown to be worse than its first"
        words += f"; {clusters} clusters that tests tell apart" if clusters > 1 else f"; {alike}"
    return words + (f"; {alone} in none, for reasons that stand under the ranking." if alone else ".")


def _languages(run: LeaderboardRun) -> str:
    """Who is first in each language, where there are several."""
    each = [code for code in run.languages if code]
    if len(each) < 2:
        return ""
    first: dict[str, list[str]] = {}
    for code in each:
        rows = run.ranking(run.main, code)
        if rows:
            first.setdefault(rows[0]["generator"], []).append(spoken(code))
    leaders = [f"{within(generator)} in {listed(where[:6])}" for generator, where in list(first.items())[:6]]
    return f"First is {'; '.join(leaders)}."


def _unrated(run: LeaderboardRun) -> str:
    """Generators that lack ratings; empty without any."""
    new = [within(row["generator"]) for row in unrated(run)]
    partly = sum(0 < row["outputs_rated"] < row["outputs"] for row in coverage_rows(run))
    sentences = []
    if new:
        more = f" and {len(new) - 6} more" if len(new) > 6 else ""
        sentences.append(f"nothing of {listed(new[:6])}{more} is rated yet")
    if partly:
        sentences.append(f"{plural(partly, 'generator')} {'is' if partly == 1 else 'are'} rated in part")
    text = "; ".join(sentences)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _limits(rows: list[dict[str, Any]]) -> str:
    sentences = [
        "That a generator high on this board is high on other texts, languages or criteria, or by other people; that "
        "generators within a cluster are equal."
    ]
    least, most = (int(pick(row["sources"] for row in rows)) for pick in (min, max))
    few, many = (int(pick(row["languages"] for row in rows)) for pick in (min, max))
    if few < many:
        sentences.append(
            f"Generators were rated in {few} to {many} languages and on {least} to {most} sources: their "
            "scores are not of the same texts, people or languages; see the languages one by one."
        )
    elif least < most:
        sentences.append(
            f"Generators were rated on different sources ({least} to {most}): their scores are not of the same texts."
        )
    if least < FEW_SOURCES:
        sentences.append(f"With as few as {least} sources of a generator, intervals are somewhat too narrow.")
    return " ".join(sentences)
