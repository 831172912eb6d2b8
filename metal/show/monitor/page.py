"""The page of `metal monitor`: people as raters."""

from __future__ import annotations

from typing import Any

from metal.data.text import count, listed, plural, within
from metal.show.monitor.beside import beside_section
from metal.show.monitor.changes import agreement_section, exclusion_section, history_section
from metal.show.monitor.examined import examined_section, question_section
from metal.show.monitor.planning import design_section
from metal.show.monitor.run import MonitorRun
from metal.show.sections import Definition, Line, Page, Section
from metal.show.view import Chart, TableView

MOST_NAMED = 6


def sections(run: MonitorRun) -> list[Section]:
    """The sections that have something to show."""
    found = (
        examined_section(run),
        question_section(run),
        beside_section(run),
        agreement_section(run),
        exclusion_section(run),
        design_section(run),
        history_section(run),
    )
    return [section for section in found if section]


def facts(run: MonitorRun) -> list[Line]:
    """The page in a few sentences, each true by the run's tables alone."""
    people = [name for name, rater in run.raters.items() if rater.kind == "human"]
    judges = [row["rater"] for row in run.examined if run.raters[row["rater"]].kind != "human"]
    examined = [row["rater"] for row in run.examined if row["rater"] not in judges]
    lines = [Line("Looked at", f"{plural(len(people), 'person', 'people')} who rated, {_asked(examined, judges)}.")]
    if run.examined:
        lines.append(Line("Noisy", _named(run.noisy) or "Nobody, by the test questions."))
    lines.append(
        Line("Stands out", _named(list(run.standing_out)) or "Nobody, beside those who rated the same outputs.")
    )
    if len(run.tables["exclusions"]):
        dropped = int(run.tables["exclusions"]["ratings"].sum())
        excluded = run.tables["exclusions"]["rater"].nunique()
        lines.append(
            Line(
                "Without them",
                f"--exclude-noisy drops {plural(dropped, 'rating')} of {plural(excluded, 'person', 'people')}; nothing "
                "is removed from the dataset.",
            )
        )
    lines.append(Line("Not to be concluded", _limits(run)))
    return lines


def _asked(examined: list[str], judges: list[str]) -> str:
    if not examined and not judges:
        return "none of whom was asked a test question"
    with_judges = f", and {plural(len(judges), 'judge')} with them" if judges else ""
    return f"{len(examined):,} of whom were asked test questions{with_judges}"


def _named(names: list[str]) -> str:
    shown = listed([within(one) for one in names[:MOST_NAMED]])
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"{shown}{more}." if names else ""


def _limits(run: MonitorRun) -> str:
    if run.examined:
        return (
            "That who is not flagged is careful: with a handful of questions only the worst can be told. Questions on "
            "which everybody fails may have a bad gold; look at them first."
        )
    return (
        "That who stands out is careless: without test questions people are only set beside each other, and the "
        "minority may be right. Hide questions with metal annotate export --test-questions to know."
    )


def definitions(run: MonitorRun) -> list[Definition]:
    """The definitions behind the page, with the settings of this run."""
    settings = run.manifest["settings"]
    return [
        Definition(
            "Test question",
            "A source shown with its own reference (positive), or with the reference of another source of its language "
            "(negative). An answer is right on the right side of the middle of the scale; the middle itself is wrong. "
            "Negative questions say nothing of criteria that do not look at the source.",
            "GENIE 5",
        ),
        Definition(
            "Noisy",
            f"By the model {settings['model']}: right answers are binomial, accuracies come from a mixture of Beta "
            "distributions, learned from all people of a language and criterion together with forty made-up ones. By "
            "rate, somebody whose accuracy is below 0.9 is noisy; by class, somebody who comes from another component "
            "than the most accurate one. Flagged above a posterior probability of 0.99, on either side, on any "
            "criterion.",
            "GENIE 5, appendix B.1",
        ),
        Definition(
            "Right at worst",
            "The share of right answers on the task and side that speaks most against somebody, with Jeffreys' 95% "
            "interval of their own answers. P(noisy) is the model's, which also knows how the others did.",
        ),
        Definition(
            "Agreement with colleagues",
            "Of outputs that two or more others of the same group rated: the share of them who gave the same label, "
            "beside how often they do among themselves on those very outputs, so that hard outputs condemn nobody. "
            f"95% intervals by bootstrap over sources ({count(settings['resamples'])} resamples); corrected over "
            "people by Holm.",
        ),
        Definition(
            "Severity",
            "How much lower than the colleagues' mean somebody scores, in shares of the scale; below 0: milder.",
        ),
        Definition(
            "Dawid-Skene, MACE",
            "Competence by two models of annotators that learn true labels and people's errors together: the expected "
            "share of right labels, and the probability of not guessing.",
            "Dawid and Skene 1979; Hovy et al. 2013",
        ),
        Definition(
            "How many are needed",
            "The standard deviation of the people's mean score over simulated rounds of as many outputs, with one, "
            "two, ... of their people on each; an interval is 3.92 of it wide, less by the root of the outputs.",
            "GENIE 4",
        ),
        Definition("Undefined", "A figure without a value is a dash, never 0; the CSV files give the reasons."),
    ]


def charts(run: MonitorRun) -> list[Chart]:
    """Every chart of the page, in its order."""
    return [chart for section in sections(run) for chart in section.charts]


def tables(run: MonitorRun) -> list[TableView]:
    """Every table of the page, in its order."""
    return [table for section in sections(run) for table in (*section.tables, *section.further)]


def content(run: MonitorRun) -> dict[str, Any]:
    """What the template shows."""
    return {"sections": sections(run)}


PAGE = Page(
    brand="people as raters",
    facts=facts,
    definitions=definitions,
    charts=charts,
    tables=tables,
    content=content,
    template="sections.html",
)
