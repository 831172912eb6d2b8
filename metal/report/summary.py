"""The audit in at most ten lines of words, from its tables: best, worst, and what may not be concluded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metal.audit.verdict import NOT_BETTER, TOO_FEW, USABLE, VERDICTS, WITH_CARE
from metal.languages import language_name
from metal.report.differences import is_prompt_pair
from metal.report.run import Run
from metal.report.text import figure, interval, known, listed, name, percent, plural, signed

HIGH_F1 = 0.7
LOW_COVERAGE = 0.95


@dataclass(frozen=True)
class Line:
    """A line of the summary: what it is about, and what it says."""

    about: str
    says: str


def summary(run: Run) -> list[Line]:
    """What an audit says, at most ten lines, each true by the run's tables alone."""
    candidates = _cells(run)
    judged = [cell for cell in candidates if cell["kind"] != "baseline"] or candidates
    lines = [Line("Compared", _scope(run))]
    if judged:
        lines.append(Line("Verdicts", _counts(judged)))
        if any(cell["verdict"] != TOO_FEW for cell in judged):
            lines += [Line("Best", _best(judged, run)), Line("Worst", _worst(judged, run))]
        lines += [
            line
            for line in (
                _by(judged, run, "language"),
                _by(judged, run, "criterion"),
                _prompts(run),
                _hidden(judged, run),
            )
            if line
        ]
    lines.append(Line("People", _people(run)))
    lines.append(Line("Not to be concluded", _limits(run, judged)))
    return lines


def _cells(run: Run) -> list[dict[str, Any]]:
    """Verdicts joined with the figures they rest on."""
    if run.tables["judges"].empty:
        return []
    keys = ["language", "criterion", "judge"]
    joined = run.tables["verdicts"].drop(columns="signature").merge(run.tables["judges"], on=keys)
    records = joined.to_dict("records")
    for record in records:
        record["kind"] = run.raters[record["judge"]].kind if record["judge"] in run.raters else "llm"
    return [{str(key): value for key, value in record.items()} for record in records]


def _scope(run: Run) -> str:
    table = run.tables["people"]
    languages = listed([language_name(code) for code in run.languages])
    kinds = Counter(run.raters[judge].kind for judge in run.judges if judge in run.raters)
    words = {"llm": "LLM judge", "metric": "metric", "baseline": "baseline"}
    judges = listed([plural(number, words[kind]) for kind, number in kinds.items() if kind in words])
    people = sum(rater.kind == "human" for rater in run.raters.values())
    items = int(table["items_with_class"].sum())
    where = f"{plural(len(run.languages), 'language')} ({languages})"
    return (
        f"{judges or 'No judges'} with {plural(people, 'person', 'people')} in {where} on "
        f"{plural(len(run.audited), 'criterion', 'criteria')}; {items:,} aggregate answers of people to compare with."
    )


def _counts(cells: Sequence[dict[str, Any]]) -> str:
    found = Counter(cell["verdict"] for cell in cells)
    parts = [f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict]]
    if found[TOO_FEW] == len(cells):
        return (
            f"All {plural(len(cells), 'verdict')}, one a judge, language and criterion: {TOO_FEW}. Neither good nor "
            "bad has been shown of any judge."
        )
    return f"Of {plural(len(cells), 'verdict')}, one a judge, language and criterion: {listed(parts)}."


def _where(cell: dict[str, Any], run: Run) -> str:
    criterion = run.criteria[cell["criterion"]]
    return f"{name(cell['judge'])} on {criterion.label or criterion.name} in {language_name(cell['language'])}"


def _low_kappa(cell: dict[str, Any]) -> float:
    return float(cell["kappa_low"]) if known(cell["kappa_low"]) else -1.0


def _lead(cell: dict[str, Any]) -> float:
    return float(cell["lead_over_majority"]) if known(cell["lead_over_majority"]) else 0.0


def _told(cell: dict[str, Any], run: Run) -> str:
    kappa = f"kappa {figure(cell['kappa'])} {interval(cell['kappa_low'], cell['kappa_high'])}".strip()
    return (
        f"{_where(cell, run)}: {cell['verdict']} (F1 {figure(cell['weighted_f1'])}, {kappa}, lead over the most "
        f"frequent class {signed(cell['lead_over_majority'])})"
    )


def _best(cells: Sequence[dict[str, Any]], run: Run) -> str:
    best = min(cells, key=lambda cell: (VERDICTS.index(cell["verdict"]), -_low_kappa(cell)))
    ranked = _ranked(cells)
    overall = ""
    if len(ranked) > 1 and ranked[0][1] + ranked[0][2]:
        judge, usable, care, total = ranked[0]
        overall = f" Most often trusted: {name(judge)}, {usable} usable and {care} with care of {total}."
    if best["verdict"] in (NOT_BETTER, TOO_FEW):
        return f"Nothing is usable here; the nearest is {_told(best, run)}.{overall}"
    return f"{_told(best, run)}.{overall}"


def _worst(cells: Sequence[dict[str, Any]], run: Run) -> str:
    failed = [cell for cell in cells if cell["verdict"] == NOT_BETTER]
    if not failed:
        weakest = min(cells, key=_low_kappa)
        return f"No judge falls to the most frequent class; the weakest is {_told(weakest, run)}."
    worst = min(failed, key=_lead)
    ranked = _ranked(cells)
    overall = ""
    if len(ranked) > 1 and ranked[0][1:] != ranked[-1][1:]:
        judge, usable, care, total = ranked[-1]
        overall = f" Least often trusted: {name(judge)}, {usable} usable and {care} with care of {total}."
    return f"{_told(worst, run)}.{overall}"


