"""Outputs with the scores of all raters: chosen, searched, and put in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metal.api.output_texts import OutputTexts
from metal.data.languages import language_name
from metal.errors import check_known
from metal.stats.patterns import Codes, Numbers

if TYPE_CHECKING:
    from metal.data.records import Criterion

HIGHER, LOWER, DIFFERS, PEOPLE, NO_SCORE = "higher", "lower", "differs", "people", "none"
JUDGES, ANY = "judges", "any"
KINDS = {
    DIFFERS: "a judge differs from the people",
    HIGHER: "a judge scores higher than the people",
    LOWER: "a judge scores lower than the people",
    PEOPLE: "the people differ among themselves",
    JUDGES: "the judges differ among themselves",
    NO_SCORE: "a judge gave no score",
    ANY: "any answer",
}
BY_LANGUAGE, BY_PEOPLE, OF = "language", "people", "of:"  # orders; OF comes before a rater's name
DOWN = "-"  # before an order: the largest first
TYPICAL = 3  # outputs that show how a judge differs
KEPT = 4  # choices whose outputs are kept


@dataclass(frozen=True)
class Choice:
    """What to look for; an empty value means all.

    kind: a key of KINDS; empty for the usual one. q: words that the texts have. sort: BY_LANGUAGE,
    BY_PEOPLE, or OF with a rater's name, after DOWN for the largest first; empty for the largest
    difference first.
    """

    language: str = ""
    criterion: str = ""
    judge: str = ""
    kind: str = ""
    q: str = ""
    sort: str = ""

    def to_dict(self) -> dict[str, str]:
        """The values that are not empty, as they stand in an address."""
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True, eq=False)
class RunAnswers:
    """The outputs of a dataset or run, and what each rater answered on them.

    items: one row for each output and criterion: language, criterion, output (categories),
    generator, people (their aggregate, NaN without one), people_range (the largest distance between
    two people) and span (the range of the scale; 0 if it is nominal).

    ratings: one row for each rating, in the order of the items: item (a row number of `items`),
    rater (categories), score (NaN without one).

    people, judges: the names of the raters; whoever is no person counts as a judge. by_name: the
    criteria that are known, by name. read_texts: reads texts of outputs: the code of each in
    `items`, with its texts in the order of TEXTS.
    """

    items: pd.DataFrame
    ratings: pd.DataFrame
    by_name: Mapping[str, Criterion]
    people: Sequence[str]
    judges: Sequence[str]
    read_texts: Callable[[], Iterable[tuple[int, Sequence[str]]]]

    @cached_property
    def languages(self) -> Sequence[str]:
        """The languages of the outputs, in string order."""
        return sorted(map(str, self.items["language"].unique()))

    @cached_property
    def criteria(self) -> Sequence[str]:
        """The criteria that were asked, in string order."""
        return sorted(map(str, self.items["criterion"].unique()))

    @cached_property
    def texts(self) -> OutputTexts:
        """The texts of the outputs, by their codes in `items`."""
        ids = self.items["output"].cat.categories.astype(str).tolist()
        texts = OutputTexts(ids, self.read_texts())
        object.__setattr__(self, "read_texts", tuple)  # so that it does not keep a dataset
        return texts

    @cached_property
    def usual_kind(self) -> str:
        """The kind that is looked for if none is chosen: the first that there is."""
        for kind in (DIFFERS, JUDGES, PEOPLE):
            if len(self._apart(Choice(kind=kind))[0]):
                return kind
        return ANY

    def chosen(self, choice: Choice) -> pd.DataFrame:
        """The items of a choice with `item`, `judge`, `score` and `size`, in the order chosen.

        judge, score: the answer that is furthest from the people; empty if people or judges are
        compared among themselves. size: the distance as a share of the scale. Of equal differences,
        those on which people agree come first. Raises UnknownName.
        """
        return self._chosen(choice)

    @cached_property
    def _chosen(self) -> Callable[[Choice], pd.DataFrame]:
        """`_choose`, with the latest results kept."""
        return lru_cache(KEPT)(self._choose)

    def _check(self, choice: Choice) -> None:
        rater = choice.sort.removeprefix(DOWN)
        orders = [BY_LANGUAGE, BY_PEOPLE, *(OF + name for name in (*self.people, *self.judges))]
        for what, wanted, choices in (
            ("language", choice.language, self.languages),
            ("criterion", choice.criterion, self.criteria),
            ("judge", choice.judge, self.judges),
            ("kind", choice.kind, KINDS),
            ("order", rater, orders),
        ):
            check_known(what, [wanted] if wanted else [], choices)

    def _choose(self, choice: Choice) -> pd.DataFrame:
        self._check(choice)
        numbers, answers, sizes = self._apart(choice)
        ranges = self.items["people_range"].to_numpy()[numbers]
        order = np.lexsort((numbers, ranges, -np.nan_to_num(sizes, nan=-1.0)))
        if choice.sort:
            order = order[self._sorted(numbers[order], choice.sort)]
        numbers, answers = numbers[order], answers[order]
        rows = self.items.iloc[numbers].assign(item=numbers, size=sizes[order])
        rows["judge"], rows["score"] = "", np.nan
        if (has_one := answers >= 0).any():
            by_judge = self.ratings.iloc[answers[has_one]]
            rows.loc[has_one, "judge"] = by_judge["rater"].astype(str).to_numpy()
            rows.loc[has_one, "score"] = by_judge["score"].to_numpy()
        return rows

    def _apart(self, choice: Choice) -> tuple[Codes, Codes, Numbers]:
        """The numbers of the items of a choice, for each the row of its judge's answer in `ratings`
        (-1 for none), and how far they are apart.
        """
        wanted = self._wanted(choice)
        kind = choice.kind or self.usual_kind
        span = np.where(self.items["span"] > 0, self.items["span"], 1.0)
        if kind in (PEOPLE, JUDGES):
            ranges = self.items["people_range"] if kind == PEOPLE else self._judges_range
            numbers = np.flatnonzero(wanted & (ranges > 0))
            return numbers, np.full(len(numbers), -1), np.asarray(ranges / span)[numbers]
        rows = self._judged["row"].to_numpy()
        sizes = self._sizes(kind)
        kept = np.flatnonzero(wanted[self._judged["item"]] & ~np.isnan(sizes))
        if choice.judge:
            code = self.ratings["rater"].cat.categories.get_loc(choice.judge)
            kept = kept[self.ratings["rater"].cat.codes.to_numpy()[rows[kept]] == code]
        items = self._judged["item"].to_numpy()[kept]
        largest = np.full(len(self.items), -1.0)
        np.maximum.at(largest, items, sizes[kept])
        kept = kept[sizes[kept] == largest[items]]
        numbers, first = np.unique(self._judged["item"].to_numpy()[kept], return_index=True)
        answers, sizes = rows[kept[first]], sizes[kept[first]]
        if kind != ANY:
            return numbers, answers, sizes
        every = np.flatnonzero(wanted & self._rated_by(choice.judge))
        at = np.searchsorted(every, numbers)
        all_answers, all_sizes = np.full(len(every), -1), np.full(len(every), np.nan)
        all_answers[at], all_sizes[at] = answers, sizes
        return every, all_answers, all_sizes

    def differing(self) -> pd.DataFrame:
        """Every answer of a judge that differs from the people's, in the columns of `chosen`."""
        sizes = self._sizes(DIFFERS)
        kept = np.flatnonzero(~np.isnan(sizes))
        rows = self.ratings.iloc[self._judged["row"].to_numpy()[kept]]
        items = self.items.iloc[rows["item"]].reset_index(drop=True)
        return items.assign(
            item=rows["item"].to_numpy(),
            size=sizes[kept],
            judge=rows["rater"].astype(str).to_numpy(),
            score=rows["score"].to_numpy(),
        )

    def _wanted(self, choice: Choice) -> Any:
        """(items,) whether an item has the language, the criterion and the words of a choice."""
        wanted = np.ones(len(self.items), dtype=bool)
        for column in ("language", "criterion"):
            if value := getattr(choice, column):
                wanted &= (self.items[column] == value).to_numpy()
        if choice.q.strip():
            having = self.texts.having(choice.q.split())
            wanted &= having[self.items["output"].cat.codes.to_numpy()]
        return wanted

    @cached_property
    def _judged(self) -> pd.DataFrame:
        """The judges' answers: row (their number in `ratings`), item, and how far they are above
        the people's answer.
        """
        is_judge = np.isin(self.ratings["rater"].cat.categories, list(self.judges))
        rows = np.flatnonzero(is_judge[self.ratings["rater"].cat.codes])
        item = self.ratings["item"].to_numpy()[rows]
        away = self.ratings["score"].to_numpy()[rows] - self.items["people"].to_numpy()[item]
        return pd.DataFrame({"row": rows, "item": item, "away": away})

    @cached_property
    def _judges_range(self) -> pd.Series:
        """(items,) the largest distance between two judges."""
        return ranges_of(self.items, self.ratings.iloc[self._judged["row"]])

    def _rated_by(self, judge: str) -> Any:
        """(items,) whether a judge was asked; all if no judge is named."""
        if not judge:
            return np.ones(len(self.items), dtype=bool)
        return np.isin(np.arange(len(self.items)), self._of_rater(judge)[0])

    def _of_rater(self, rater: str) -> tuple[Codes, Numbers]:
        """The items that a rater rated, and the scores."""
        rows = self.ratings[self.ratings["rater"] == rater]
        return rows["item"].to_numpy(), rows["score"].to_numpy()

    def _sizes(self, kind: str) -> Numbers:
        """The distance of each judge's answer from the people as a share of the scale; NaN for
        answers that are not of this kind.
        """
        away = self._judged["away"].to_numpy()
        item = self._judged["item"].to_numpy()
        if kind == NO_SCORE:
            scores = self.ratings["score"].to_numpy()[self._judged["row"]]
            return np.where(np.isnan(scores), 0.0, np.nan)
        span = self.items["span"].to_numpy()[item]
        nominal = span == 0
        sizes = np.where(nominal, np.sign(np.abs(away)), np.abs(away) / np.where(nominal, 1, span))
        if kind == HIGHER:
            return np.where((away > 0) & ~nominal, sizes, np.nan)
        if kind == LOWER:
            return np.where((away < 0) & ~nominal, sizes, np.nan)
        return np.where(sizes > 0, sizes, np.nan) if kind == DIFFERS else sizes

    def _sorted(self, numbers: Codes, sort: str) -> Codes:
        """The order of items by a language's name or by scores; items without one come last."""
        key, down = sort.removeprefix(DOWN), sort.startswith(DOWN)
        if key == BY_LANGUAGE:
            in_order = sorted(self.languages, key=language_name)
            ranks = {code: rank for rank, code in enumerate(in_order)}
            values = self.items["language"].iloc[numbers].astype(str).map(ranks).to_numpy(float)
        elif key == BY_PEOPLE:
            values = self.items["people"].to_numpy()[numbers]
        else:
            scores = np.full(len(self.items), np.nan)
            rated, by_rater = self._of_rater(key.removeprefix(OF))
            scores[rated] = by_rater
            values = scores[numbers]
        return np.argsort(-values if down else values, kind="stable")  # NaN comes last

    def scores(self, numbers: Sequence[int] | pd.Series) -> list[dict[str, float]]:
        """The score of each rater who rated an item, for each of the items; people come first."""
        items, raters = self.ratings["item"].to_numpy(), self.ratings["rater"].cat
        order = [*self.people, *self.judges]
        ranks = pd.Index(order).get_indexer(raters.categories)
        starts, ends = (np.searchsorted(items, numbers, side) for side in ("left", "right"))
        codes, every = raters.codes.to_numpy(), self.ratings["score"].to_numpy()
        scores = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            rated, of_item = ranks[codes[start:end]].tolist(), every[start:end].tolist()
            in_order = sorted(zip(rated, of_item, strict=True))
            scores.append({order[rank]: score for rank, score in in_order})
        return scores

    def texts_of(self, rows: pd.DataFrame) -> list[dict[str, str]]:
        """The texts of each of these rows of the items."""
        return self.texts.of(rows["output"].cat.codes.tolist())


