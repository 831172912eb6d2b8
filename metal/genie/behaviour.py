"""Compare how each person rates with how their colleagues rate, without test questions.

There is one row per person x language x criterion, and one per person x language over all criteria.
Colleagues are the people of a group who rated the same outputs on the same criterion.
`monitor_tables.stands_out` reads the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import Dataset
from metal.data.progress import Progress, divided, followed, no_progress
from metal.data.records import Criterion
from metal.genie.colleagues import (
    NO_LEVELS,
    ColleagueAnswers,
    ColleaguesCell,
    Competence,
    all_cells_together,
    competences,
)
from metal.stats.bootstrap import SourceBootstrap
from metal.stats.patterns import Codes
from metal.stats.significance import ClusteredMean, clustered_mean, holm

ALL_CRITERIA = "all criteria"
NOT_SHARED = "no colleague rated these outputs"
NO_PAIR = "no output with two colleagues"
NO_ENDS = "the scale has no ends"
SCALES_DIFFER = "the criteria have different scales"
NO_ANSWER = "no answer"
NO_COMMENT = "no comments"
OF_LABELS = ("majority_agreement", "agreement_difference", "label_share", "mace")

# each corrected over people, by Holm
TESTED = ("agreement_difference", "severity", "label_difference")


def behaviour(
    dataset: Dataset,
    *,
    distrusted: Collection[str] = (),
    resamples: int = 2000,
    seed: int = 0,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Compare how each person rates with how the others rate.

    People are compared with their own group, because a crowd would outvote experts if both rated.
    distrusted: people who do not count as anybody's colleagues, because they are known to be noisy;
    they are still compared with the others. Columns:

    ratings, unanswered; shared: ratings of outputs that a colleague also rated, on `sources`
    sources; ties: shared ratings without a most frequent label among the colleagues.
    majority_agreement: among the shared ratings that are not ties, the share with the colleagues'
    most frequent label. compared: outputs with two colleagues or more. agreement: on these, the
    share of colleagues who agree with the person; colleagues_agreement: on these, the share of
    pairs of colleagues who agree; agreement_difference: agreement minus colleagues_agreement.
    severity: how far the person's scores are below the colleagues' mean, as a share of the scale
    (negative if they are above); distance: the mean absolute difference. label, label_share,
    colleagues_label_share: the most frequent label on shared ratings; label_difference.
    dawid_skene, mace: competence (see colleagues.py); over all criteria their mean, weighted by
    ratings. commented: share of ratings with a comment; repeated: share of comments that the person
    also made on another output, colleagues_repeated: the same for all colleagues; repeated_comment,
    repeated_outputs: the most frequent repeated comment, and on how many outputs. For
    agreement_difference, severity and label_difference: _low, _high (95%, bootstrap over sources),
    _p (two-sided, see clustered_mean; the p of label_difference is multiplied by the number of
    labels from which the label was chosen) and _p_adjusted, corrected over all people and languages
    of one criterion. undefined: which figures have no value, and why. Undefined figures are NaN,
    never 0.
    """
    bootstrap = SourceBootstrap(resamples, seed)
    # few people take longer to fit: groups in turn, at an even rate
    slices = sorted(_slices(dataset, distrusted), key=lambda part: part[0][0].language)
    sizes = [sum(len(cell.rows) for cell in cells) for cells, _ in slices]
    rows: list[dict[str, Any]] = []
    for (cells, examined), advance in zip(slices, divided(progress, *sizes), strict=True):
        rows += _of_language(cells, examined, dataset, bootstrap, advance)
    rows.sort(key=lambda row: (row["language"], row["group"], row["rater"]))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    for name in TESTED:
        corrected = table.groupby("criterion", observed=True)[f"{name}_p"].transform(
            lambda p: holm(p.to_numpy())
        )
        table[f"{name}_p_adjusted"] = corrected.astype(np.float64)
    return table


