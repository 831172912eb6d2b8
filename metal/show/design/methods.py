"""What a design study's figures mean, in plain words."""

from __future__ import annotations

from metal.genie.design.study import LEAST_ITEMS
from metal.runs.design_run import DesignRun
from metal.show.sections import Definition


def definitions(run: DesignRun) -> list[Definition]:
    """The definitions behind this study, with its settings."""
    settings = run.settings
    return [
        Definition(
            "Score",
            "The share of the scale, 0 the worst and 1 the best; the mean over outputs, all generators together.",
            "GENIE section 4, footnote 6",
        ),
        Definition(
            "Budget",
            "Where items usually have k labels, a k-th of the labels. Unilabelling spends it on one label each for k "
            "times as many items as multilabelling, which takes all k labels of an item. Items are drawn with "
            "replacement, "
            f"{settings['rounds']:,} times. GENIE has k = 3.",
            "GENIE section 4, footnotes 4 to 7",
        ),
        Definition(
            "Binary",
            "1 for the upper half of the scale, its middle included, else 0, made from the ratings: nobody was asked "
            "anew.",
        ),
        Definition(
            "Majority",
            "The label given more often than any other; where there is none, the mean. One label is its own mean and "
            "majority.",
        ),
        Definition(
            "Standard deviation",
            "Of the score over rounds: how far it would move if the evaluation were repeated. With the mean, closed "
            "forms give it: (variance between items + variance of labels within items / labels an item) / items.",
        ),
        Definition(
            "Populations",
            f"Raters of one day, round or group, or each person alone; those with {LEAST_ITEMS} items or more. A score "
            "that hangs on who rates differs between them however many items there are.",
        ),
        Definition(
            "Items needed",
            "Sources, each with all its outputs, are drawn with replacement in growing numbers, and k of the people "
            "of each item at random; the width is that of the central 95% of the rounds, which at the number of "
            "sources there are is the bootstrap interval of an audit. The smallest number is found along width ~ 1 / "
            "sqrt(n) and simulated again with four times the rounds; ± is the Monte Carlo error only.",
        ),
        Definition(
            "F1",
            f"Weighted F1 of the judge against the people's aggregate ({settings['aggregate']}).",
            "METAL 4.4.1",
        ),
        Definition(
            "Power",
            "The share of rounds in which the judge passes the alternative annotator test (people below 30 items are "
            "left out; where nobody can be tested, it does not pass). Undefined where the judge would fail with any "
            "number of items.",
            "Calderon et al. 2025",
        ),
        Definition(
            "Cost",
            "Items x people, and test questions that are a share of all tasks; pay for each task, the platform's fee "
            "on top.",
            "GENIE section 6",
        ),
        Definition("Undefined", "A figure without a value is a dash with its reason, never 0."),
    ]
