"""Plan a dataset of probes: unchanged outputs, and the same outputs changed in known ways, to be
rated by any judge or person.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from metal.building.describe import quality_of
from metal.building.probes.contract import (
    ASPECT_OF,
    ASPECTS,
    Material,
    NotApplicable,
    Others,
    Probe,
)
from metal.data.dataset import Dataset, assemble
from metal.data.languages import check_languages, language_name, language_order
from metal.data.progress import Progress, followed, no_progress
from metal.data.ratings import FACTS, tidy_facts
from metal.data.records import Criterion, Output
from metal.data.text import first_few, listed, plural, slug
from metal.errors import UsageError, check_known

EXTRA = "probes"  # the table of dataset.toml that says what was changed, and what must come of it
FOREIGN = 10  # texts in other languages that a probe may use, of each output
MADE = ("language", "condition", "kind", "what", "made", "skipped", "why")


@dataclass(frozen=True)
class Planned:
    """The dataset of probes. made: a row (with columns MADE) for each language and condition.
    warnings: what to know before judging.
    """

    dataset: Dataset
    made: pd.DataFrame
    warnings: tuple[str, ...]


def plan_probes(
    dataset: Dataset,
    probes: Sequence[Probe],
    *,
    languages: Sequence[str] = (),
    criteria: Sequence[str] = (),
    aspects: Mapping[str, str] | None = None,
    per_language: int = 60,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Planned:
    """Draw `per_language` outputs in each language, and change each output with the probes.

    criteria: the criteria to judge; if empty, all that can be asked. aspects: criterion -> the
    aspect it looks at, for criteria that METAL does not know by name. People's ratings of the
    originals are kept. Judges' ratings are not, because judges rate the originals again. progress:
    called with the number of originals done.

    Raises UsageError if there is nothing to change, UnknownName for names that do not exist.
    """
    check_languages(languages, dataset.languages)
    check_known("criterion", [*criteria, *(aspects or {})], dataset.asked)
    check_known("aspect", (aspects or {}).values(), ASPECTS)
    asked = {name: dataset.criteria[name] for name in criteria or dataset.asked}
    aspect_of = {name: {**ASPECT_OF, **(aspects or {})}.get(name, "") for name in asked}
    originals = _originals(dataset, languages or dataset.languages, per_language, seed)
    changed, changes = _changed(dataset, originals, probes, seed, progress)
    if not changed:
        raise UsageError(
            "no text could be changed by these probes; leave out `probes` to use all the usual ones"
        )
    outputs = [*originals, *changed]
    kept = {output.output for output in originals}
    table = dataset.ratings
    facts = table[
        (table["kind"] == "human")
        & table["output"].isin(kept)
        & table["criterion"].isin(list(asked))
    ]
    people = [rater for rater in dataset.raters.values() if rater.kind == "human"]
    sources = {output.source: dataset.sources[output.source] for output in outputs}
    declared = {
        "per_language": per_language,
        "seed": seed,
        "conditions": _declared(probes, changed, asked, aspect_of),
    }
    card = replace(dataset.card, name=f"{dataset.card.name}-probes")
    facts = tidy_facts(facts.loc[:, list(FACTS)])
    extra = {**dataset.extra, EXTRA: declared}
    planned = assemble(card, asked.values(), sources.values(), outputs, people, facts, extra=extra)
    return Planned(planned, changes, tuple(_warnings(originals, changes, aspect_of, per_language)))


def _originals(
    dataset: Dataset, languages: Sequence[str], per_language: int, seed: int
) -> list[Output]:
    """Draw outputs in each language, from as many sources as possible. Good outputs come first,
    because changes can lower their scores most.
    """
    usable = [
        output for output in dataset.outputs.values() if output.chosen and output.text.strip()
    ]
    usable = [output for output in usable if not (output.condition or output.is_pair)]
    if not usable:
        raise UsageError(
            "no output has a text that could be changed; join texts with `metal.read(...,"
            " texts=...)`"
        )
    good, chosen = _good(dataset), []
    for language in languages:
        own = [output for output in usable if output.language == language]
        order = np.random.default_rng([seed, zlib.crc32(language.encode())]).permutation(len(own))
        turn: Counter[str] = Counter()
        ranked = []
        for index in sorted(order, key=lambda index: own[index].output not in good):
            output = own[index]
            ranked.append((turn[output.source], output.output not in good, output))
            turn[output.source] += 1
        chosen += [
            output
            for *_, output in sorted(ranked, key=lambda entry: (entry[1], entry[0]))[:per_language]
        ]
    return chosen


def _good(dataset: Dataset) -> set[str]:
    """The outputs that people rated in the upper half of their scales. Without people, the outputs
    of generators that were told to write well.
    """
    table = dataset.ratings[dataset.ratings["kind"] == "human"]
    shares = [
        pd.Series(
            np.asarray(dataset.criteria[str(name)].share(rows["score"].to_numpy())),
            index=rows["output"],
        )
        for name, rows in table.groupby("criterion", observed=True)
    ]
    means = (
        pd.concat(shares).groupby(level=0, observed=True).mean()
        if shares
        else pd.Series(dtype=float)
    )
    good = set(map(str, means.index[means >= 0.5]))
    better = {
        name for name, quality in quality_of(dataset).items() if quality in ("good", "reference")
    }
    return good | {
        output.output
        for output in dataset.outputs.values()
        if output.generator in better and output.output not in means.index
    }


def _changed(
    dataset: Dataset,
    originals: Sequence[Output],
    probes: Sequence[Probe],
    seed: int,
    progress: Progress,
) -> tuple[list[Output], pd.DataFrame]:
    """The changed outputs of each original, in the order of the probes, and a table that counts
    them.
    """
    changed: list[Output] = []
    counts: dict[tuple[str, str, str, str], Counter[str]] = {}
    beside = followed(_beside(dataset, originals), progress, len(originals))
    for output, (others, foreign) in zip(originals, beside, strict=True):
        for probe in probes:
            for condition, dose in probe.conditions.items():
                rng = np.random.default_rng(
                    [seed, *(zlib.crc32(text.encode()) for text in (output.output, condition))]
                )
                source = dataset.sources[output.source].text
                material = Material(output.text, output.language, source, others, foreign, rng)
                tally = counts.setdefault(
                    (output.language, condition, probe.kind, probe.title(dose)), Counter()
                )
                try:
                    text = probe.change(material, dose)
                    if text == output.text:
                        raise NotApplicable("nothing to change")
                except NotApplicable as reason:
                    tally[str(reason)] += 1
                    continue
                tally[""] += 1
                name = f"{output.output}/{slug(condition)}"
                changed.append(
                    replace(
                        output,
                        output=name,
                        text=text,
                        tokens=None,
                        of=output.output,
                        condition=condition,
                    )
                )
    rows = []
    for case, tally in counts.items():
        why = first_few(
            [f"{reason} ({count})" for reason, count in tally.most_common() if reason], 3
        )
        rows.append((*case, tally[""], tally.total() - tally[""], why))
    return changed, pd.DataFrame(rows, columns=list(MADE))


def _beside(dataset: Dataset, originals: Sequence[Output]) -> Iterator[tuple[Others, list[str]]]:
    """For each output, the texts of other contents in its language, and some texts in other
    languages; texts of the same content come first.
    """
    contents = [dataset.sources[output.source].content or output.source for output in originals]
    of_content = np.unique(contents, return_inverse=True)[1]
    of_language = np.unique([output.language for output in originals], return_inverse=True)[1]
    texts: dict[str, list[str]] = {}
    places: dict[tuple[str, str], list[int]] = {}
    for output, content in zip(originals, contents, strict=True):
        own = texts.setdefault(output.language, [])
        places.setdefault((output.language, content), []).append(len(own))
        own.append(output.text)
    every = {language: Others(own) for language, own in texts.items()}
    names = [output.output.encode() for output in originals]
    sums = np.array(list(map(zlib.crc32, names)))
    sizes, size = np.unique(list(map(len, names)), return_inverse=True)
    for index, (output, content) in enumerate(zip(originals, contents, strict=True)):
        # Of other contents another one for each output: the least checksum of both names, joined by
        # a blank. Checksums
        # are linear: what the first name adds to that of the second depends on the second's length
        # only.
        start = zlib.crc32(names[index] + b" ")
        order = (
            sums
            ^ np.array(
                [zlib.crc32(bytes(n), start) ^ zlib.crc32(bytes(n)) for n in sizes.tolist()]
            )[size]
        )
        order += (of_content != of_content[index]).astype(np.int64) << 32
        foreign = np.flatnonzero(of_language != of_language[index])
        nearest = foreign[
            (
                np.argpartition(order[foreign], FOREIGN)[:FOREIGN]
                if len(foreign) > FOREIGN
                else slice(None)
            )
        ]
        nearest = nearest[np.argsort(order[nearest], kind="stable")]
        others = replace(
            every[output.language], left_out=frozenset(places[output.language, content])
        )
        yield others, [originals[other].text for other in nearest.tolist()]


def _declared(
    probes: Sequence[Probe],
    changed: Sequence[Output],
    asked: Mapping[str, Criterion],
    aspect_of: Mapping[str, str],
) -> list[dict[str, Any]]:
    """What dataset.toml records about each condition that occurs: its probe, and on which criteria
    scores must fall, stay or not rise.
    """
    occurring = {output.condition for output in changed}
    declared = []
    for probe in probes:
        expected = {
            key: [
                name
                for name, aspect in aspect_of.items()
                if aspect in getattr(probe, key)
                and (key != "falls" or asked[name].of_source or not probe.of_source)
            ]
            for key in ("falls", "stays", "capped")
        }
        for condition, dose in probe.conditions.items():
            if condition in occurring:
                facts = {
                    "condition": condition,
                    "probe": probe.name,
                    "kind": probe.kind,
                    "what": probe.title(dose),
                }
                doses = {"dose": dose, "share": dose / max(probe.doses)} if probe.doses else {}
                declared.append(
                    {**facts, **doses, **{key: names for key, names in expected.items() if names}}
                )
    return declared


def _warnings(
    originals: Sequence[Output],
    changes: pd.DataFrame,
    aspect_of: Mapping[str, str],
    per_language: int,
) -> Iterator[str]:
    unknown = [name for name, aspect in aspect_of.items() if not aspect]
    if unknown:
        yield (
            f"METAL does not know what {first_few(unknown)} look at, so no probe says how scores on"
            f" them must change; declare it with `aspects={{{unknown[0]!r}: 'language'}}`"
            f" (one of {', '.join(ASPECTS)})"
        )
    counts = Counter(output.language for output in originals)
    in_order = sorted(counts, key=language_order)
    if few := [
        f"{language_name(code)} {counts[code]}" for code in in_order if counts[code] < per_language
    ]:
        yield f"fewer than {per_language} outputs with a text: {listed(few)}"
    none = changes[changes["made"] == 0]
    if len(none):
        places = [
            f"{row['what']} in {language_name(row['language'])}: {row['why']}"
            for row in none.to_dict("records")
        ]
        yield f"{plural(len(none), 'probe')} changed no text: {first_few(places, 4)}"