def _slices(
    dataset: Dataset, distrusted: Collection[str]
) -> Iterator[tuple[list[ColleaguesCell], list[str]]]:
    """The cells of each group of people in each language, with the group's people."""
    for group in sorted(
        {rater.group for rater in dataset.raters.values() if rater.kind == "human"}
    ):
        examined = [
            name
            for name, each in dataset.raters.items()
            if each.kind == "human" and each.group == group
        ]
        people = [name for name in examined if name not in distrusted] or examined
        table = dataset.ratings[dataset.ratings["rater"].isin(examined)]
        grouped = dict(list(table.groupby(["language", "criterion"], observed=True)))
        for language in sorted({str(language) for language, _ in grouped}):
            cells = [
                ColleaguesCell(language, criterion, grouped[language, name], frozenset(people))
                for name, criterion in dataset.criteria.items()
                if (language, name) in grouped
            ]
            yield cells, examined


def _of_language(
    cells: list[ColleaguesCell],
    examined: Sequence[str],
    dataset: Dataset,
    bootstrap: SourceBootstrap,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    """The rows of one language, person by person."""
    fitting, comparing = divided(progress, 3, 1)
    fitted = [
        competences(cell.rows, cell.criterion, cell.people) for cell in followed(cells, fitting)
    ]
    same_scale = len({cell.criterion.scale for cell in cells}) == 1
    all_answers = all_cells_together([cell.answers for cell in cells])
    parts: list[tuple[str, Criterion | None, ColleagueAnswers]]
    parts = [(cell.criterion.name, cell.criterion, cell.answers) for cell in cells]
    parts.append((ALL_CRITERIA, cells[0].criterion if same_scale else None, all_answers))
    repeated = [_repeated_of_all(answers) for _, _, answers in parts]
    for name in followed(examined, comparing):
        asked = [cell.asked.get(name, 0) for cell in cells]
        if not any(asked):
            continue
        rater = dataset.raters[name]
        facts = {
            "rater": name,
            "kind": rater.kind,
            "group": rater.group,
            "language": cells[0].language,
        }
        competent: list[Any] = [part.get(name) for part in fitted]
        competent.append(Competence.mean(competent))
        for part, times, comments, competence in zip(
            parts, [*asked, sum(asked)], repeated, competent, strict=True
        ):
            criterion_name, criterion, answers = part
            if times:
                row = _row(answers, name, times, criterion, bootstrap) | _comments(
                    answers, name, comments
                )
                yield _noted(facts | {"criterion": criterion_name} | row, competence)


def _row(
    answers: ColleagueAnswers,
    name: str,
    asked: int,
    criterion: Criterion | None,
    bootstrap: SourceBootstrap,
) -> dict[str, Any]:
    """The figures of one person. criterion: None if the answers are on several scales, so that
    labels cannot be counted.
    """
    own = answers.rows_of(name)
    beside, signed, source = answers.beside, answers.signed[own], answers.source_code[own]
    shared = own[beside.others[own] > 0]
    agreement, among = beside.agreement[own], beside.among[own]
    compared = ~np.isnan(among)
    row: dict[str, Any] = {
        "ratings": len(own),
        "unanswered": asked - len(own),
        "shared": len(shared),
        "sources": len(np.unique(answers.source_code[shared])),
        "ties": int(beside.tied[own].sum()),
        "majority_agreement": _mean(beside.majority[own]),
        "compared": int(compared.sum()),
        "agreement": _mean(agreement[compared]),
        "colleagues_agreement": _mean(among[compared]),
        "distance": _mean(np.abs(signed)),
    }
    row |= _tested("agreement_difference", clustered_mean(agreement - among, source, bootstrap))
    row |= _tested("severity", clustered_mean(-signed, source, bootstrap))
    return row | _label(answers, shared, criterion, bootstrap)


def _label(
    answers: ColleagueAnswers,
    shared: Codes,
    criterion: Criterion | None,
    bootstrap: SourceBootstrap,
) -> dict[str, Any]:
    """The most frequent label of a person's shared ratings, and how often the colleagues gave it to
    the same outputs.
    """
    row: dict[str, Any] = {"label": "", "label_share": np.nan, "colleagues_label_share": np.nan}
    levels = criterion.scale.levels if criterion else ()
    if not levels or not len(shared):
        return row | _tested(
            "label_difference", clustered_mean(np.zeros(0), np.zeros(0, dtype=int), bootstrap)
        )
    code = answers.code[shared]
    label = int(np.bincount(code, minlength=len(levels)).argmax())
    own, theirs = (code == label).astype(np.float64), answers.label_shares[shared, label]
    row |= {
        "label": levels[label].shown,
        "label_share": _mean(own),
        "colleagues_label_share": _mean(theirs),
    }
    test = _tested(
        "label_difference", clustered_mean(own - theirs, answers.source_code[shared], bootstrap)
    )
    # the most frequent of so many
    chosen = {"label_difference_p": min(1.0, test["label_difference_p"] * len(levels))}
    return row | test | ({} if np.isnan(test["label_difference_p"]) else chosen)


def _tested(name: str, test: ClusteredMean) -> dict[str, Any]:
    return test.mean.columns(name) | {f"{name}_p": test.p, f"{name}_p_adjusted": test.p}


def _mean(values: Any) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


# ---------------------------------------------------------------- comments


def _repeated_of_all(answers: ColleagueAnswers) -> pd.DataFrame:
    """The comments of everybody: rater, text (ignoring white space and case), and the number of
    outputs on which they made it.
    """
    text = np.array(
        [" ".join(str(comment).split()).casefold() for comment in answers.comment], dtype=object
    )
    frame = pd.DataFrame(
        {"rater": answers.rater, "output": answers.output, "text": text, "shown": answers.comment}
    )
    frame = frame[frame["text"] != ""]
    return frame.assign(outputs=frame.groupby(["rater", "text"])["output"].transform("nunique"))


def _comments(answers: ColleagueAnswers, name: str, comments: pd.DataFrame) -> dict[str, Any]:
    """How often a person comments, and how often they repeat a comment on another output."""
    own, others = comments[comments["rater"] == name], comments[comments["rater"] != name]
    rated = len(answers.rows_of(name))
    row: dict[str, Any] = {
        "comments": len(own),
        "commented": len(own) / rated if rated else np.nan,
        "repeated": _mean((own["outputs"] > 1).to_numpy(dtype=np.float64)),
        "colleagues_repeated": _mean((others["outputs"] > 1).to_numpy(dtype=np.float64)),
        "repeated_comment": "",
        "repeated_outputs": 0,
    }
    again = own[own["outputs"] > 1].sort_values(["outputs", "text"], ascending=[False, True])
    if len(again):
        row |= {
            "repeated_comment": str(again["shown"].iloc[0]),
            "repeated_outputs": int(again["outputs"].iloc[0]),
        }
    return row


# ---------------------------------------------------------------- what is undefined


def _noted(row: dict[str, Any], competence: Competence) -> dict[str, Any]:
    """The row with competences, and the reasons for figures without a value."""
    row |= {"dawid_skene": competence.dawid_skene, "mace": competence.mace}
    reasons = {
        "majority_agreement": "the colleagues' answers are tied on every output",
        "agreement_difference": NO_PAIR,
        "severity": NO_ENDS,
        "label_share": SCALES_DIFFER,
        "dawid_skene": competence.reason,
        "mace": "all answers are of one class",
        "repeated": NO_COMMENT,
    }
    if competence.reason == NO_LEVELS:
        reasons |= dict.fromkeys(OF_LABELS, NO_LEVELS)
    if not row["shared"]:
        reasons = dict.fromkeys(reasons, NOT_SHARED) | {"repeated": NO_COMMENT}
    if not row["ratings"]:
        reasons = dict.fromkeys(reasons, NO_ANSWER)
    notes = [f"{name}: {reason}" for name, reason in reasons.items() if np.isnan(row[name])]
    if row["sources"] == 1:
        notes.append("no intervals: there is only one source")
    return row | {"undefined": "; ".join(notes)}


COLUMNS = (
    *(
        "rater",
        "kind",
        "group",
        "language",
        "criterion",
        "ratings",
        "unanswered",
        "shared",
        "sources",
        "ties",
    ),
    *("majority_agreement", "compared", "agreement", "colleagues_agreement"),
    *(f"agreement_difference{part}" for part in ("", "_low", "_high", "_p", "_p_adjusted")),
    *(f"severity{part}" for part in ("", "_low", "_high", "_p", "_p_adjusted")),
    *("distance", "label", "label_share", "colleagues_label_share"),
    *(f"label_difference{part}" for part in ("", "_low", "_high", "_p", "_p_adjusted")),
    *("dawid_skene", "mace", "comments", "commented", "repeated", "colleagues_repeated"),
    *("repeated_comment", "repeated_outputs", "undefined"),
)
