"""`metal probe`: injected blindness and obedience are found, and nothing else; people show what can
be noticed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import metal
from metal.building.probe_plan import plan_probes
from metal.building.probes import load_probes
from metal.cli import metal as command_line
from metal.data.dataset import with_parts
from metal.data.ratings import FACTS, facts_from, tidy_facts
from metal.data.records import Rater, Rating
from metal.errors import UsageError
from metal.questions.probe.answer import cards
from metal.questions.probe.page import answer
from metal.raters.judges.fake import Behaviour, respond
from metal.runs.run import DISQUALIFIES, NOTED, VerdictLine
from metal.show.pages import headline, screen, tables
from metal.show.view import TableView
from tests.report.checks import Visiting, check_names_are_text, check_saved
from tests.saying import tells

TEXTS = {
    "en": (
        "The minister of health met {} people in the town of Kisumu on day {} and promised new"
        " clinics soon."
    ),
    "yo": (
        "Minisita eto ilera pàdé ènìyàn {} ní ìlú Ibadan ní ọjọ́ {} ó sì ṣèlérí ilé ìwòsàn tuntun"
        " láìpẹ́."
    ),
}


def outputs(number: int = 60) -> metal.Dataset:
    rows = [
        {
            "source": f"{language}{n}",
            "source_text": "News.",
            "language": language,
            "output_text": text.format(n + 11, n),
        }
        | {"rater": "A1", "fluency": 4 + n % 2, "task_quality": 4 + n % 2}
        for n in range(number)
        for language, text in TEXTS.items()
    ]
    return metal.read(pd.DataFrame(rows), levels={"*": "1 < 2 < 3 < 4 < 5"})


@pytest.mark.slow
def test_what_was_injected_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visit: Visiting
) -> None:
    monkeypatch.chdir(tmp_path)
    outputs(40).save("datasets/news")
    judges = "fake:blind?language=yo,fake:sensitive?d=3,fake:swayed?by=order&language=en&shift=4"
    probes = "swapped-output,bold-type,order-in-English"
    assert metal.probe_run(
        "datasets/news", judges, probes=probes, per_language=9, dry_run=True
    ).outcome.dry_run
    assert [*Path().glob("*/*")] == [Path("datasets/news")]  # a dry run leaves nothing
    run = metal.probe_run("datasets/news", judges, probes=probes, limit=300)
    assert not run.complete
    run = metal.probe_run("datasets/news", judges, probes=probes)  # goes on
    assert run.complete
    with pytest.raises(UsageError, match="holds other probes"):
        metal.probe_run("datasets/news", judges, probes="empty")
    report = metal.probe_report("datasets/news-probes", "runs/news-probes-judges")
    table = report.tables["probes"]
    against = {
        judge: set(rows["language"] + " " + rows["says"])
        for judge, rows in table[table["says"].isin(["blind", "lured", "moved"])].groupby("judge")
    }
    assert against == {
        "fake:blind?language=yo": {"yo blind"},
        "fake:swayed?by=order&language=en&shift=4": {"en lured"},
    }
    swapped = table.query(
        "judge == 'fake:blind?language=yo' and condition == 'swapped output' and language == 'yo'"
    )
    row = swapped.set_index("criterion").loc["task_quality"]
    assert row["says"] == "blind"
    figures = f"A {row['a']:.2f} [{row['a_low']:.2f}, {row['a_high']:.2f}]"
    assert row["line"] == f"blind to swapped outputs in Yoruba: {figures}"
    assert swapped.set_index("criterion").loc["fluency", "expected"] == "stays"
    seeing = table.query(
        "judge == 'fake:sensitive?d=3' and condition == 'swapped output' and expected == 'falls'"
    )
    assert seeing["selectivity"].min() > 0.2
    line = VerdictLine("fake:blind?language=yo", "yo", "task_quality", row["line"], DISQUALIFIES)
    assert line in list(report.remarks())
    [first] = [part for part in screen(report) if isinstance(part, TableView)]
    assert (len(first.rows), first.cut) == (6, "The first 6 of 9 rows; -v shows all.")
    assert not any(cell.below for row in first.rows for cell in row)  # a line each
    unsaid = table[table["says"].isin(["cannot say", "decides nothing"])]
    assert len(unsaid) > 10
    assert unsaid["undefined"].str.startswith("says: ").all()
    blind, lured = "fake:blind?language=yo", "fake:swayed?by=order&language=en&shift=4"
    assert (
        str(list(cards(report))[-1].words)
        == f"Do not use {lured} alone in English; nor {blind} alone in Yoruba. Have people rate"
        " there."
    )
    figures = [view for view in tables(report) if view.source == "probes"][1:]
    assert [(view.title, view.columns[:4]) for view in figures] == [
        (f"All figures: {judge}", ("", "language", "changed", "must"))
        for judge in (lured, blind, "fake:sensitive?d=3")
    ]
    html = check_saved(visit, report, "runs/report", "overview", "figures", "methods")
    assert "fake:blind?language=yo is blind in Yoruba, to " in html


def test_the_battery_by_language() -> None:
    """A bias of two levels in one language is found there, and nothing is said of a judge that
    nothing sways.
    """
    probes = (
        "authority-in-English,bandwagon-in-English,false-citation,padded,"
        "order-as-system-message,key-in-English"
    )
    data = planned(probes, 60)
    sways = {
        "authority": "en",
        "bandwagon": "yo",
        "false citation": "en",
        "padded": "en",
        "order": "en",
    }
    judges = {by: Behaviour("swayed", language, by, shift=2) for by, language in sways.items()}
    judges |= {"sound": Behaviour("sensitive"), "key": Behaviour("blind", "en")}
    falls = {
        about["condition"]: about.get("falls", ()) for about in data.extra["probes"]["conditions"]
    }
    rng, ratings = np.random.default_rng(0), []
    for name, output in data.outputs.items():
        record = {"language": output.language, "condition": output.condition}
        record |= {"falls": falls.get(output.condition, ())}
        for judge, behaviour in judges.items():
            score = respond(
                behaviour, record, data.criteria["task_quality"], float(rng.uniform()), 0.5
            )
            ratings.append(Rating(name, "task_quality", judge, score))
    judged = with_parts(
        data, raters=[Rater(judge, "llm") for judge in judges], facts=facts_from(ratings)
    )
    report = metal.probe_report(judged)
    against = report.tables["probes"].query("says in ['blind', 'lured', 'moved']")
    assert {(row.judge, row.language) for row in against.itertuples()} == {
        *sways.items(),
        ("key", "en"),
    }
    assert all(row.condition.startswith(row.judge) for row in against.itertuples())
    remarks = {
        (line.judge, line.language, line.line.split(":")[0], line.weight)
        for line in report.remarks()
    }
    order = "an order as a system message"
    assert ("sound", "en", f"not shown that {order} raises its scores", NOTED) in remarks
    assert ("order", "en", f"raised by {order} in English", DISQUALIFIES) in remarks


def planned(names: str, number: int = 40) -> metal.Dataset:
    return plan_probes(outputs(number), load_probes(names.split(",")), per_language=number).dataset


def with_scores(dataset: metal.Dataset, rater: Rater, fall: float) -> metal.Dataset:
    """A rater that gives 4 or 5 to originals, and so much less to what was changed."""
    rng = np.random.default_rng(len(rater.rater))
    ratings = [
        Rating(
            name,
            "fluency",
            rater.rater,
            max(1.0, float(rng.integers(4, 6)) - (fall if output.condition else 0)),
        )
        for name, output in dataset.outputs.items()
    ]
    facts = pd.concat(
        [dataset.ratings.loc[:, list(FACTS)].astype(object), facts_from(ratings).astype(object)]
    )
    return with_parts(dataset, raters=[*dataset.raters.values(), rater], facts=tidy_facts(facts))


def test_graded_changes_count_only_where_people_notice() -> None:
    judged = with_scores(planned("words-deleted"), Rater("judge <b>", "llm"), 0)
    alone = metal.probe_report(judged)
    falling = alone.tables["probes"].query("expected == 'falls'")
    assert set(falling["says"]) == {"decides nothing"}
    assert any("no person rated changed" in warning for warning in alone.warnings)
    check_names_are_text(alone.report())
    beside = metal.probe_report(with_scores(judged, Rater("A2", "human"), 3)).tables["probes"]
    assert set(beside.query("expected == 'falls'")["says"]) == {"blind"}
    assert beside["people_a"].min() > 0.9
    inattentive = metal.probe_report(with_scores(judged, Rater("A2", "human"), 0)).tables["probes"]
    assert set(inattentive.query("expected == 'falls'")["says"]) == {"decides nothing"}
    trend = metal.probe_report(with_scores(planned("words-deleted"), Rater("j", "llm"), 2)).tables[
        "trends"
    ]
    assert (trend["trend"] > 0.3).all()
    assert (trend["p"] < 1e-6).all()


def test_what_does_not_matter_and_what_leaves_no_room() -> None:
    moved = metal.probe_report(with_scores(planned("bold-type"), Rater("j", "llm"), 2))
    assert set(moved.tables["probes"]["says"]) == {"moved"}
    assert "j is moved in English and Yoruba, by bold type." in moved.report()
    even = metal.probe_report(with_scores(planned("bold-type"), Rater("j", "llm"), 0)).tables[
        "probes"
    ]
    assert set(even["says"]) <= {"unmoved", "cannot say"}
    assert set(moved.tables["probes"]["undefined"]) == {""}
    (card,) = cards(moved)
    assert tells(card.words, "In English and Yoruba", "give j only", "bold type")
    dataset = planned("empty")
    severe = [Rating(name, "task_quality", "j", 1.0) for name in dataset.outputs]
    facts = pd.concat(
        [dataset.ratings.loc[:, list(FACTS)].astype(object), facts_from(severe).astype(object)]
    )
    floor = with_parts(
        dataset, raters=[*dataset.raters.values(), Rater("j", "llm")], facts=tidy_facts(facts)
    )
    rows = metal.probe_report(floor).tables["probes"]
    assert set(rows["says"]) == {"cannot say"}
    assert rows["undefined"].str.contains("worst score already").all()


def test_the_worst_criterion_is_so_by_its_own_scale() -> None:
    """Bold type moves every tenth score: fluency by 2 of 4, the overall score, that has 100, by
    40.
    """
    frame = pd.DataFrame(
        {
            "source": [f"s{n}" for n in range(40)],
            "language": "en",
            "rater": "A1",
            "output_text": "The minister spoke.",
        }
    ).assign(fluency=4, overall=0)
    data = metal.read(
        frame, levels={"fluency": "1 < 2 < 3 < 4 < 5", "overall": "0=Bad,40=Medium,100=Good"}
    )
    probes = plan_probes(data, load_probes(["bold-type"]), per_language=40).dataset
    ratings = []
    for place, (name, output) in enumerate(sorted(probes.outputs.items())):
        moved = bool(output.condition) and place % 20 == 1
        ratings += [
            Rating(name, "fluency", "j", 3.0 if moved else 5.0),
            Rating(name, "overall", "j", 40.0 if moved else 0.0),
        ]
    facts = pd.concat(
        [probes.ratings.loc[:, list(FACTS)].astype(object), facts_from(ratings).astype(object)]
    )
    judged = with_parts(
        probes, raters=[*probes.raters.values(), Rater("j", "llm")], facts=tidy_facts(facts)
    )
    ((_, cell),) = answer(metal.probe_report(judged)).rows
    assert (cell.text, cell.below) == ("\N{MINUS SIGN}0.20", "fluency")


def test_a_first_screen_says_only_what_holds() -> None:
    """One judge misses empty outputs in two languages and swapped ones in English; another swapped
    ones in Yoruba.
    """
    data = planned("swapped-output,empty,other-encoding")
    english, yoruba, swapped = ("en", "empty"), ("yo", "empty"), "swapped output"
    missed = {"first": {english, yoruba, ("en", swapped)}, "second": {("yo", swapped)}}
    ratings = [
        Rating(
            name,
            "task_quality",
            judge,
            1.0 if seen and output.condition in ("empty", swapped) else 5.0,
        )
        for judge, unseen in missed.items()
        for name, output in data.outputs.items()
        for seen in [(output.language, output.condition) not in unseen]
    ]
    judged = with_parts(
        data, raters=[Rater(judge, "llm") for judge in missed], facts=facts_from(ratings)
    )
    report = metal.probe_report(judged)
    assert tells(
        headline(report), "first", "blind in English", "blind in Yoruba, too", "second in Yoruba"
    )
    *_, last = cards(report)
    unfit = (
        "Do not use first alone in English and Yoruba; nor second alone in Yoruba. Have people rate"
        " there."
    )
    assert last.words == unfit
    assert tells(last.command, "metal annotate export", "--to html")
    view = answer(report)
    assert tells(view.notes[0], "–: no such change")
    by_row = {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in view.rows}
    assert by_row["second", "another encoding of letters"] == ["–", "0.00"]  # English has none


def test_what_cannot_be_asked_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no probes; `metal\.probe_plan` makes"):
        metal.probe_report(outputs(12))
    with pytest.raises(UsageError, match="no judge has rated"):
        metal.probe_report(planned("empty", 12))
    few = metal.probe_report(
        with_scores(planned("wrong-language", 6), Rater("j", "llm"), 0)
    ).tables["probes"]
    assert set(few["undefined"]) == {"says: 6 pairs; 10 of two sources are needed"}
    outputs(12).save(tmp_path / "news")
    ran = CliRunner().invoke(
        command_line,
        [
            "probe",
            "plan",
            str(tmp_path / "news"),
            "--probes",
            "empty",
            "--out",
            str(tmp_path / "probes"),
        ],
    )
    assert ran.exit_code == 0, ran.output
    assert tells(ran.output, "48 outputs", "2 criteria: 96 calls")
