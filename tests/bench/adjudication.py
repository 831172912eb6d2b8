"""How often adjudication says which judge is as accurate as a person, in worlds with a known truth.

Three people right in .65 to .95, who share hard items; judges 0 to 30 points worse, and better
ones; 20, 40 and 80 decided outputs; adjudicators who err. Prints a table.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from metal.questions.adjudicate.verdicts import AS_ACCURATE, BETTER, LESS, verdict
from tests.adjudicate import worlds

MARGIN = 0.1
JUDGES = (
    *((0.85, 0.85 - below) for below in (0.0, 0.1, 0.2, 0.3)),
    *((0.65, judge) for judge in (0.85, 0.65, 0.45)),
    *((0.95, judge) for judge in (0.95, 0.85, 0.75)),
)
ERRORS = ((0.0, False), (0.1, False), (0.1, True))


def row(person: float, judge: float, correlation: float, decided: int, times: int) -> str:
    """A line of the table: shares of verdicts, coverage of the 95% interval, and *as accurate* when
    the adjudicator errs in 10%, at random and with most people.
    """
    shares, covered = [], 0
    for error, with_crowd in ERRORS:
        rng, says = np.random.default_rng([decided, round(100 * judge)]), Counter[str]()
        for _ in range(times):
            compared, bad = worlds.run(
                rng, person, judge, correlation, decided, error=error, with_crowd=with_crowd
            )
            says[verdict(compared, bad, MARGIN)[0]] += 1
            if compared.figure and not error:
                covered += compared.figure.low(0.975) < judge - person < compared.figure.high(0.975)
        shares.append(says)
    exact, at_random, crowd = shares
    passes = [(each[AS_ACCURATE] + each[BETTER]) / times for each in (exact, at_random, crowd)]
    return (
        f"{person:6.2f} {judge:6.2f} {correlation:6.2f} {decided:4d} {passes[0]:9.2f}"
        f" {exact[BETTER] / times:7.2f} {exact[LESS] / times:6.2f} {covered / times:8.3f}"
        f" {passes[1]:9.2f} {passes[2]:9.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    times = parser.parse_args().times
    print("people  judge   corr    m  accurate  better   less  covered  err: any  err: most")
    for person, judge in JUDGES:
        for correlation in worlds.HARD:
            for decided in (20, 40, 80):
                print(row(person, judge, correlation, decided, times), flush=True)


if __name__ == "__main__":
    main()
