"""What a sample of sources says of a judge: weighted F1, and whether it passes the alternative annotator test.

Both are computed from sums over items, so that many samples are one matrix product (metal.genie.design.sampling.Pool).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metal.errors import Undefined
from metal.genie.design.sampling import Pool, draw_panels, pool_of
from metal.stats.aggregate import aggregate
from metal.stats.agreement import weighted_f1
from metal.stats.alternative_annotator import MIN_ITEMS, Closeness, Q
from metal.stats.patterns import Codes, Numbers

LEAST_RATED = 10  # items of a person in the data, below which nothing is known of what more of them would bring


@dataclass(frozen=True)
class JudgedPool:
    """Sources that people and a judge rated, and how to read sums over them.

    pool: columns are the confusion matrix (truth in rows), then for each person: items, sum and sum of squares of the
    person's lead. items: that so many people and the judge rated, ties among them. dropped: items left out, by reason.
    """

    pool: Pool
    levels: int
    people: int
    items: int
    dropped: dict[str, int]

    def f1(self, sums: Numbers) -> Numbers:
        """(...,) weighted F1 against the people's aggregate (METAL section 4.4.1) from sums (..., columns)."""
        cells = sums[..., : self.levels**2]
        table = cells.reshape(*sums.shape[:-1], self.levels, self.levels)
        sides = np.diagonal(table, axis1=-2, axis2=-1), table.sum(axis=-1), table.sum(axis=-2)
        return np.asarray(weighted_f1(np.stack(sides, axis=-2)))

    def passes(self, sums: Numbers, epsilon: float) -> Codes:
        """(...,) whether the judge passes, as metal.stats.alternative_annotator has it; where nobody can be tested it
        does not.
        """
        number, total, squares = self._leads(sums)
        p = _t_test_p(number, total, squares, epsilon)
        tested = (~np.isnan(p)).sum(axis=-1)
        rejected = _benjamini_yekutieli_rejects(p, tested)
        return np.asarray((tested > 0) & (rejected * 2 >= tested))

    def leads(self) -> Numbers:
        """(people,) the mean lead of each person over the judge, in the data; NaN for who rated nothing."""
        number, total, _ = self._leads(self.pool.chances @ self.pool.sums)
        return np.asarray(np.divide(total, number, out=np.full(number.shape, np.nan), where=number > 0))

    def _leads(self, sums: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        leads = sums[..., self.levels**2 :].reshape(*sums.shape[:-1], 3, self.people)
        return leads[..., 0, :], leads[..., 1, :], leads[..., 2, :]


def judged_pool(
    people: Codes,
    judge: Codes,
    sources: Codes,
    values: Numbers,
    size: int,
    *,
    rule: str,
    ordered: bool,
    rng: np.random.Generator,
) -> JudgedPool:
    """The pool for `size` people per item.

    people: (items, people) class codes, negative where one gave none; judge: (items,) the same; values: of the classes.
    rule: how people become one label (metal.stats.aggregate). Raises Undefined where no item has so many people and the
    judge.
    """
    rated = people >= 0
    enough = rated.sum(axis=1) >= size
    usable = enough & (judge >= 0)
    dropped = {
        fewer_than(size): int((rated.any(axis=1) & ~enough).sum()),
        "no answer of the judge": int((enough & (judge < 0)).sum()),
    }
    if not usable.any():
        raise Undefined(f"no item was rated by the judge and {_people(size)}")
    people, judge, rated, sources = people[usable], judge[usable], rated[usable], sources[usable]
    chosen = draw_panels(rated, size, rng)
    asked = np.where(chosen, people, -1)
    versions, items, _ = asked.shape
    truth = aggregate(asked.reshape(versions * items, -1), values, rule, ordered=ordered).reshape(versions, items)
    dropped["tied"] = round(float((truth < 0).mean()) * items)
    if (truth < 0).all():
        raise Undefined("every item is a tie")
    levels = len(values)
    cells = np.where(truth >= 0, truth * levels + judge, -1)[..., None] == np.arange(levels**2)
    lead, given = _lead(asked, judge, values, "distance" if ordered else "agreement")
    few = (rated.sum(axis=0) < LEAST_RATED) & rated.any(axis=0)
    given, lead = given & ~few, np.where(few, 0.0, lead)
    dropped[f"from the test: people with fewer than {LEAST_RATED} items"] = int(few.sum())
    rows = np.concatenate([cells, given, lead, lead**2], axis=-1).astype(np.float64)
    counted = {reason: count for reason, count in dropped.items() if count}
    return JudgedPool(pool_of(rows, sources), levels, people.shape[1], items, counted)


def fewer_than(size: int) -> str:
    """Why an item is left out."""
    return f"fewer than {_people(size)}"


def _people(size: int) -> str:
    return "1 person" if size == 1 else f"{size} people"


def _lead(asked: Codes, judge: Codes, values: Numbers, closeness: Closeness) -> tuple[Numbers, Codes]:
    """(versions, items, people) 1 where a person is nearer to the remaining people than the judge, -1 where the judge
    is, 0 alike or nobody remains; and whether the person counts on the item.
    """
    here = asked >= 0
    count = here.sum(axis=-1, keepdims=True)
    given = here & (count >= 2)
    if closeness == "agreement":
        votes = np.stack([(asked == level).sum(axis=-1) for level in range(len(values))], axis=-1)
        agreeing_with_person = np.take_along_axis(votes, np.maximum(asked, 0), axis=-1) - 1
        same = asked == judge[:, None]
        agreeing_with_judge = (
            np.take_along_axis(votes, np.broadcast_to(judge[:, None], (*asked.shape[:2], 1)), axis=-1) - same
        )
        lead = np.sign(agreeing_with_person - agreeing_with_judge)
    else:
        x = np.where(here, values[asked], 0.0)
        y = values[judge][:, None]
        total, squares = x.sum(axis=-1, keepdims=True), (x**2).sum(axis=-1, keepdims=True)
        far_person = count * x**2 - 2 * x * total + squares
        far_judge = count * y**2 - 2 * y * total + squares - (y - x) ** 2
        lead = np.sign(np.round(far_judge - far_person, 9))
    return np.where(given, lead, 0.0), given


def _t_test_p(number: Numbers, total: Numbers, squares: Numbers, epsilon: float) -> Numbers:
    """One-sided t test that the mean lead is below epsilon; NaN below 30 items or where all leads are equal."""
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / number
        spread = (squares - number * mean**2) / (number - 1)
        t = (mean - epsilon) / np.sqrt(spread / number)
        p = stdtr(number - 1, t)
    return np.where((number >= MIN_ITEMS) & (spread > 1e-12), p, np.nan)


def _benjamini_yekutieli_rejects(p: Numbers, tested: Codes) -> Codes:
    """(...,) how many of p (..., tests), NaN where there is no test, are rejected at Q."""
    place = np.arange(1, p.shape[-1] + 1)
    harmonic = np.concatenate([[1.0], np.cumsum(1 / place)])[tested]
    rising = np.sort(p, axis=-1)  # NaN last
    below = rising * (tested * harmonic)[..., None] <= Q * place
    return np.asarray(np.where(below, place, 0).max(axis=-1))
