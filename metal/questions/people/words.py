"""What `metal monitor` finds, in words, and what its figures mean."""

from __future__ import annotations

from metal.data.people import people_in
from metal.data.text import count, plural, within
from metal.questions.people.run import Monitor
from metal.show.parts import places

SOURCES = {
    "Test question": "GENIE 5",
    "Noisy": "GENIE 5, appendix B.1",
    "Dawid-Skene, MACE": "Dawid and Skene 1979; Hovy et al. 2013",
    "How many are needed": "GENIE 4",
}


def facts(run: Monitor) -> dict[str, str]:
    """The page in a few sentences; each follows from the run's tables alone."""
    people = len(people_in(run.raters))
    judges = sum(run.raters[row["rater"]].kind != "human" for row in run.examined)
    asked = "none of whom was asked a test question"
    if run.examined:
        with_judges = f", and {plural(judges, 'judge')} with them" if judges else ""
        asked = f"{len(run.examined) - judges:,} of whom were asked test questions{with_judges}"
    lines = {"Looked at": f"{plural(people, 'person', 'people')} who rated, {asked}."}
    if run.examined:
        lines["Noisy"] = _names(run.noisy) or "Nobody, by the test questions."
    lines["Stands out"] = (
        _names(list(run.standing_out)) or "Nobody, compared with those who rated the same outputs."
    )
    exclusions = run.tables["exclusions"]
    if len(exclusions):
        dropped = plural(int(exclusions["ratings"].sum()), "rating")
        excluded = plural(exclusions["rater"].nunique(), "person", "people")
        lines["Without them"] = (
            f"{dropped} of {excluded} would be dropped; nothing is removed from the dataset."
        )
    lines["Do not conclude"] = limits(run)
    return lines


def _names(raters: list[str]) -> str:
    return f"{places(list(map(within, raters)))}." if raters else ""


def limits(run: Monitor) -> str:
    """What test questions, or colleagues, do not show about a person."""
    if run.examined:
        return (
            "That a person who is not flagged is careful: a few questions reveal only the worst."
            " If everybody fails a question, its expected answer may be wrong; check it first."
        )
    return (
        "That a person who stands out is careless: without test questions, people are only compared"
        " with each other, and the minority may be right. To find out, hide test questions:"
        " `metal annotate export --test-questions`."
    )


def definitions(run: Monitor) -> dict[str, str]:
    """The definitions behind the page, with the settings of this run."""
    settings = run.manifest["settings"]
    return {
        "Test question": (
            "A source shown with its own reference (positive), or with the reference of another"
            " source of its language (negative). An answer is right if it lies on the expected "
            "side of the middle of the scale; the middle itself is wrong. Negative questions are "
            "not used"
            " for criteria that ignore the source."
        ),
        "Noisy": (
            f"By the model {settings['model']}: right answers are binomial, and accuracies come "
            f"from a mixture of Beta distributions, which is learned from all people of a "
            f"language and criterion together with forty invented people."
            " By rate, somebody "
            "whose accuracy is below 0.9 is"
            " noisy; by class, somebody who comes from another component than the most accurate"
            " one. Somebody is flagged above a posterior probability of 0.99, on either side of "
            "any criterion."
        ),
        "Right at worst": (
            "The share of right answers on the task and side that speaks most against somebody, "
            "with Jeffreys' 95% interval of their own answers. P(noisy) comes from the model, "
            "which also takes into account how the others did."
        ),
        "Agreement with colleagues": (
            "On outputs that two or more others of the same group rated: the share of these"
            " others who gave the same label, compared with how often they give each other's"
            " label on the same outputs, so hard outputs count against nobody. 95% intervals by"
            f" bootstrap over sources ({count(settings['resamples'])} resamples); corrected over"
            " people by Holm."
        ),
        "Severity": (
            "How much lower a person scores than the mean of the others, as a share of the scale; "
            "below 0, the person is milder."
        ),
        "Dawid-Skene, MACE": (
            "Competence by two models that learn true labels and people's errors together:"
            " the expected share of right labels, and the probability of not guessing."
        ),
        "How many are needed": (
            "The standard deviation of the people's mean score over simulated rounds with the "
            "same number of outputs, with one, two, ... people on each output; an interval is "
            "3.92 times as"
            " wide, and shrinks with the square root of the number of outputs."
        ),
        "Undefined": (
            "A figure without a value is a dash, never 0; the CSV files give the reason."
        ),
    }
