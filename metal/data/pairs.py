"""Pairs shown in both orders, as one item each; and outputs that were made from others, left out."""

from __future__ import annotations

import math
from dataclasses import replace

from metal.data.dataset import Dataset, assemble, with_parts
from metal.data.ratings import CONFIDENCE, facts_in, tidy_facts
from metal.data.records import SWAPPED
from metal.data.text import first_few, plural

CONTRADICTS = "another answer when swapped"
MADE = "pairs"  # the table of dataset.toml where pairs were made of single outputs: of, which, seed


def swapped_pairs(dataset: Dataset) -> dict[str, str]:
    """{output: the pair} of the pairs that were shown the other way round."""
    return {
        output.output: output.of for output in dataset.outputs.values() if output.condition == SWAPPED and output.of
    }


def one_item_per_pair(dataset: Dataset) -> Dataset:
    """The dataset with swapped pairs taken for the pairs themselves; itself where it has none.

    Where a rater's answers in both orders differ, its answer is a tie, or missing where the scale has no level `tie`.
    Confidence is the mean of both orders, and none where the answers differ.
    """
    swapped = swapped_pairs(dataset)
    if not swapped:
        return dataset
    outputs = {
        swapped.get(name, name): replace(output, output=swapped.get(name, name), of="", condition="")
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
    ties = {name: math.nan if scale.tie is None else scale.values[scale.tie] for name, scale in scales.items()}
    facts.loc[differ, "score"] = facts.loc[differ, "criterion"].map(ties).astype(float)
    facts["reason"] = facts["reason"].astype(object).where(~differ, CONTRADICTS).where(facts["score"].isna(), "")
    facts = tidy_facts(facts.drop_duplicates(key))
    parts = dataset.criteria.values(), dataset.sources.values(), outputs.values(), dataset.raters.values()
    return assemble(dataset.card, *parts, facts, extra=dataset.extra)


def originals(dataset: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """The dataset without outputs that were made from others (probes, repeats, translations back), and a warning.

    They are no generator's work: only what asks about their conditions counts them. Pairs that were swapped stay.
    """
    made = {name: output.condition for name, output in dataset.outputs.items() if output.condition not in ("", SWAPPED)}
    if not made:
        return dataset, ()
    kept = [output for name, output in dataset.outputs.items() if name not in made]
    facts = tidy_facts(dataset.ratings[~dataset.ratings["output"].isin(list(made))])
    conditions = first_few(list(dict.fromkeys(made.values())))
    line = f"{plural(len(made), 'output')} made from others ({conditions}) are no generator's work and are left out"
    return with_parts(dataset, outputs=kept, facts=facts), (line,)
