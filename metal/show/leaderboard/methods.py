"""What a leaderboard's figures mean, in plain words."""

from __future__ import annotations

from metal.data.text import count
from metal.genie.leaderboard.generator_scores import LEAST_SHARED
from metal.genie.leaderboard.panels import LEAST_MISSED, MOST_MOVED
from metal.runs.leaderboard_run import LeaderboardRun
from metal.show.sections import Definition


def definitions(run: LeaderboardRun) -> list[Definition]:
    """The definitions behind this leaderboard, with the settings of this run."""
    settings = run.manifest["settings"]
    resamples, permutations = settings.get("resamples", 2000), settings.get("permutations", 1000)
    labels = (
        "Several labels of one output become the one given most often (of several such labels, their mean)"
        if settings.get("aggregate") == "majority"
        else "Several labels of one output are averaged"
    )
    return [
        Definition(
            "Score",
            "Each rating is put on 0, the worst, to 1, the best of its scale: five Likert levels become 0, .25, .5, "
            f".75, 1. {labels}; a generator's score is the mean over its outputs.",
            "GENIE 4 and footnote 6",
        ),
        Definition(
            "Overall",
            "The mean of the criteria of an output, each with its labels already put together; outputs that were not "
            "rated on all of them do not count.",
        ),
        Definition(
            "Interval",
            f"95%, percentile bootstrap with {count(resamples)} resamples of whole sources, of each generator's own; "
            "generators with the same sources share the draws. It does not move when another generator joins.",
        ),
        Definition(
            "Standard error",
            "Of the score, by source: the root of the summed squares of what each source's outputs are above or below "
            "the score, over the number of outputs. With one output a source that is the standard deviation over the "
            "root of n.",
            "GENIE, Appendix C",
        ),
        Definition(
            "At most",
            "What a standard error can be for a score m between 0 and 1 and n sources: the root of m(1 - m)/n, by the "
            "Bhatia-Davis inequality; where sources have several outputs, n is what these are worth if the outputs of "
            "a source are all alike.",
            "GENIE, Appendix C; Bhatia and Davis 2000",
        ),
        Definition(
            "Clusters",
            f"Paired permutation tests of every two generators on the sources they share ({LEAST_SHARED} at least), "
            f"{count(permutations)} permutations, corrected by Holm. Whoever is significantly worse than the first of "
            "a cluster begins the next. Alike is not equal: two in a cluster can differ by their own test, above all "
            "where its first has few sources. For that p_holm in tables/comparisons.csv tests each generator against "
            "all below it in clusters, as if it were the first of one.",
            "Freitag et al. 2023; Holm 1979",
        ),
        Definition(
            "Groups of people",
            "What a group weighs in a generator's score is the mean over outputs of its share of the ratings of an "
            f"output. Two generators are not compared where more than {MOST_MOVED:.0%} of the weight is with other "
            f"groups, or where a group with {LEAST_MISSED:.0%} or more in one rated nothing of the other; on the "
            f"sources they share, or on all where these are fewer than {LEAST_SHARED}. Whoever differs so from the "
            "most others is in no cluster (of several alike, the one with the fewest ratings), until none differ. "
            "Ranks are by score all the same.",
        ),
        Definition(
            "Sample",
            "So many sources a language, chosen by a hash of seed, language and source: the same for every generator, "
            "whatever joins later; a larger sample keeps the smaller one.",
            "GENIE 6",
        ),
        Definition("Beside", "Means of metrics and judges over the outputs that people rated."),
        Definition("Undefined", "A figure without a value is a dash with its reason, never 0."),
    ]
