"""How often a judge is called *like a person*, in worlds whose items are hard for everybody and
among real people.

    python -m tests.bench.verdicts                      # few draws of each world, a minute or two
    nice python -m tests.bench.verdicts --times 150 --cores 1 > table.md

Markdown. Of each kind of judge the mean and the worst share over the worlds; of a judge like the
people that is power, of all others it is wrong. Then *informative* and *uninformative* on ordered
scales, who is careless, how often the 90% limits of the share kept hold the truth, and scores. With
METAL_REFERENCE set, real people, each in turn as the judge of the others, and PARIKSHA's verdicts
with every worker under several names.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

import metal
from metal.auditing.cells import AuditCell, cells
from metal.auditing.settings import AuditSettings
from metal.auditing.standing import careless_people
from metal.auditing.verdict import LIKE_A_PERSON, verdict
from metal.data import formats
from metal.data.pairs import one_item_per_pair
from metal.data.ratings import CodeMatrix
from tests.hard_worlds import (
    EQUAL,
    EVEN,
    LEVELS_5,
    LIKERT_7,
    SKEWED,
    UNEVEN,
    WORSE,
    HardScores,
    HardWorld,
)

KINDS = (EQUAL, "always right", "refuses the hardest", *WORSE, "never bad")
SCORES = (
    EQUAL,
    "twice the noise",
    "60% of the low at 80",
    "80% of the low at 80",
    "80% constant",
    "half slope",
)
FOUR, THREE, FIVE = (0.85,) * 4, (0.85,) * 3, (0.85,) * 5
Counts = tuple[Any, dict[str, Counter[str]]]


def worlds() -> Iterator[HardWorld]:
    """Panels of three to five, then a crowd of 24 of whom three rate each item."""
    for items in (100, 300, 600):
        for shares in (SKEWED, UNEVEN, EVEN):
            yield from (HardWorld(shares, FOUR, together, items) for together in (0.0, 0.2, 0.4))
    yield from (HardWorld(SKEWED, rights, 0.2) for rights in (THREE, FIVE, (0.95, 0.9, 0.9, 0.95)))
    yield from (HardWorld(SKEWED, THREE, 0.4, items) for items in (300, 600))
    yield from (HardWorld(UNEVEN, rights, 0.2) for rights in (THREE, FIVE, (0.95,) * 3))
    yield from (
        HardWorld(LEVELS_5, (0.8,) * 4, 0.2, items, ordered=True) for items in (100, 300, 600)
    )
    yield from (
        HardWorld(LIKERT_7, (0.7,) * 4, 0.2, items, ordered=True) for items in (100, 300, 600)
    )
    yield from (HardWorld((0.5, 0.3, 0.2), (0.65, 0.65, 0.6), 0.2, items) for items in (300, 600))
    yield from (HardWorld(EVEN, FOUR, 0.2, 60), HardWorld((0.5, 0.3, 0.2), FOUR, 0.2))
    yield from (HardWorld(shares, FOUR, 0.2, workers=24) for shares in (SKEWED, UNEVEN, EVEN))
    yield HardWorld(LEVELS_5, (0.8,) * 4, 0.2, ordered=True, workers=24)


def count(work: tuple[HardWorld | HardScores, tuple[str, ...], int]) -> Counts:
    """The verdicts on each kind of judge."""
    world, kinds, times = work
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    for seed in range(times):
        for kind, said in world.verdicts(seed, kinds).items():
            counts[kind][said.verdict] += 1
    return world, counts


def share(number: float) -> str:
    """`0`, `.04`, `1`"""
    return f"{number:.2f}".removeprefix("0").removesuffix(".00") or "0"


def like_a_person(counts: Iterable[Counts], times: int, title: str) -> Iterator[str]:
    """A row for each kind of judge: mean, worst (of a good one: least) and where."""
    counts = list(counts)
    yield f"\n**{title}**: share *{LIKE_A_PERSON}* over {len(counts)} worlds, {times} draws each\n"
    yield "| judge | mean | worst | where |\n|---|---|---|---|"
    for kind in counts[0][1]:
        shares = [(of_kind[kind][LIKE_A_PERSON] / times, str(world)) for world, of_kind in counts]
        good = kind in (EQUAL, "always right", "refuses the hardest")
        worst, where = min(shares) if good else max(shares)
        yield (
            f"| {kind} | {share(float(np.mean([each for each, _ in shares])))} | {share(worst)} |"
            f" {where} |"
        )


def other_words(counts: Iterable[Counts], times: int) -> Iterator[str]:
    """How often judges are informative and uninformative."""
    yield "\n**Informative / uninformative**\n"
    yield "| world | judge | informative or better | uninformative |\n|---|---|---|---|"
    for world, of_kind in counts:
        for kind, words in of_kind.items():
            knows = words["informative"] + words[LIKE_A_PERSON]
            yield (
                f"| {world} | {kind} | {share(knows / times)} |"
                f" {share(words['uninformative'] / times)} |"
            )


def careless_found(times: int) -> Iterator[str]:
    """How often a careless person is found, and equal ones are."""
    yield "\n**Careless**\n\n| people | found | an equal one called so |\n|---|---|---|"
    for rights, wrong in (((0.9, 0.85, 0.6, 0.9), {2}), ((0.85,) * 4, set[int]())):
        found = [
            set(careless_people(HardWorld(SKEWED, rights).draw(seed, (EQUAL,))).people)
            for seed in range(times)
        ]
        hits = np.mean([wrong <= each for each in found]) if wrong else 0.0
        yield (
            f"| {rights} | {share(float(hits))} |"
            f" {share(float(np.mean([bool(each - wrong) for each in found])))} |"
        )


def coverage(times: int) -> Iterator[str]:
    """How often 90% limits of the shares kept hold what 60,000 items give."""
    yield (
        "\n**Limits of the share kept, of the order kept and of kappa's**\n\n| world | judge |"
        " cover |\n|---|---|---|"
    )
    for shares, rights, ordered in (
        (UNEVEN, FOUR, False),
        (EVEN, FOUR, False),
        (LEVELS_5, (0.8,) * 4, True),
    ):
        for kind in (EQUAL, "-.20"):
            truth = HardWorld(shares, rights, 0.2, 60_000, ordered).verdicts(999, (kind,))[kind]
            for items in (100, 300):
                drawn = [
                    HardWorld(shares, rights, 0.2, items, ordered).verdicts(seed, (kind,))[kind]
                    for seed in range(times)
                ]
                held = []
                for name in ("share_kept", "order_kept", "kappa_kept"):
                    known = [
                        getattr(said, name)
                        for said in drawn
                        if not np.isnan(getattr(said, name).value)
                    ]
                    value = getattr(truth, name).value
                    held.append(
                        share(float(np.mean([each.low <= value <= each.high for each in known])))
                        if known
                        else "-"
                    )
                yield f"| {shares}, {items} items | {kind} | {' / '.join(held)} |"


def items_that_tell(times: int) -> Iterator[str]:
    """How often as many items as a verdict asks for decide, drawn anew."""
    yield "\n**Items needed**: how often as many tell\n"
    yield "| world | verdicts that ask | tell |\n|---|---|---|"
    for shares, rights, ordered in (
        (EVEN, FOUR, False),
        (UNEVEN, FOUR, False),
        (LEVELS_5, (0.8,) * 4, True),
    ):
        for items in (60, 100, 150):
            told = []
            for seed in range(times):
                world = HardWorld(shares, rights, 0.2, items, ordered)
                said = world.verdicts(seed, (EQUAL,))[EQUAL]
                if not said.items_needed > items:
                    continue
                larger = replace(world, items=round(min(said.items_needed, 3000)))
                after = larger.verdicts(seed + times, (EQUAL,))[EQUAL].verdict
                known = LIKE_A_PERSON if said.verdict == "informative" else "informative"
                told.append(after in (LIKE_A_PERSON, known))
            tell = share(float(np.mean(told))) if told else "-"
            yield f"| {HardWorld(shares, rights, 0.2, items, ordered)} | {len(told)} | {tell} |"


# ---------------------------------------------------------------- real people


def real_cells(reference: Path) -> Iterator[AuditCell]:
    """Cells with people of PARIKSHA, the alternative annotator test's data, MEMERAG and MLQE's
    bands.
    """
    pariksha, folders = reference / "pariksha", sorted((reference / "alttest").iterdir())
    datasets = [formats.read("pariksha", pariksha, {}).assemble(pariksha)]
    datasets += [formats.read("alttest", folder, {}).assemble(folder) for folder in folders]
    tables = ("memerag-ext/ratings.csv", "mlqe-mixtral/metal_table.csv")
    datasets += [metal.read(reference / table) for table in tables]
    for dataset in map(one_item_per_pair, datasets):
        asked = [cell for cell in cells(dataset, AuditSettings()) if cell.usual_panel >= 2]
        asked = [cell for cell in asked if not cell.continuous]
        yield from [as_one(asked)] if "ambiance" in dataset.criteria else asked


def as_one(aspects: Sequence[AuditCell]) -> AuditCell:
    """One cell of the same question about several aspects, as CEBaB's authors count them."""
    judges = aspects[0].judges
    people = tuple(sorted({person for cell in aspects for person in cell.people}))
    raters, codes = (*people, *judges), []
    for cell in aspects:
        of_aspect = np.full((len(cell.matrix.codes), len(raters)), -2)
        answered = [rater for rater in raters if rater in cell.matrix.raters]
        of_aspect[:, [raters.index(rater) for rater in answered]] = cell.matrix.of(answered)
        codes.append(of_aspect)
    rows = np.concatenate(codes)
    sources = np.concatenate([cell.matrix.sources for cell in aspects])
    outputs = tuple(map(str, range(len(rows))))
    matrix = CodeMatrix(rows, sources, outputs, raters, rows, aspects[0].values)
    groups = dict.fromkeys(people, "")
    return replace(aspects[0], matrix=matrix, people=people, judges=judges, groups=groups)


