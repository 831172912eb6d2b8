"""The whole audit: takes a dataset and settings, and returns tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa

from metal.auditing.assisted import Look, aided_warnings, looks, misnamed, questions
from metal.auditing.between_judges import (
    DIFFERENCE_COLUMNS,
    SELF_COLUMNS,
    adjust,
    difference_rows,
    self_agreement_rows,
)
from metal.auditing.cells import AuditCell, cells
from metal.auditing.check import lint
from metal.auditing.disagreements import disagreements
from metal.auditing.judging import COLUMNS as JUDGE_COLUMNS
from metal.auditing.judging import JudgedItems, judge_row
from metal.auditing.justifications import justification_rows
from metal.auditing.mistakes import Mistakes, certainty_rows, class_rows, confusion_rows
from metal.auditing.own_outputs import own_output_rows
from metal.auditing.pairs import pair_rows
from metal.auditing.paper_tables import (
    DISTRIBUTION_COLUMNS,
    distribution_rows,
    overall,
    table_3,
    table_6,
)
from metal.auditing.people import people_row
from metal.auditing.picked import picked_rows
from metal.auditing.score_table import score_row
from metal.auditing.scores import ScoreStanding, standing
from metal.auditing.settings import AuditSettings, signature
from metal.auditing.standing import Standing
from metal.auditing.strengths import strength_rows
from metal.auditing.together import compared_judges, kept_at_least, together_rows
from metal.auditing.verdict import COLUMNS as VERDICT_COLUMNS
from metal.auditing.verdict import Verdict, verdict
from metal.building.describe import classes, lengths
from metal.data.dataset import Dataset
from metal.data.languages import language_name
from metal.data.pairs import one_item_per_pair
from metal.data.progress import Progress, counted_as, followed, no_progress
from metal.data.records import Rater, is_free_text
from metal.data.text import first_few
from metal.errors import UsageError
from metal.stats.aggregate import MODELS, consensus
from metal.stats.bootstrap import SourceBootstrap

FEW_SOURCES = 30
# share of majorities that a model overrules: more than an occasional careless pair of people
DEPARTS = 0.10
# findings that make every figure wrong: warned of first
FAULTS = ("other-scale", "far-levels", "alike-names")
TABLES = (
    *("people", "judges", "verdicts", "differences", "class_distribution", "self_agreement"),
    *(
        "scores",
        "picked",
        "together",
        "by_class",
        "confusion",
        "by_certainty",
        "pairs",
        "strengths",
        "justifications",
        "own_outputs",
    ),
)
# The tables that are written without a row, too.
ALWAYS = {
    "people": (),
    "judges": JUDGE_COLUMNS,
    "verdicts": VERDICT_COLUMNS,
    "differences": DIFFERENCE_COLUMNS,
    "class_distribution": DISTRIBUTION_COLUMNS,
    "self_agreement": SELF_COLUMNS,
}


@dataclass(frozen=True)
class AuditTables:
    """The results of an audit.

    tables: name -> rows, each with its signature. disagreements: see metal.auditing.disagreements.
    compared: the names of the people and judges that were compared. warnings: problems of the data.
    """

    judges: tuple[str, ...]
    compared: tuple[str, ...]
    tables: dict[str, pd.DataFrame]
    disagreements: pa.Table
    warnings: tuple[str, ...]
    signature: str


def audit(
    dataset: Dataset, settings: AuditSettings, *, progress: Progress = no_progress
) -> AuditTables:
    """Audit every judge of the dataset against its people, in every language and criterion.

    progress: called with the number of cells done and of all cells.
    Raises UsageError when people rated no cell.
    """
    items = one_item_per_pair(dataset)
    audited = [cell for cell in cells(items, settings, continuous=True) if cell.usual_panel]
    if not audited:
        raise UsageError(
            f"dataset {dataset.card.name}: no criterion was rated by"
            f" people{_of_reference(settings.reference)}"
        )
    _refuse_free_text([cell for cell in audited if not cell.continuous])
    _refuse_rule(audited, settings.aggregate)
    bootstrap = SourceBootstrap(settings.resamples, settings.seed)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    compared = compared_judges(dataset, audited)
    every: list[Verdict] = []
    looked: list[Look] = []
    together: list[Verdict] = []
    least: list[float] = []
    for cell in followed(audited, progress):
        verdicts = [verdict(cell, judge) for judge in cell.judges]
        every += verdicts
        looked += looks(cell, dataset.raters)
        for name, of_cell in _cell_rows(cell, verdicts, bootstrap):
            rows[name] += of_cell
        for each in verdicts:
            if each.judge in compared:
                together.append(each)
                least.append(kept_at_least(cell, each, sum(compared.values())))
        cell.shared.clear()
    rows["together"] += together_rows(together, least)
    adjust(rows["differences"])
    further = {
        "self_agreement": partial(self_agreement_rows, dataset, settings, bootstrap),
        "pairs": partial(pair_rows, dataset, settings),
        "strengths": partial(strength_rows, dataset, settings),
        "justifications": partial(justification_rows, items, audited),
        "own_outputs": partial(own_output_rows, items, settings, audited),
    }
    for name, make in counted_as(further.items(), "tables"):
        rows[name] += make()
    kept = {name: rows[name] for name in TABLES if rows[name] or name in ALWAYS}
    asked = (*aided_warnings(every), *misnamed(dataset), *questions(looked, dataset))
    return _result(dataset, items, settings, audited, kept, every, asked)


def _cell_rows(
    cell: AuditCell, verdicts: Sequence[Verdict], bootstrap: SourceBootstrap
) -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    """The rows of a cell, each with the name of its table."""
    yield "people", [people_row(cell, bootstrap)]
    yield "verdicts", [each.row() for each in verdicts]
    yield "picked", picked_rows(cell, verdicts, bootstrap)
    for each in verdicts:
        seen = cell.seen_by(each.judge)
        beside = standing(seen, each.judge)
        if isinstance(beside, ScoreStanding):
            yield "scores", [score_row(beside, bootstrap)]
        if not cell.continuous:
            by_class = Standing(seen, each.judge) if cell.by_scores else beside
            yield from _class_rows(seen, each, by_class, bootstrap)
    if not cell.continuous:
        yield "differences", difference_rows(cell, bootstrap)
        yield "class_distribution", distribution_rows(cell)


def _class_rows(
    cell: AuditCell, of_judge: Verdict, by_class: Standing, bootstrap: SourceBootstrap
) -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    """The rows of a judge whose answers are classes, each with the name of its table."""
    judged, mistakes = JudgedItems(cell, of_judge.judge, bootstrap), Mistakes(by_class)
    without = cell.seats_of(of_judge.left_out)
    in_verdict = Standing(cell, of_judge.judge, without) if without else by_class
    yield "judges", [judge_row(judged, in_verdict)]
    yield "by_class", class_rows(mistakes)
    yield "confusion", confusion_rows(mistakes)
    yield "by_certainty", certainty_rows(judged)


def _refuse_free_text(audited: list[AuditCell]) -> None:
    """Raise UsageError for a criterion with more labels than a scale can have."""
    items = Counter[str]()
    for cell in audited:
        items[cell.criterion.name] += len(cell.matrix.outputs)
    for name, labels in {cell.criterion.name: cell.levels for cell in audited}.items():
        if is_free_text(labels, items[name]):
            raise UsageError(
                f"criterion {name}: {labels:,} labels on {items[name]:,} outputs are free text, not"
                " a scale; leave it out with `criteria`, or put the texts into a few classes first"
            )


def _refuse_rule(audited: list[AuditCell], rule: str) -> None:
    """Raise UsageError for a rule, other than the default, that has no meaning on any of the
    scales.
    """
    names = ", ".join(dict.fromkeys(cell.criterion.name for cell in audited))
    if rule != AuditSettings.aggregate and all(cell.continuous for cell in audited):
        raise UsageError(
            f"aggregate {rule!r}: {names} has no levels, so scores are averaged; leave"
            " `aggregate` out"
        )
    if rule == "majority-or-middle" and not any(
        cell.ordered and cell.levels % 2 for cell in audited
    ):
        raise UsageError(
            f"aggregate {rule!r}: {names} has no middle level (labels without an order, or an"
            " even number of levels); use `majority`"
        )


def _of_reference(reference: str) -> str:
    """A phrase that names the people with whom judges are compared: ` of group 'expert'`, ` named
    A1,A2`; empty for all people.
    """
    what, equals, names = reference.partition("=")
    if equals and what == "rater":
        return f" named {names}"
    return f" of group {names or what!r}" if reference else ""


def _result(
    dataset: Dataset,
    items: Dataset,
    settings: AuditSettings,
    audited: list[AuditCell],
    rows: dict[str, list[dict[str, Any]]],
    verdicts: Sequence[Verdict],
    asked: Sequence[str],
) -> AuditTables:
    """Turn the rows into tables, and add the tables that follow from them.

    items: the dataset with one item per pair. asked: warnings about people who saw a judge's
    answers.
    """
    data = dataset.identity
    parts = counted_as(rows.items(), "rows", sum(map(len, rows.values())), map(len, rows.values()))
    tables = {name: _signed(name, records, dataset, settings) for name, records in parts}
    limits = {"criteria": settings.criteria, "languages": settings.languages}
    described = {
        "lengths": partial(lengths, dataset, languages=settings.languages),
        "classes_by_quality": partial(classes, dataset, settings.aggregate, **limits),
    }
    tables |= {name: make() for name, make in counted_as(described.items(), "tables")}
    tables["class_distribution_overall"] = overall(tables["class_distribution"])
    of_classes = [cell for cell in audited if not cell.continuous]
    people_on_classes = tables["people"][
        tables["people"]["criterion"].isin({cell.criterion.name for cell in of_classes})
    ]
    tables["table_3"] = table_3(tables["judges"], people_on_classes, dataset)
    tables["table_6"] = table_6(people_on_classes, dataset)
    for name in (
        "lengths",
        "classes_by_quality",
        "class_distribution_overall",
        "table_3",
        "table_6",
    ):
        tables[name]["signature"] = signature(data, settings, stat=name)
    judges = list(dict.fromkeys(judge for cell in audited for judge in cell.judges))
    people = sorted({person for cell in audited for person in cell.people})
    findings = sorted(lint(dataset), key=lambda finding: finding.code not in FAULTS)
    faults = sum(finding.code in FAULTS for finding in findings)
    messages = [finding.message for finding in findings]
    return AuditTables(
        judges=tuple(judges),
        compared=(*people, *judges),
        tables=tables,
        disagreements=disagreements(audited, items),
        warnings=(
            *messages[:faults],
            *_left_out(dataset, settings, audited),
            *_mixed_groups(audited),
            *_far_below(verdicts, {cell.criterion.name: cell.criterion.title for cell in audited}),
            *asked,
            *_departures(of_classes),
            *_doubtful(of_classes),
            *_few_sources(tables["verdicts"]),
            *messages[faults:],
        ),
        signature=signature(data, settings),
    )


def _left_out(dataset: Dataset, settings: AuditSettings, audited: list[AuditCell]) -> list[str]:
    """Warn about requested or judged criteria and languages that people did not rate."""
    by_judges = dataset.ratings["kind"].isin(("llm", "baseline"))
    lines = []
    for what, named in (("criterion", settings.criteria), ("language", settings.languages)):
        kept = {cell.criterion.name if what == "criterion" else cell.language for cell in audited}
        rated = dataset.ratings[what][by_judges].unique()
        gone = [name for name in named or sorted(map(str, rated)) if name not in kept]
        gone = list(map(language_name, gone)) if what == "language" else gone
        if gone:
            lines.append(f"not audited, since people did not rate {what} {first_few(gone)}")
    return lines


def _mixed_groups(audited: list[AuditCell]) -> list[str]:
    by_cell = [{cell.groups[person] for person in cell.people} for cell in audited]
    groups = sorted(set().union(*(names for names in by_cell if len(names) > 1)))
    if not groups:
        return []
    named = ", ".join(group or "(none)" for group in groups)
    return [
        f"people of several groups ({named}) are taken together; `reference=GROUP` compares"
        " with one"
    ]


def _far_below(verdicts: Sequence[Verdict], titles: Mapping[str, str]) -> list[str]:
    """Warn about careless people whose ratings do not count in verdicts, and name the cases.

    titles: the titles of the criteria.
    """
    cells = dict.fromkeys(
        (", ".join(each.left_out), each.criterion, each.language)
        for each in verdicts
        if each.left_out
    )
    cases = [f"{who} ({titles[of]}, {language_name(language)})" for who, of, language in cells]
    agree = "agrees" if len(cases) == 1 else "they agree"
    return (
        [f"verdicts leave out {first_few(cases)}: {agree} far less with the others"]
        if cases
        else []
    )


def _departures(audited: list[AuditCell]) -> list[str]:
    """Warn where a model's labels often differ from the majority's.

    Nothing guarantees that a class of the model means the answer of that name.
    """
    rule = audited[0].settings.aggregate if audited else ""
    departed = []
    for cell in audited if rule in MODELS else ():
        voted = consensus(cell.by_people, cell.values, "majority", ordered=cell.ordered)
        both = (voted >= 0) & (cell.truth >= 0)
        share = float((voted != cell.truth)[both].mean()) if both.any() else 0.0
        if share > DEPARTS:
            departed.append(f"{cell.criterion.title}, {language_name(cell.language)} {share:.0%}")
    if not departed:
        return []
    return [
        f'`aggregate="{rule}"` gives a label other than the majority\'s to more than {DEPARTS:.0%}'
        f" of the outputs that have a majority: {'; '.join(departed)}. With few people this rule"
        " can mistake one label for another; compare with majority"
    ]


def _doubtful(audited: list[AuditCell]) -> list[str]:
    """Warn where the fit of a model shows that its labels are doubtful."""
    doubts = [(cell, cell.model.doubt) for cell in audited if cell.model and cell.model.doubt]
    cases = "; ".join(
        f"{cell.criterion.title}, {language_name(cell.language)}: {doubt}" for cell, doubt in doubts
    )
    return (
        [f'`aggregate="{audited[0].settings.aggregate}"`: {cases}. Compare with majority']
        if doubts
        else []
    )


def _few_sources(verdicts: pd.DataFrame) -> list[str]:
    """Warn about intervals of judges that are too narrow because there are few sources, and say by
    how much.

    The numbers are from simulations; see docs/explanation/intervals.md.
    """
    few = verdicts[verdicts["sources"].between(1, FEW_SOURCES - 1)]
    if few.empty:
        return []
    languages = ", ".join(sorted(map(language_name, few["language"].unique())))
    return [
        f"fewer than {FEW_SOURCES} different inputs (sources) in {languages}: take small"
        " differences between judges, and figures of leniency, with care. Their 95% intervals"
        " miss the truth in 8% of cases instead of 5% with 20 sources, in 16% with 10, and more"
        " often if judges hardly err. Intervals of shares, F1, kappa and alpha hold"
    ]


def _signed(
    name: str, records: list[dict[str, Any]], dataset: Dataset, settings: AuditSettings
) -> pd.DataFrame:
    """The records as a table, each row with the signature of its figures."""
    for record in records:
        judge = record.get("judge", record.get("rater")) or ""
        record["signature"] = signature(
            dataset.identity,
            settings,
            stat=name,
            judge=judge or (f"{record['first']} - {record['second']}" if "first" in record else ""),
            **_how_asked(dataset.raters.get(judge), record.get("criterion", "")),
            lang=record["language"],
            crit=record.get("criterion", "all"),
            case=record.get("case"),
            n=record.get("items", record.get("answered")),
            dropped=str(record.get("dropped", "")).replace(", ", "+").replace(" ", "="),
        )
    return pd.DataFrame(records, columns=None if records else list(ALWAYS[name]))


def _how_asked(judge: Rater | None, criterion: str) -> dict[str, str]:
    """What a signature records of how METAL asked a judge: model version, prompt with hash,
    parameters not sent.
    """
    facts = judge.about if judge else {}
    versions = list(facts.get("versions") or {})
    hashes = facts.get("prompt_hash") or {}
    asked = {}
    if versions:
        asked["model"] = versions[0].split()[0] + (
            f"+{len(versions) - 1}" if len(versions) > 1 else ""
        )
    if criterion in hashes:
        asked["prompt"] = f"{facts['prompt']}@{hashes[criterion][:4]}"
    if facts.get("rejected"):
        asked["without"] = "+".join(sorted(facts["rejected"]))
    return asked
