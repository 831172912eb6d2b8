"""What the figures mean, in plain words, and what was left out."""

from __future__ import annotations

from metal.auditing.judging import added_statistics
from metal.auditing.settings import MIN_RATED
from metal.auditing.verdict import (
    MIN_COVERAGE,
    MIN_ITEMS,
    MIN_SOURCES,
    NOT_BETTER,
    TOO_FEW,
    USABLE,
    USEFUL_LEAD,
    WITH_CARE,
)
from metal.data.languages import language_name
from metal.data.text import count, within
from metal.runs.audit_run import AuditRun
from metal.show.sections import Definition
from metal.show.view import Cell, TableView

_FITTED = (
    "fitted once to a language and criterion, from people alone; two answers equally probable are a tie and left out. "
    "Resamples keep the label, so intervals do not hold the model's own doubt"
)


def definitions(run: AuditRun) -> list[Definition]:
    """The definitions behind this report, with the settings of this run."""
    settings = run.manifest.get("settings", {})
    rule = settings.get("aggregate", "majority-or-mean")
    aggregate = {
        "majority-or-mean": "the answer given more often than any other; without one, the mean of the answers if that "
        "is itself an answer, else the item is a tie and left out",
        "majority-or-middle": "the answer given more often than any other; without one, the middle of the scale",
        "majority": "the answer given more often than any other; without one, the item is a tie and left out",
        "dawid-skene": f"the most probable answer under Dawid and Skene's model, which weighs each person's answers by "
        f"how often they are right and what they mistake for what; {_FITTED}",
        "mace": f"the most probable answer under MACE, which tells for each person how often they know the answer and "
        f"what they say when they do not; {_FITTED}",
    }[rule]
    source = {"dawid-skene": "Dawid and Skene 1979", "mace": "Hovy et al. 2013"}.get(rule, "METAL 3.2.6")
    compat = "; as asked, Fleiss' kappa of one class is printed as 0 like in METAL's Table 6"
    compat = compat if settings.get("paper_compat") else ""
    return [
        Definition("People's aggregate", f"{aggregate}. Only items that enough people rated count.", source),
        Definition(
            "Weighted F1",
            "F1 of each class with the people's aggregate as truth, averaged by how frequent the class is among the "
            "people. It rewards whoever says the most frequent answer, so it is never read alone.",
            "METAL 4.4.1",
        ),
        Definition(
            "Most frequent class",
            "F1 of always giving the people's most frequent answer of that very language and criterion: the floor. The "
            "lead is a judge's F1 minus this floor, on the same items.",
        ),
        Definition(
            "Kappa, alpha, AC1",
            "Agreement beyond what chance would give; they differ in how they picture chance (Cohen: each side's own "
            "answers; Krippendorff: all answers together; Gwet: by how hard the items are). Quadratic kappa counts a "
            "near miss as half right. 0 is chance, 1 is perfect.",
            "Cohen 1960, Krippendorff 2004, Gwet 2014",
        ),
        Definition(
            "Fleiss' kappa",
            "The same for a panel of people, on items with the usual number of ratings.",
            "Fleiss 1971; METAL Table 6",
        ),
        Definition(
            "Three human ceilings",
            "Pairwise: person with person (METAL's human row). Against the others: each person against the majority of "
            "the others, the fair measure for a judge. Against all: each person against an aggregate that contains "
            f"their own answer, optimistic. People with fewer than {MIN_RATED} ratings are left out of all three.",
            "METAL 5.1",
        ),
        Definition(
            "Alternative annotator test",
            "Leaves out one person at a time and asks whether the judge is as close to the remaining people as that "
            "person was, allowing a person's price (epsilon). The winning rate is the share of people beaten; 0.5 "
            "passes.",
            "Calderon et al. 2025",
        ),
        *(
            Definition(statistic.title, statistic.definition)
            for name, statistic in added_statistics().items()
            if name in run.tables["judges"]
        ),
        Definition(
            "Intervals",
            f"95%, percentile bootstrap with {settings.get('resamples', 2000):,} resamples of whole sources, because "
            "outputs of one source are not independent; of more than 4,096 sources, random blocks are drawn.",
        ),
        Definition(
            "Families of tests",
            "Leads are corrected over languages so that each language named may be believed (Benjamini-Yekutieli); "
            "differences between judges so that one false alarm among the languages is unlikely (Holm).",
        ),
        Definition(
            "Verdicts",
            f"“{TOO_FEW}”: fewer than {MIN_ITEMS} items or {MIN_SOURCES} sources, an undefined figure, or a lead whose "
            f"interval holds both 0 and {USEFUL_LEAD}. “{NOT_BETTER}”: the lead or kappa is not shown to be above 0. "
            f"“{USABLE}”: better than that, passes the alternative annotator test, answers at least {MIN_COVERAGE:.0%}"
            f", and people agree beyond chance. “{WITH_CARE}”: better, but one of these does not hold.",
        ),
        Definition(
            "Undefined",
            "A figure that has no value (for instance kappa where one class only was used) is a dash with its reason, "
            f"never 0{compat}. Unanswered questions are counted in coverage and, as wrong answers, in strict F1; never "
            "guessed.",
        ),
    ]


def left_out_table(run: AuditRun) -> TableView:
    """Items that do not count, by language and criterion, and what judges left unanswered."""
    judges: dict[tuple[str, str], list[str]] = {}
    for row in run.records("judges"):
        unanswered = int(row["asked"]) - int(row["answered"])
        not_asked = [part for part in str(row["dropped"]).split(", ") if part.startswith("not asked")]
        missing = [f"{count(unanswered)} unanswered"] if unanswered else []
        missing += [f"{part.split()[-1]} not asked" for part in not_asked]
        if missing:
            key = (row["criterion"], row["language"])
            judges.setdefault(key, []).append(f"{within(row['judge'])}: {', '.join(missing)}")
    rows = []
    for row in run.records("people"):
        counts = {
            part.rsplit(" ", 1)[0]: int(part.rsplit(" ", 1)[1]) for part in str(row["dropped"]).split(", ") if part
        }
        rows.append(
            (
                Cell(run.criteria[row["criterion"]].short),
                Cell(row["language"], language_name(row["language"])),
                Cell(count(row["items_with_class"])),
                Cell(count(counts.get("incomplete", 0)), f"fewer than {row['min_raters']} people"),
                Cell(count(counts.get("tied", 0))),
                Cell("; ".join(judges.get((row["criterion"], row["language"]), [])) or "nothing"),
            )
        )
    return TableView(
        "left_out",
        "What was left out",
        ("", "language", "items that count", "incomplete", "ties without a class", "left out by judges"),
        tuple(rows),
        "people",
        run.signature_of("people"),
        heads=2,
    )