def people_as_judges(reference: Path) -> Iterator[str]:
    """Each person as the judge of the others: like a person by size, whole and with a part of the
    answers spoiled.
    """
    passed: dict[str, list[bool]] = {}
    for cell in real_cells(reference):
        for column in range(min(len(cell.people), 40)):
            people, judge = (
                np.delete(cell.by_people, column, axis=1),
                cell.by_people[:, column].copy(),
            )
            both = (judge >= 0) & ((people >= 0).sum(axis=1) >= 2)
            if both.sum() < 30 or people.shape[1] < 2:
                continue
            rng = np.random.default_rng([column, len(judge)])
            size = next((f"up to {most}" for most in (75, 150, 300) if both.sum() <= most), "more")
            random = judge[rng.permutation(np.flatnonzero(judge >= 0))]
            for part in (0.0, 0.2, 0.4):
                said, given = judge.copy(), np.flatnonzero(judge >= 0)
                spoiled = rng.random(len(given)) < part
                said[given[spoiled]] = random[spoiled]
                codes = np.column_stack([people, np.where(said < 0, -2, said)])
                names = tuple(f"p{place}" for place in range(people.shape[1]))
                matrix = replace(cell.matrix, codes=codes, raters=(*names, "j"))
                alone = replace(
                    cell,
                    matrix=matrix,
                    people=names,
                    judges=("j",),
                    groups=dict.fromkeys(names, ""),
                )
                decided = verdict(alone, "j", ranges=False)
                good = part > 0 or (
                    decided.below_person.value >= -0.03 and decided.share_kept.value >= 0.85
                )  # NaN is not
                if good:
                    name = (
                        f"{size} items, good by point values" if not part else f"{part:.0%} random"
                    )
                    passed.setdefault(name, []).append(decided.verdict == LIKE_A_PERSON)
    yield (
        "\n**Real people as judges of the others**\n\n| who | cells | like a person"
        " |\n|---|---|---|"
    )
    for name, each in passed.items():
        yield f"| {name} | {len(each)} | {share(float(np.mean(each)))} |"


