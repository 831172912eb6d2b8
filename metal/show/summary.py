"""The audit in at most ten lines of words, from its tables: best, worst, and what may not be concluded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from metal.auditing.verdict import NOT_BETTER, TOO_FEW, USABLE, VERDICTS, WITH_CARE
from metal.data.languages import language_name
from metal.data.text import figure, interval, known, listed, percent, plural, signed, within
from metal.runs.audit_run import AuditRun
from metal.show.differences import is_prompt_pair
from metal.show.sections import Line

HIGH_F1 = 0.7
MOST_NAMED = 4
LOW_COVERAGE = 0.95


def summary(run: AuditRun) -> list[Line]:
    """What an audit says, at most ten lines, each true by the run's tables alone.

    Baselines are left out of all that is said of judges, unless there are no others.
    """
    cells = _cells(run)
    judged = [cell for cell in cells if cell["kind"] != "baseline"] or cells
    decided = [cell for cell in judged if cell["verdict"] != TOO_FEW]
    lines: list[Line | None] = [Line("Compared", _scope(run))]
    if judged:
        lines.append(Line("Verdicts", _counts(judged)))
    if decided:
        lines.append(Line("Best", _best(decided, run)))
        if len(decided) > 1:
            lines.append(Line("Worst", _worst(decided, run)))
        lines += [_trusted_most(decided, run, column) for column in ("judge", "language", "criterion")]
    prompts = _prompts(run)
    lines.append(Line("Prompts", prompts) if prompts else None)
    lines += [_beware(judged, run), Line("People", _people(run)), Line("Not to be concluded", _limits(run, judged))]
    return [line for line in lines if line]


def _cells(run: AuditRun) -> list[dict[str, Any]]:
    """Verdicts joined with the figures they rest on."""
    if run.tables["judges"].empty:
        return []
    keys = ["language", "criterion", "judge"]
    joined = run.tables["verdicts"].drop(columns="signature").merge(run.tables["judges"], on=keys)
    records = joined.to_dict("records")
    for record in records:
        record["kind"] = run.raters[record["judge"]].kind if record["judge"] in run.raters else "llm"
    return [{str(key): value for key, value in record.items()} for record in records]


def _scope(run: AuditRun) -> str:
    table = run.tables["people"]
    languages = listed([language_name(code) for code in run.languages])
    kinds = Counter(run.raters[judge].kind for judge in run.judge_names if judge in run.raters)
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
    if len(found) == 1:
        (verdict,) = found
        number = "There is one" if len(cells) == 1 else f"All {len(cells):,}, one a judge, language and criterion"
        more = " Neither good nor bad has been shown of any judge." if verdict == TOO_FEW else ""
        return f"{number}: {verdict}.{more}"
    parts = [f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict]]
    return f"Of {len(cells):,}, one a judge, language and criterion: {listed(parts)}."


def _where(cell: dict[str, Any], run: AuditRun) -> str:
    return f"{within(cell['judge'])} on {_label(cell['criterion'], run)} in {language_name(cell['language'])}"


def _low_kappa(cell: dict[str, Any]) -> float:
    return float(cell["kappa_low"]) if known(cell["kappa_low"]) else -1.0


def _lead(cell: dict[str, Any]) -> float:
    return float(cell["lead_over_majority"]) if known(cell["lead_over_majority"]) else 0.0


def _told(cell: dict[str, Any], run: AuditRun) -> str:
    kappa = f"kappa {figure(cell['kappa'])} {interval(cell['kappa_low'], cell['kappa_high'])}".strip()
    return (
        f"{_where(cell, run)}: {cell['verdict']} (F1 {figure(cell['weighted_f1'])}, {kappa}, lead over the most "
        f"frequent class {signed(cell['lead_over_majority'])})"
    )


def _best(decided: Sequence[dict[str, Any]], run: AuditRun) -> str:
    best = min(decided, key=lambda cell: (VERDICTS.index(cell["verdict"]), -_low_kappa(cell)))
    if best["verdict"] == NOT_BETTER:
        return f"No judge is shown to be usable anywhere; the nearest is {_told(best, run)}."
    return f"{_told(best, run)}."


def _worst(decided: Sequence[dict[str, Any]], run: AuditRun) -> str:
    failed = [cell for cell in decided if cell["verdict"] == NOT_BETTER]
    if not failed:
        weakest = max(decided, key=lambda cell: (VERDICTS.index(cell["verdict"]), -_low_kappa(cell)))
        return (
            f"Wherever there were enough ratings judges beat the most frequent class; weakest is {_told(weakest, run)}."
        )
    return f"{_told(min(failed, key=_lead), run)}."


def _trusted_most(decided: Sequence[dict[str, Any]], run: AuditRun, column: str) -> Line | None:
    """Where (language, criterion) or who (judge) is usable most and least often; None where all are alike.

    The share of verdicts that are usable, with or without care, among those that could be given.
    """
    found: dict[str, list[bool]] = {}
    for cell in decided:
        found.setdefault(cell[column], []).append(cell["verdict"] in (USABLE, WITH_CARE))
    if len(found) < 2:
        return None
    shares = {key: sum(trusted) / len(trusted) for key, trusted in found.items()}
    high, low = max(shares.values()), min(shares.values())
    about, link = {"judge": ("Judges", ""), "language": ("Languages", "in "), "criterion": ("Criteria", "on ")}[column]
    if high == low:
        return None

    def extreme(share: float) -> str:
        keys = [key for key in found if shares[key] == share]
        of = "" if len(keys) > 1 else f" of {len(found[keys[0]])}"
        named = listed([_called(key, run, column) for key in keys])
        if len(keys) > MOST_NAMED:
            named = f"{len(keys)} {about.lower()} alike"
        return f"{link}{named} ({percent(share)}{of})"

    return Line(about, f"Usable, with or without care, most often {extreme(high)}, least often {extreme(low)}.")


def _called(key: str, run: AuditRun, column: str) -> str:
    if column == "judge":
        return within(key)
    return language_name(key) if column == "language" else _label(key, run)


def _label(criterion: str, run: AuditRun) -> str:
    return within(run.criteria[criterion].label or criterion)


def _prompts(run: AuditRun) -> str:
    """One sentence on differences between prompts of one model; empty without any."""
    rows = [row for row in run.records("differences") if is_prompt_pair(run, row) and known(row["p_adjusted"])]
    if not rows:
        return ""
    found = [row for row in rows if row["p_adjusted"] < 0.05]
    if not found:
        return f"None of {len(rows)} differences between prompts of one model is significant, which proves no equality."
    better = Counter(run.model_and_prompt(row["first" if row["difference"] > 0 else "second"])[1] for row in found)
    parts = [f"{within(prompt) or 'no prompt'} ahead in {number}" for prompt, number in better.most_common()]
    return f"Of {len(rows)} differences between prompts of one model {len(found)} are significant: {listed(parts)}."


def _beware(cells: Sequence[dict[str, Any]], run: AuditRun) -> Line | None:
    """Cells where F1 is high and agreement beyond chance is not shown, or where a judge is often silent."""
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


def _people(run: AuditRun) -> str:
    rows = [row for row in run.records("people") if known(row["fleiss_kappa"])]
    if not rows:
        return "Their agreement beyond chance (Fleiss' kappa) is undefined everywhere."
    best, worst = max(rows, key=lambda row: row["fleiss_kappa"]), min(rows, key=lambda row: row["fleiss_kappa"])

    def told(row: dict[str, Any]) -> str:
        return f"{_label(row['criterion'], run)} in {language_name(row['language'])} ({figure(row['fleiss_kappa'])})"

    weak = [row for row in rows if not (known(row["fleiss_kappa_low"]) and row["fleiss_kappa_low"] > 0)]
    if len(rows) == 1:
        words = f"Their Fleiss' kappa is {figure(best['fleiss_kappa'])}."
    else:
        words = f"They agree most on {told(best)}, least on {told(worst)}, by Fleiss' kappa."
    if weak:
        words += (
            f" In {len(weak)} of {len(rows)} their own agreement beyond chance is not shown: no judge can be validated "
            "there."
        )
    return words


def _limits(run: AuditRun, cells: Sequence[dict[str, Any]]) -> str:
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