def typical(differing: pd.DataFrame, criteria: Mapping[str, Criterion]) -> pd.DataFrame:
    """Up to TYPICAL outputs that show how each judge differs from the people, for each language and
    criterion.

    On levels, those where the judge says what it most often says where people say something else,
    first those on which people agree; of scores without levels, those where it is as far away as it
    usually is. differing: answers of judges that differ, in the columns of `RunAnswers.chosen`.
    """
    cell = ["judge", "language", "criterion"]
    rows = differing.astype(dict.fromkeys(("language", "criterion"), str))
    on_levels = {name for name, each in criteria.items() if each.scale.levels}
    rows["often"] = rows.groupby([*cell, "people", "score"])["item"].transform("size")
    has_levels = rows["criterion"].isin(on_levels)
    rows.loc[~has_levels, "often"] = 0
    rows["far"] = rows["size"].where(~has_levels, 0.0)
    order = ["far", "often", "people", "score", "people_range", "item"]
    rows = rows.sort_values(order, ascending=[True, False, True, True, True, True])
    groups = rows.groupby(cell, sort=False)["item"]
    position, number = groups.cumcount(), groups.transform("size")
    begin = ((number - TYPICAL) // 2).clip(lower=0).where(~rows["criterion"].isin(on_levels), 0)
    return rows[(position >= begin) & (position < begin + TYPICAL)]


def ranges_of(items: pd.DataFrame, ratings: pd.DataFrame) -> pd.Series:
    """(items,) the largest distance between two of the ratings; on a nominal scale 1 if two
    differ.
    """
    scores = ratings.groupby("item")["score"]
    ranges = (scores.max() - scores.min()).reindex(range(len(items))).fillna(0.0)
    return ranges.where(items["span"] > 0, np.sign(ranges))
