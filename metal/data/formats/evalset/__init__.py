"""EvalSet folders: the test sets of the WMT metrics tasks, as mt-metrics-eval reads them.

    documents/LP.docs                      DOMAIN DOCUMENT, a line for each segment
    sources/LP.txt                         the segments (or .jsonl: source)
    references/LP.NAME.txt                 a reference each (or .jsonl: target)
    system-outputs/LP/SYSTEM.txt           the outputs (or .jsonl: hypothesis)
    human-scores/LP.NAME.LEVEL.score       SYSTEM SCORE; LEVEL is seg, doc, sys, or domain
    human-scores/LP.NAME.seg.rating        SYSTEM JSON [RATER]: the errors that people marked
    metric-scores/LP/METRIC-REF.LEVEL.score    REF names the references; src if there are none

LP is a language pair (`en-de`). What becomes of it in a dataset:

language          LP, all of the folder; or the one that the option `language` names
source            LP/N, segments counted from 1; with its document, domain and references
output            LP/N/SYSTEM, by the generator SYSTEM
criterion         NAME of people's scores (`mqm`, `da-sqm`); `score` of metrics
raters            people: see metal.data.formats.evalset.people. Metrics: METRIC if it compares with
                  the standard reference, METRIC[noref] if with none, else METRIC-REF; `metric` in
                  raters.jsonl is METRIC, `references` are those that it uses in each LP. Those that
                  `kinds` calls `llm` are judges: see metal.data.formats.evalset.judges
generators        references among the systems are people, except synthetic ones
generator scores  each score in a .sys, .domain or .doc file, as it is (they need not be means)
[evalset.LP]      in dataset.toml: `folder` is the LP in file names, `references` are their names in
                  the order of those of a source, `standard_reference` is the one that most metrics
                  use (the first by name if several do), `ratings` names the raters of each .rating
                  file, none if it holds the errors of a panel
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal.data.formats import Draft, Format

if TYPE_CHECKING:
    from metal.data.formats.evalset.pair import LanguagePair


def read(path: Path, options: Mapping[str, Any]) -> Draft:
    """Read the folder of a test set: all of its language pairs, or that of the option `language`.

    Raises UsageError if it has no such pair; DataError for a file that does not fit the others.
    """
    from metal.data.formats.evalset.folder import read_texts
    from metal.data.formats.evalset.judges import with_kinds
    from metal.data.formats.evalset.pair import read_pair
    from metal.data.own_ranges import with_ranges
    from metal.data.progress import counted_as

    texts = read_texts(path, options.get("language", ""))
    pairs = [read_pair(path, each) for each in counted_as(texts, "language pairs")]
    draft = _draft(path, pairs)
    draft = replace(draft, criteria=with_ranges(draft.criteria, options))
    return with_kinds(draft, options)


def _draft(path: Path, pairs: list[LanguagePair]) -> Draft:
    from metal.data.dataset import Card
    from metal.data.formats.evalset.table import facts_of
    from metal.data.generator_scores import generator_scores
    from metal.data.text import first_few

    raters = {rater.rater: rater for pair in pairs for rater in pair.raters(pairs)}
    criteria = {each.name: each for each in _all(pairs, "criteria")}
    people = dict.fromkeys(_all(pairs, "people_among_systems"))
    return Draft(
        Card(path.resolve().name, f"Machine translation: {first_few(_all(pairs, 'languages'))}"),
        tuple(criteria.values()),
        tuple(_all(pairs, "sources")),
        tuple(_all(pairs, "outputs")),
        tuple(raters.values()),
        facts_of(pairs, list(criteria), list(raters)),
        tuple(_all(pairs, "notes")),
        {
            "evalset": {pair.texts.language: pair.described for pair in pairs},
            "generators": {name: {"kind": "human"} for name in people},
        },
        generator_scores=generator_scores(_all(pairs, "of_generators")),
    )


def _all(pairs: list[LanguagePair], part: str) -> list[Any]:
    """A part of every language pair, one after the other."""
    return [each for pair in pairs for each in getattr(pair, part)]


FORMAT = Format(
    "EvalSet folders of WMT metrics tasks (mt-metrics-eval): texts and scores",
    read,
    frozenset({"language", "ranges", "kinds", "criterion"}),
    (("human-scores/*.score", ()), ("metric-scores/*/*.score", ())),
)
