"""Speed of Dawid-Skene and MACE against crowd-kit, and how often both give the same label, in one
run.

    python -m tests.bench.consensus [DATASET ...]

20,000 items x 5 ratings by 100 raters, one in ten of them a spammer, on 2, 3 and 5 classes; then
every criterion x language of the people's ratings in each DATASET folder. METAL starts from a
matrix of codes and crowd-kit from its table of task, worker, label; both return labels, and
crowd-kit runs with its defaults. crowd-kit is no part of METAL: install it beside (pip install
crowd-kit) to see its columns.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metal.data.dataset import load_dataset
from metal.data.ratings import code_matrix
from metal.stats.answers import answers_of_matrix, most_probable
from metal.stats.dawid_skene import SMOOTHING, _Fit, dawid_skene
from metal.stats.mace import mace
from tests.bench.clock import timed

try:
    from crowdkit.aggregation import MACE, DawidSkene
except ImportError:
    MACE = DawidSkene = None

ITEMS, RATERS, PER_ITEM = 20_000, 100, 5
LARGE = 1_000  # items from which crowd-kit's MACE takes long: it is run once, on the first world


def world(classes: int, seed: int = 0) -> tuple[Any, Any]:
    """(items, raters) codes, negative without an answer, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(classes, ITEMS, p=rng.dirichlet(np.full(classes, 5.0)))
    skill = np.where(np.arange(RATERS) < RATERS // 10, 0.0, rng.beta(6, 2, RATERS))
    rater = np.argsort(rng.random((ITEMS, RATERS)), axis=1)[:, :PER_ITEM].ravel()
    item = np.repeat(np.arange(ITEMS), PER_ITEM)
    codes = np.full((ITEMS, RATERS), -1)
    codes[item, rater] = np.where(
        rng.random(len(item)) < skill[rater], truth[item], rng.integers(0, classes, len(item))
    )
    return codes, truth


def real(folder: Path) -> Iterator[tuple[str, Any, int]]:
    """Language and criterion, the code matrix of the people, and how many classes the scale has."""
    dataset = load_dataset(folder)
    people = dataset.ratings[dataset.ratings["kind"] == "human"]
    for (language, name), rows in people.groupby(["language", "criterion"], observed=True):
        levels = len(dataset.criteria[str(name)].scale.levels)
        if levels and rows["score"].notna().any():
            yield (
                f"{dataset.card.name} {language} {name}"[:44],
                code_matrix(rows, dataset.criteria[str(name)]),
                levels,
            )


def compare(what: str, codes: Any, levels: int, truth: Any = None) -> None:
    """Two lines, a model each: seconds of both, the ratio, labels alike, and accuracy where the
    truth is known.

    alike: at convergence; of Dawid-Skene also after as many plain steps as crowd-kit made. Its loss
    adds the class prior once a rating instead of once an item, is no bound, and falls: it stops
    after a few.
    """
    item, rater = np.nonzero(codes >= 0)
    frame = pd.DataFrame({"task": item, "worker": rater, "label": codes[item, rater].astype(int)})
    mine, fit = timed(lambda: dawid_skene(answers_of_matrix(codes, levels)))
    if DawidSkene is None:
        show(what, "Dawid-Skene", mine, fit.labels, truth)
    else:
        peer, theirs = timed(lambda: DawidSkene().fit(frame))
        rounds = len(theirs.loss_history_)
        answers = answers_of_matrix(codes, levels)
        plain = _Fit(answers, SMOOTHING)
        share, likelihood = plain.votes(np.ones(answers.raters)), 0.0
        for _ in range(rounds):
            share, likelihood = plain.posterior(plain.parameters(share))
        stopped = most_probable(answers.by_item(answers.over_levels(share)))
        labels = theirs.labels_.sort_index()
        gain = fit.history[-1] - likelihood
        more = (
            f"  {same(stopped, labels):.2%} after {rounds}; log-likelihood +{gain:.1f} from there"
        )
        show(what, "Dawid-Skene", mine, fit.labels, truth, peer, labels, more)
    mine, fit = timed(lambda: mace(answers_of_matrix(codes, levels)))
    if MACE is None or (len(fit.labels) >= LARGE and levels > 2):
        show(what, "MACE", mine, fit.labels, truth)
        return
    # All restarts of crowd-kit have one seed and are the same: one is enough where only its labels
    # are wanted.
    peer, theirs = timed(lambda: MACE(n_restarts=10 if truth is not None else 1).fit(frame))
    more = "" if truth is not None else "  (one restart)"
    show(what, "MACE", mine, fit.labels, truth, peer, theirs.labels_.sort_index(), more)


def same(labels: Any, theirs: Any) -> float:
    return float((theirs.to_numpy() == labels[theirs.index.to_numpy()]).mean())


def show(
    what: str,
    model: str,
    mine: float,
    labels: Any,
    truth: Any,
    peer: float = 0.0,
    theirs: Any = None,
    more: str = "",
) -> None:
    right = f"{(labels == truth).mean():>9.2%}" if truth is not None else ""
    line = f"{what:<46}{model:<13}{mine:>8.3f}"
    if theirs is None:
        print(f"{line}{'-':>11}{'-':>8}{'-':>9}{right}", flush=True)
        return
    their = f"{(theirs.to_numpy() == truth).mean():>9.2%}" if truth is not None else ""
    print(
        f"{line}{peer:>11.3f}{peer / mine:>7.0f}x{same(labels, theirs):>9.2%}{right}{their}{more}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    if DawidSkene is None:
        print("crowd-kit is not installed (pip install crowd-kit): METAL's columns only")
    print(
        f"{'data':<46}{'model':<13}{'ours s':>8}{'crowdkit s':>11}{'ratio':>8}{'alike':>9}"
        f"{'right':>9}{'theirs':>9}"
    )
    for classes in (2, 3, 5):
        codes, truth = world(classes)
        compare(f"{ITEMS:,} items x {PER_ITEM}, {classes} classes", codes, classes, truth)
    for folder in sys.argv[1:]:
        for what, matrix, levels in real(Path(folder)):
            compare(what, matrix.codes, levels)


if __name__ == "__main__":
    main()
