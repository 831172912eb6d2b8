"""Combine pairs shown in both orders into one item each, and leave out outputs that were made from
others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from metal.data.dataset import Dataset, assemble, concat_facts, load_dataset, read_run, with_parts
from metal.data.files import read_toml
from metal.data.ratings import CONFIDENCE, facts_in, join, tidy_facts
from metal.data.records import FIRST, SECOND, SWAPPED, TIE, Criterion, Scale
from metal.data.run_toml import read_run_toml
from metal.data.text import first_few, plural
from metal.errors import DataError

CONTRADICTS = "another answer when swapped"
# ends the name of a judge of pairs, where it stands beside judges of single outputs
IN_PAIRS = "-pairs"
MADE = "pairs"  # the table of dataset.toml where pairs were made of single outputs: of, which, seed


def swapped_pairs(dataset: Dataset) -> dict[str, str]:
    """The pairs that were shown in reverse order: {output: the pair}."""
    return {
        output.output: output.of
        for output in dataset.outputs.values()
        if output.condition == SWAPPED and output.of
    }


def one_item_per_pair(dataset: Dataset) -> Dataset:
    """Treat swapped pairs as the pairs themselves; a dataset without swapped pairs is returned
    unchanged.

    If a rater's answers in the two orders differ, the answer is a tie, or missing if the scale has
    no level `tie`. The confidence is the mean of both orders; if the answers differ, there is none.
    """
    swapped = swapped_pairs(dataset)
    if not swapped:
        return dataset
    outputs = {
        swapped.get(name, name): replace(
            output, output=swapped.get(name, name), of="", condition=""
        )
        for name, output in sorted(dataset.outputs.items(), key=lambda item: item[0] not in swapped)
    }
    facts = dataset.ratings.loc[:, facts_in(dataset.ratings)].copy()
    facts["output"] = facts["output"].map(lambda name: swapped.get(name, name)).astype("category")
    key = ["output", "criterion", "rater"]
    answers = facts.groupby(key, observed=True)["score"]
    differ = (answers.transform("nunique") > 1).to_numpy()
    if CONFIDENCE in facts:
        mean = facts.groupby(key, observed=True)[CONFIDENCE].transform("mean")
        facts[CONFIDENCE] = mean.mask(differ)
    facts["score"] = answers.transform("first")  # that of the other order may be missing
    scales = {name: criterion.scale for name, criterion in dataset.criteria.items()}
    ties = {
        name: math.nan if scale.tie is None else scale.values[scale.tie]
        for name, scale in scales.items()
    }
    facts.loc[differ, "score"] = facts.loc[differ, "criterion"].map(ties).astype(float)
    facts["reason"] = (
        facts["reason"].astype(object).where(~differ, CONTRADICTS).where(facts["score"].isna(), "")
    )
    facts = tidy_facts(facts.drop_duplicates(key))
    parts = (
        dataset.criteria.values(),
        dataset.sources.values(),
        outputs.values(),
        dataset.raters.values(),
    )
    return assemble(dataset.card, *parts, facts, extra=dataset.extra)


def made_pairs(run: Path) -> Path | None:
    """The folder of the pairs that a run of judges compared, if these pairs were made from single
    outputs; else None.
    """
    folder = Path(read_run_toml(run)["settings"].get("dataset", ""))
    card = folder / "dataset.toml"
    return folder if card.is_file() and MADE in read_toml(card) else None


def with_comparisons(dataset: Dataset, run: Path, pairs: Path) -> Dataset:
    """Add the judges of a run on pairs of outputs as raters of the single outputs.

    pairs: the folder of the pairs.

    A judge's score of an output is the share of comparisons that the output won (a tie counts
    half), converted to the criterion's scale. The judge's name ends in IN_PAIRS. Raises DataError
    for pairs of other outputs, or if the dataset has a rater of that name.
    """
    single = {
        (output.source, output.generator): name
        for name, output in dataset.outputs.items()
        if not output.of
    }
    places = {
        name: [single[each] for each in both]
        for name, pair in load_dataset(pairs).outputs.items()
        if single.keys() >= {*(both := ((pair.source, pair.first), (pair.source, pair.second)))}
    }
    raters, facts, file = read_run(run)
    names = facts["output"].astype(str).str.removesuffix(f"/{SWAPPED}")
    if not names.isin(list(places)).all():
        raise DataError(
            file,
            f"pairs ({pairs}) of outputs that are not in the dataset",
            "Give the run its own dataset",
        )
    table = _won(facts, [places[name] for name in names], dataset.criteria)
    called = {rater.rater: rater.rater.removesuffix(IN_PAIRS) + IN_PAIRS for rater in raters}
    table["rater"] = table["rater"].astype(str).map(called)
    if twice := sorted(dataset.raters.keys() & set(called.values())):
        raise DataError(file, f"rater {twice[0]!r} is in the dataset already", "Give each run once")
    all_raters = dict(dataset.raters) | {
        called[r.rater]: replace(r, rater=called[r.rater]) for r in raters
    }
    lines = {  # shares of comparisons lie between levels
        name: replace(criterion, scale=Scale("interval", low=ends[0], high=ends[1]))
        for name, criterion in dataset.criteria.items()
        if (ends := criterion.scale.ends)
    }
    joined = join(
        concat_facts([dataset.ratings, tidy_facts(table)]),
        criteria=dict(dataset.criteria) | lines,
        outputs=dataset.outputs,
        raters=all_raters,
        ratings_file=file,
    )
    return replace(dataset, raters=all_raters, ratings=joined)


def _won(
    facts: pd.DataFrame, pairs: Sequence[Sequence[str]], criteria: Mapping[str, Criterion]
) -> pd.DataFrame:
    """The share of its comparisons that each output won, as a score on the criterion's scale; if
    the scale has no ends, from 0 to 1.

    pairs: the first and the second output of each rating.
    """
    won = facts["score"].map({FIRST: 1.0, SECOND: 0.0, TIE: 0.5})
    each = [facts.assign(output=[pair[at] for pair in pairs], share=abs(at - won)) for at in (0, 1)]
    shares = (
        pd.concat(each)
        .dropna(subset="share")
        .groupby(["output", "criterion", "rater"], observed=True)["share"]
    )
    table = shares.mean().reset_index()
    table = table[table["criterion"].isin(list(criteria))]
    asked = [criteria[name] for name in table["criterion"]]
    ends = [
        (criterion.scale.ends or (0.0, 1.0))[:: 1 if criterion.direction == "higher" else -1]
        for criterion in asked
    ]
    table["score"] = [
        worst + share * (best - worst)
        for share, (worst, best) in zip(table["share"], ends, strict=True)
    ]
    return table


def originals(dataset: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """The dataset without outputs that were made from others (probes, repeats, translations back),
    and a warning.

    No generator wrote these, so they count only for questions about their conditions. Swapped pairs
    stay.
    """
    derived = {
        name: output.condition
        for name, output in dataset.outputs.items()
        if output.condition not in ("", SWAPPED)
    }
    if not derived:
        return dataset, ()
    kept = [output for name, output in dataset.outputs.items() if name not in derived]
    facts = tidy_facts(dataset.ratings[~dataset.ratings["output"].isin(list(derived))])
    conditions = first_few(list(dict.fromkeys(derived.values())))
    line = (
        f"{plural(len(derived), 'output')} made by changing others ({conditions}) are left out: no"
        " generator wrote them"
    )
    return with_parts(dataset, outputs=kept, facts=facts), (line,)
