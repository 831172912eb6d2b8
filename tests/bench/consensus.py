"""Speed of Dawid-Skene and MACE against crowd-kit, and how often both give the same label, in one run.

    python -m tests.bench.consensus [DATASET ...]

20,000 items x 5 ratings by 100 raters, one in ten of them a spammer, on 2, 3 and 5 classes; then every criterion x
language of the people's ratings in each DATASET folder. Both sides start from arrays of triples (crowd-kit from its
table of task, worker, label) and return labels; crowd-kit runs with its defaults. crowd-kit is no part of METAL:
install it beside (pip install crowd-kit) to see its columns.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.dataset import load_dataset
from metal.ratings import code_matrix
from metal.stats.answers import answers_of_triples
from metal.stats.dawid_skene import dawid_skene
from metal.stats.mace import mace

try:
    from crowdkit.aggregation import MACE, DawidSkene
except ImportError:
    MACE = DawidSkene = None

ITEMS, RATERS, PER_ITEM = 20_000, 100, 5
SLOW = 20_000  # items from which crowd-kit's MACE takes a minute: run once, on the first world only


def world(classes: int, seed: int = 0) -> tuple[Any, Any, Any, tuple[int, int], Any]:
    """Items, raters, codes, the shape, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(classes, ITEMS, p=rng.dirichlet(np.full(classes, 5.0)))
    skill = np.where(np.arange(RATERS) < RATERS // 10, 0.0, rng.beta(6, 2, RATERS))
    rater = np.argsort(rng.random((ITEMS, RATERS)), axis=1)[:, :PER_ITEM].ravel()
    item = np.repeat(np.arange(ITEMS), PER_ITEM)
    code = np.where(rng.random(len(item)) < skill[rater], truth[item], rng.integers(0, classes, len(item)))
    return item, rater, code, (ITEMS, RATERS), truth


def real(folder: Path) -> Iterator[tuple[str, Any, int]]:
    """Language and criterion, the code matrix of the people, and how many classes the scale has."""
    dataset = load_dataset(folder)
    people = dataset.ratings[dataset.ratings["kind"] == "human"]
    for (language, name), rows in people.groupby(["language", "criterion"], observed=True):
        levels = len(dataset.criteria[str(name)].scale.levels)
        if levels and rows["score"].notna().any():
            yield f"{dataset.card.name} {language} {name}"[:44], code_matrix(rows, dataset.criteria[str(name)]), levels


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def compare(
    what: str, item: Any, rater: Any, code: Any, shape: tuple[int, int], levels: int, truth: Any = None
) -> None:
    """A line a model: seconds of both, the ratio, labels alike, and accuracy where the truth is known."""
    frame = pd.DataFrame({"task": item, "worker": rater, "label": code})
    for name, ours, theirs in (("Dawid-Skene", dawid_skene, DawidSkene), ("MACE", mace, MACE)):
        mine, fit = timed(lambda fitted=ours: fitted(answers_of_triples(item, rater, code, shape, levels)))
        line = f"{what:<46}{name:<13}{mine:>8.3f}"
        right = f"{(fit.labels == truth).mean():>9.2%}" if truth is not None else ""
        if theirs is None or (theirs is MACE and len(fit.labels) >= SLOW and levels > 2):
            print(f"{line}{'-':>11}{'-':>8}{'-':>9}{right}")
            continue
        peer, labels = timed(lambda fitted=theirs: fitted().fit_predict(frame))
        alike = (labels.sort_index().to_numpy() == fit.labels[np.sort(labels.index)]).mean()
        their = f"{(labels.sort_index().to_numpy() == truth).mean():>9.2%}" if truth is not None else ""
        print(f"{line}{peer:>11.3f}{peer / mine:>7.0f}x{alike:>9.2%}{right}{their}", flush=True)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    if DawidSkene is None:
        print("crowd-kit is not installed (pip install crowd-kit): METAL's columns only")
    print(f"{'data':<46}{'model':<13}{'ours s':>8}{'crowdkit s':>11}{'ratio':>8}{'alike':>9}{'right':>9}{'theirs':>9}")
    for classes in (2, 3, 5):
        item, rater, code, shape, truth = world(classes)
        compare(f"{ITEMS:,} items x {PER_ITEM}, {classes} classes", item, rater, code, shape, classes, truth)
    for folder in sys.argv[1:]:
        for what, matrix, levels in real(Path(folder)):
            item, rater = np.nonzero(matrix.codes >= 0)
            compare(what, item, rater, matrix.codes[item, rater].astype(int), matrix.codes.shape, levels)


if __name__ == "__main__":
    main()