def under_other_names(reference: Path, times: int) -> Iterator[str]:
    """PARIKSHA with every worker under 2, 4 and 8 names: how far the share kept moves, and which
    verdicts turn.
    """
    dataset = one_item_per_pair(
        formats.read("pariksha", reference / "pariksha", {}).assemble(Path("pariksha"))
    )
    moved, turned = [], 0
    for cell in cells(dataset, AuditSettings()):
        if not cell.usual_panel:
            continue
        for judge in cell.judges:
            first = verdict(cell, judge, ranges=False)
            for names in (2, 4, 8):
                for seed in range(times):
                    other = verdict(split(cell, names, seed), judge, ranges=False)
                    change = np.nan_to_num(other.share_kept.value - first.share_kept.value)
                    moved.append(abs(float(change)))
                    turned += other.verdict != first.verdict
    yield (
        f"\n**PARIKSHA under 2, 4 and 8 names a worker**, {len(moved)} splits: the share kept"
        " moves by "
    )
    yield (
        f"{np.median(moved):.1g} in the median, {np.quantile(moved, 0.99):.2f} in 99%; {turned}"
        " verdicts turn"
    )


def split(cell: AuditCell, names: int, seed: int) -> AuditCell:
    """The cell with each person's ratings spread over several names."""
    people = cell.by_people
    part = np.random.default_rng([names, seed]).integers(0, names, people.shape)
    spread = np.full((len(people), people.shape[1] * names), -2, dtype=people.dtype)
    for person in range(people.shape[1]):
        spread[np.arange(len(people)), person * names + part[:, person]] = people[:, person]
    raters = tuple(f"q{place}" for place in range(spread.shape[1]))
    matrix, codes = cell.matrix, np.column_stack([spread, cell.matrix.of(cell.judges)])
    fresh = CodeMatrix(
        codes, matrix.sources, matrix.outputs, (*raters, *cell.judges), codes, matrix.values
    )
    return replace(cell, matrix=fresh, people=raters, groups=dict.fromkeys(raters, ""))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=5, help="draws of each world (default: 5)")
    parser.add_argument(
        "--cores", type=int, default=os.cpu_count(), help="processes (default: all cores)"
    )
    options = parser.parse_args()
    times = options.times
    ordered = [
        HardWorld(shares, (0.6,) * 4, 0.2, items, True)
        for shares in (LEVELS_5, LIKERT_7)
        for items in (100, 300)
    ]
    scores = [HardScores(noise, items) for noise in (8, 14) for items in (100, 300)]
    scores += [HardScores(8, items, heavy=True) for items in (100, 300)]
    with Pool(options.cores) as pool:
        every = list(pool.imap(count, [(world, KINDS, times) for world in worlds()]))
        on_order = list(
            pool.imap(
                count, [(world, (EQUAL, "random", "-.30", "constant"), times) for world in ordered]
            )
        )
        on_scores = list(pool.imap(count, [(world, SCORES, times) for world in scores]))
    print(
        "\n".join(
            like_a_person(
                (each for each in every if not each[0].workers), times, "Panels of three to five"
            )
        )
    )
    print(
        "\n".join(
            like_a_person(
                (each for each in every if each[0].workers), times, "24 workers, three an item"
            )
        )
    )
    print("\n".join(other_words(on_order, times)))
    for world in on_scores:
        print("\n".join(like_a_person([world], times, str(world[0]))))
    print("\n".join(careless_found(times)))
    print("\n".join(coverage(times)))
    print("\n".join(items_that_tell(10 * times)))
    if reference := os.environ.get("METAL_REFERENCE"):
        print("\n".join(people_as_judges(Path(reference))))
        print("\n".join(under_other_names(Path(reference), max(times // 5, 1))))


if __name__ == "__main__":
    main()