def _ranked(cells: Iterable[dict[str, Any]]) -> list[tuple[str, int, int, int]]:
    """Judges with how often they are usable, usable with care, and looked at; most trusted first."""
    by: dict[str, Counter[str]] = {}
    for cell in cells:
        by.setdefault(cell["judge"], Counter())[cell["verdict"]] += 1
    found = [(judge, seen[USABLE], seen[WITH_CARE], seen.total()) for judge, seen in by.items()]
    return sorted(found, key=lambda one: (-one[1], -one[2], one[0]))


def _by(cells: Sequence[dict[str, Any]], run: Run, column: str) -> Line | None:
    """Where judges are trusted most and least often; None with one language or criterion only."""
    trusted: dict[str, list[bool]] = {}
    for cell in cells:
        trusted.setdefault(cell[column], []).append(cell["verdict"] in (USABLE, WITH_CARE))
    if len(trusted) < 2:
        return None
    shares = {key: sum(found) / len(found) for key, found in trusted.items()}
    high, low = max(shares.values()), min(shares.values())

    def called(key: str) -> str:
        criterion = run.criteria.get(key)
        return language_name(key) if column == "language" else (criterion.label or criterion.name if criterion else key)

    def at(share: float) -> str:
        return listed([called(key) for key in trusted if shares[key] == share])

    if not high:
        return None
    about = "Languages" if column == "language" else "Criteria"
    if high == low:
        return Line(
            about, f"No difference in how often judges are usable, with or without care ({percent(high)} each)."
        )
    return Line(
        about,
        f"Judges are usable, with or without care, most often in {at(high)} ({percent(high)} of verdicts) and least "
        f"often in {at(low)} ({percent(low)})."
        if column == "language"
        else f"Judges are usable, with or without care, most often on {at(high)} ({percent(high)} of verdicts) and "
        f"least often on {at(low)} ({percent(low)}).",
    )


def _prompts(run: Run) -> Line | None:
    rows = [row for row in run.records("differences") if is_prompt_pair(run, row)]
    rows = [row for row in rows if known(row["p_adjusted"])]
    if not rows:
        return None
    found = [row for row in rows if row["p_adjusted"] < 0.05]
    if not found:
        return Line(
            "Prompts",
            f"None of {len(rows)} differences between prompts of one model is significant after correction; that is no "
            "proof that the prompts are equal.",
        )
    better: Counter[str] = Counter()
    for row in found:
        ahead = row["first"] if row["difference"] > 0 else row["second"]
        better[str(run.raters[ahead].about.get("prompt", ahead))] += 1
    parts = [f"{name(prompt)} ahead in {number}" for prompt, number in better.most_common()]
    return Line(
        "Prompts", f"Of {len(rows)} paired differences {len(found)} are significant after correction: {listed(parts)}."
    )


def _hidden(cells: Sequence[dict[str, Any]], run: Run) -> Line | None:
    """Cells where F1 is high and agreement beyond chance is not shown."""
    found = [
        cell
        for cell in cells
        if known(cell["weighted_f1"]) and cell["weighted_f1"] >= HIGH_F1 and not _low_kappa(cell) > 0
    ]
    silent = [cell for cell in cells if known(cell["coverage"]) and cell["coverage"] < LOW_COVERAGE]
    parts = []
    if found:
        top = max(found, key=lambda cell: cell["weighted_f1"])
        parts.append(
            f"In {plural(len(found), 'case')} F1 is {HIGH_F1} or more and yet agreement beyond chance is not shown, "
            f"for instance {_where(top, run)} (F1 {figure(top['weighted_f1'])}, kappa {figure(top['kappa'])})."
        )
    if silent:
        least = min(silent, key=lambda cell: cell["coverage"])
        parts.append(
            f"In {plural(len(silent), 'case')} a judge leaves more than 5% unanswered; at worst {_where(least, run)} "
            f"answers {percent(least['coverage'])}."
        )
    return Line("Beware", " ".join(parts)) if parts else None


def _people(run: Run) -> str:
    rows = [row for row in run.records("people") if known(row["fleiss_kappa"])]
    if not rows:
        return "Their agreement beyond chance (Fleiss' kappa) is undefined everywhere."
    best, worst = max(rows, key=lambda row: row["fleiss_kappa"]), min(rows, key=lambda row: row["fleiss_kappa"])

    def told(row: dict[str, Any]) -> str:
        criterion = run.criteria[row["criterion"]]
        return (
            f"{criterion.label or criterion.name} in {language_name(row['language'])} ({figure(row['fleiss_kappa'])})"
        )

    weak = [row for row in rows if not (known(row["fleiss_kappa_low"]) and row["fleiss_kappa_low"] > 0)]
    words = f"They agree most on {told(best)}"
    words += f", least on {told(worst)}, by Fleiss' kappa." if best is not worst else ", by Fleiss' kappa."
    if weak:
        words += (
            f" In {len(weak)} of {len(rows)} their own agreement beyond chance is not shown: no judge can be validated "
            "there."
        )
    return words


def _limits(run: Run, cells: Sequence[dict[str, Any]]) -> str:
    parts = ["that people are right, only that they agree"]
    if cells:
        parts.insert(0, "that a judge good here is good on other texts, languages or criteria")
        if len(run.languages) > 1:
            parts.append("that two languages differ, for their figures were not tested against each other")
        if any(cell["verdict"] == TOO_FEW for cell in cells):
            parts.append("that “too few ratings to say” means bad")
        parts.append("that a judge's reasons are sound")
    few = int(run.tables["people"]["sources"].min())
    more = f" With as few as {few} sources in a language, intervals are somewhat too narrow." if few < 30 else ""
    return f"{'; '.join(parts)}.".capitalize() + more
