"""A board's page: its sections say what the tables hold; it is small, harmless, and at home in a
browser.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from metal.boards.ensemble import NAME
from metal.data.text import figure, interval
from metal.questions.board import generators, raters
from metal.questions.board.page import history_table
from metal.questions.board.run import Billboard
from metal.questions.board.words import facts
from metal.show.charts.dots import Dot, interval_dots
from metal.show.charts.lines import Ranks, rank_lines
from metal.show.pages import charts, page, settings_in_words, tables
from metal.show.svg import ticks_for
from tests.report.board.boards import dataset, written
from tests.report.checks import (
    HOSTILE,
    Visiting,
    check_csv,
    check_names_are_text,
    check_page,
    check_quiet,
    unpacked,
)
from tests.saying import tells

LANGUAGES = ("", "ar", "bn", "de", "en", "fr", "hi", "ja", "sw", "tr", "zh")


@pytest.fixture(scope="module")
def hostile_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every name attacks."""
    made = dataset(
        languages=("ar", "en"),
        criteria=("</script><script>window.pwned = 3</script>", "{{ 7 * 7 }}"),
        metrics=HOSTILE,
        judges=("' autofocus onfocus='window.pwned=4",),
        generators=("<b>g</b>", "\u0645\u0648\u0644\u062f \u2066", "y" * 200, "]]><!--"),
        human="<b>g</b>",
        title="<svg onload=window.pwned=5>",
    )
    return written(made, tmp_path_factory.mktemp("hostile") / "run")


def large(run: Billboard) -> Billboard:
    """The run with tables of 30 raters, 26 generators, 6 criteria and 10 languages."""
    rng = np.random.default_rng(0)
    raters = [f"quite-a-long-name-of-a-rater-{n}" for n in range(30)]
    criteria = ["overall", *(f"criterion {n}" for n in range(5))]
    axes = {"language": LANGUAGES, "criterion": criteria}
    tables = dict(run.tables)

    def product(table: str, **more: Any) -> None:
        index = pd.MultiIndex.from_product([*axes.values(), *more.values()], names=[*axes, *more])
        frame = index.to_frame(index=False)
        like = run.tables[table]
        rows = like.iloc[np.arange(len(frame)) % len(like)].reset_index(drop=True).assign(**frame)
        numbers = rows.select_dtypes("float").columns
        tables[table] = rows.assign(**{name: rng.random(len(rows)) for name in numbers})

    product("raters", rater=raters)
    product("overrating", rater=raters)
    product("self_preference", rater=raters)
    product(
        "generators",
        by=["people", "a", "b", "ensemble"],
        generator=[f"generator {n}" for n in range(26)],
    )
    product("within_generators", generator=[f"generator {n}" for n in range(26)], rater=raters)
    product("comparisons", first=raters, second=raters)
    product("ensembles")
    product("ensemble_members", member=raters[:3])
    product("people")
    tables["raters"] = tables["raters"].assign(
        rank=np.arange(len(tables["raters"])) % 30 + 1, rank_low=1, rank_high=30
    )
    declared = {name: replace(run.criteria["fluency"], name=name) for name in criteria}
    return replace(run, tables=tables, criteria=declared)


def test_equal_runs_give_equal_pages(rich_board: Path, tmp_path: Path) -> None:
    made = dataset(languages=("ar", "en", "hi"), criteria=("fluency", "adequacy"), human="g3")
    again = written(made, tmp_path / "run")
    assert (again / "report.html").read_bytes() == (rich_board / "report.html").read_bytes()
    assert page(Billboard.read(rich_board)).encode() == (rich_board / "report.html").read_bytes()


@pytest.mark.slow
def test_a_large_board_fits_and_says_what_it_leaves_out(rich_board: Path) -> None:
    run = large(Billboard.read(rich_board))
    html = page(run)
    assert len(html.encode()) < 1_500_000
    left_out = "; <code>tables/raters.csv</code> has all"
    assert left_out in html
    assert "CSV: <code>tables/within_generators.csv</code>" in html
    assert set(unpacked(html)["csv"]) < set(run.tables)


def test_csv_on_the_page_is_the_files_bytes(rich_board: Path) -> None:
    check_csv(rich_board, missing=frozenset({"crowd_comparisons", "crowd_examples"}))


@pytest.mark.slow
def test_hostile_names_are_text(hostile_board: Path, visit: Visiting) -> None:
    check_names_are_text((hostile_board / "report.html").read_text(encoding="utf-8"))
    check_quiet(visit, hostile_board / "report.html")


@pytest.mark.slow
def test_opens_quietly_and_fits(rich_board: Path, visit: Visiting) -> None:
    sections = (
        "overview",
        "raters",
        "maps",
        "generators",
        "ensemble",
        "overrating",
        "history",
        "methods",
    )
    check_page(visit, rich_board / "report.html", *sections)


def test_a_bare_board_is_a_whole_page(bare_board: Path, visit: Visiting) -> None:
    seen = visit(bare_board / "report.html")
    assert seen.said == []
    assert "No ensemble was fitted" in seen.page.inner_text("#ensemble")
    assert "whether raters overrate" in seen.page.inner_text("#overrating")
    assert "no history" in seen.page.inner_text("#history")
    assert seen.page.locator("#maps").count() == 1  # two generators


def test_downloads_and_signatures(rich_board: Path, visit: Visiting) -> None:
    page_ = visit(
        rich_board / "report.html", permissions=["clipboard-read", "clipboard-write"]
    ).page
    with page_.expect_download() as download:
        page_.locator("#table-raters button.csv").click()
    assert (
        Path(download.value.path()).read_bytes()
        == (rich_board / "tables" / "raters.csv").read_bytes()
    )
    page_.locator("#ensemble dd button.copy").last.click()
    assert page_.evaluate("navigator.clipboard.readText()").startswith(
        "metal billboard apply ensemble.made+"
    )


def test_choices_open_by_keyboard_and_stay_without_script(
    rich_board: Path, visit: Visiting
) -> None:
    page_ = visit(rich_board / "report.html").page
    choice = page_.locator("#raters details.choice").first
    assert not choice.locator("table").is_visible()
    choice.locator("summary").first.focus()
    page_.keyboard.press("Enter")
    assert choice.locator("table").is_visible()
    page_ = visit(rich_board / "report.html", java_script_enabled=False).page
    # three criteria x four, without the main one
    assert page_.locator("#raters details.choice").count() == 11
    assert not page_.locator("button.csv").first.is_visible()


def test_print_is_on_white_without_buttons(rich_board: Path, visit: Visiting) -> None:
    page_ = visit(rich_board / "report.html", color_scheme="dark").page
    page_.emulate_media(media="print")
    assert not page_.locator("button.csv").first.is_visible()
    assert page_.locator("#table-raters td").first.is_visible()
    assert page_.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def rich(rich_board: Path) -> Billboard:
    return Billboard.read(rich_board)


@pytest.fixture(scope="module")
def bare(bare_board: Path) -> Billboard:
    return Billboard.read(bare_board)


def changed(run: Billboard, table: str, **columns: Any) -> Billboard:
    return replace(run, tables={**run.tables, table: run.tables[table].assign(**columns)})


def test_the_ranking_is_the_table_rounded(rich: Billboard) -> None:
    records = rich.records("raters", criterion="overall", language="")
    shown = raters.ranking_table(rich, rich.main, rich.language)
    assert [row[1].text for row in shown.rows] == [record["rater"] for record in records]
    assert [row[0].text for row in shown.rows] == [
        str(place) for place in range(1, len(records) + 1)
    ]
    for row, record in zip(shown.rows, records, strict=True):
        assert row[4].text == figure(record["pearson"])
        assert row[4].below == interval(record["pearson_low"], record["pearson_high"])
    kinds = {row[1].text: row[2].text for row in shown.rows}
    assert (kinds["judge"], kinds["m0"], kinds[NAME]) == ("LLM judge", "metric", "ensemble")
    prices = {row[1].text: row[-1].text for row in shown.rows}
    assert (prices["judge"], prices["m0"]) == ("$3.00", "–")  # two criteria, 1.50 each
    assert tells(
        shown.notes, "– r between generators, SPA, pairwise accuracy", f"another fit ({NAME})"
    )


def test_raters_are_counted_as_ranked(rich: Billboard) -> None:
    """The ensemble that overrating is about, fitted to all generators, is no further rater."""
    counted = sum(
        int(word) for word in facts(rich)["Ranked"].split(" against ")[0].split() if word.isdigit()
    )
    assert counted == rich.rows("raters")["rater"].nunique()


def test_members_in_the_place_of_one_left_out_are_listed(rich: Billboard) -> None:
    run = changed(rich, "ensemble_members", members_without="m one, m2")
    table = generators.member_table(run)
    assert table is not None
    assert {row[-1].text for row in table.rows} == {"m one and m2"}


def test_ties_are_differences_up_to_epsilon(rich: Billboard) -> None:
    shown = raters.ranking_table(changed(rich, "raters", tie_epsilon=1.0), rich.main, rich.language)
    assert shown.rows[0][10].text == "1"


def test_open_ranks_are_told_in_words(rich: Billboard) -> None:
    records = rich.records("raters", criterion="overall", language="")
    first, second = (f"{row['rater']} ({figure(row['pearson'])})" for row in records[:2])
    first = records[0]["rater"]
    words = facts(changed(rich, "raters", rank_high=1))["Agrees best"]
    assert words.startswith(f"{first} (LLM judge): r ")
    assert tells(words, "significantly better", second, "below that")
    alike = changed(rich, "raters", rank_high=len(records))
    words = facts(changed(alike, "comparisons", p_adjusted=0.4))["Agrees best"]
    assert tells(words, "not shown", second, "p 0.400")
    assert tells(words, "anywhere", f"rank 1 to {len(records)}.")
    words = facts(changed(alike, "comparisons", p_adjusted=0.01))["Agrees best"]
    assert tells(words, "significantly better", second, "from rank 1")


def test_a_board_with_clusters_of_an_earlier_version_opens(
    rich_board: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(rich_board, old)
    for table in ("raters", "generators", "comparisons"):
        path = old / "tables" / f"{table}.parquet"
        rows = pd.read_parquet(path)
        rows = rows.drop(
            columns=[name for name in ("rank_low", "rank_high", "p_adjusted") if name in rows]
        )
        rows.assign(cluster=1, at_most=False).to_parquet(path, index=False)
    run = Billboard.read(old)
    second = run.records("raters", criterion="overall", language="")[1]
    assert (
        f"The next is {second['rater']} ({figure(second['pearson'])})." in facts(run)["Agrees best"]
    )
    assert page(run).count("<h2") > 3


def test_a_person_and_the_ensemble_are_told(rich: Billboard) -> None:
    best = rich.records("raters", criterion="overall", language="")[0]
    people = rich.records("people", criterion="overall", language="")[0]
    ceiling, ends = (
        people["one_against_others"],
        [people[f"one_against_others_{end}"] for end in ("low", "high")],
    )
    assert tells(
        facts(rich)["Against a person"],
        "One person",
        f"reaches r {figure(ceiling)} {interval(*ends)}",
        f"judge is {figure(ceiling - best['pearson'])} below",
        "dashed",
    )
    above = facts(changed(rich, "people", one_against_others=best["pearson"] - 0.1))[
        "Against a person"
    ]
    assert "judge is 0.10 above that" in above
    words = facts(changed(rich, "comparisons", p_adjusted=0.4))["Ensemble"]
    assert "not shown to differ from the best single metric, m0" in words
    unseen = next(
        row
        for row in rich.records("raters", criterion="overall", language="")
        if row["rater"] == NAME
    )
    assert f"r {figure(unseen['pearson'])} " in facts(rich)["Ensemble"]


def test_one_rater_and_nothing_else(bare: Billboard) -> None:
    words = facts(bare)
    assert tells(words["Agrees best"], "no other rater")
    assert "there is only one person" in words["Against a person"]
    assert tells(words["Ensemble"], "None", "warnings")
    assert not words["Overrating"]
    assert (
        generators.fitted(bare),
        generators.member_table(bare),
        raters.overrating_charts(bare),
    ) == (None, None, [])
    assert (
        raters.language_maps(bare),
        raters.criterion_map(bare),
        raters.further_rankings(bare),
    ) == ([], None, ())
    assert history_table(bare).rows == ()


def test_maps_hold_every_cell(rich: Billboard) -> None:
    languages = raters.language_maps(rich)
    assert [table.columns for table in languages] == [
        ("", "all languages", "Arabic", "English", "Hindi")
    ] * 3
    by = {
        (row["rater"], row["language"]): row for row in rich.records("raters", criterion="overall")
    }
    for row in languages[0].rows:
        for code, cell in zip(("", "ar", "en", "hi"), row[1:], strict=True):
            assert cell.text == figure(by[row[0].text, code]["pearson"])
    found = raters.criterion_map(rich)
    assert found is not None
    assert found.columns == ("", "overall", "fluency", "adequacy")


def test_shades_follow_r_and_a_dash_has_its_reason(rich: Billboard) -> None:
    table = rich.tables["within_generators"]
    values = [-0.5, 0.0, 0.45, None]
    pearson = [values[place % 4] for place in range(len(table))]
    undefined = ["pearson: none differ" if value is None else "" for value in pearson]
    shown = raters.generator_map(
        changed(rich, "within_generators", pearson=pearson, undefined=undefined)
    )
    assert shown is not None
    marks = {cell.text: cell.mark for row in shown.rows for cell in row[1:]}
    assert marks == {"−0.50": "q0", "0.00": "q1", "0.45": "q5", "–": "none"}
    assert shown.notes[0].startswith("– r: none differ (")
    assert " on g" in shown.notes[0]


def test_generators_are_ranked_side_by_side(rich: Billboard) -> None:
    table = generators.generator_table(rich, "overall", "")
    assert table.columns[:3] == ("generator", "by people", "ranks")
    assert [row[1].text for row in table.rows] == ["1", "2", "3", "4"]
    assert {row[0].text for row in table.rows if row[0].below == "human writing"} == {"g3"}
    lines, dots = generators.generator_charts(rich)
    assert (lines.name, dots.name) == ("generators_ranks", "generators_people")
    # A generator that the judge did not score is left out of the lines, and that is said.
    rows = rich.tables["generators"]
    fewer = replace(
        rich,
        tables={
            **rich.tables,
            "generators": rows[(rows["by"] != "judge") | (rows["generator"] != "g0")],
        },
    )
    lines = generators.generator_charts(fewer)[0]
    assert tells(lines.notes, "the 3 generators", "leaves out g0")
    assert [row[0].text for row in lines.numbers.rows] == [
        row[0].text for row in table.rows if row[0].text != "g0"
    ]
    assert generators.generator_table(fewer, "overall", "").rows[-1][3].text == "–"


def test_the_formula_gives_what_the_ensemble_gives(rich: Billboard) -> None:
    found = generators.fitted(rich)
    assert found is not None
    record = next(one for one in rich.ensembles if one["ensemble"] == found.signature)
    assert len(found.formula) == 1 + len(record["members"])
    assert found.command == f"metal billboard apply {found.signature} outputs.jsonl"
    turned = tuple(
        {**one, "members": [{**each, "negated": True} for each in one["members"]]}
        for one in rich.ensembles
    )
    shown = generators.member_table(replace(rich, ensembles=turned))
    assert shown is not None
    assert shown.notes[0].startswith("Lower is better by ")


def test_overrating_is_sorted_and_tells_who_has_none(rich: Billboard) -> None:
    machines, family = raters.overrating_tables(rich)
    values = [float(row[2].text.replace("−", "-")) for row in machines.rows]
    assert values == sorted(values, reverse=True)
    assert [row[2].text for row in family.rows] == ["own"]
    table = rich.tables["overrating"]
    nobody = changed(
        rich,
        "overrating",
        value=None,
        low=None,
        high=None,
        undefined=["value: no human output"] * len(table),
    )
    assert [chart.name for chart in raters.overrating_charts(nobody)] == ["self_preference"]
    assert (
        raters.overrating_tables(nobody)[0].notes[0].startswith("– overrating: no human output (")
    )


def test_history_is_newest_first_and_tells_what_went(rich: Billboard) -> None:
    rows = history_table(rich).rows
    assert [row[0].text for row in rows] == ["4", "3", "2", "1"]
    assert rows[0][0].below == "shown here"
    assert (rows[1][4].text, rows[2][4].text) == ("anonymous", "Ada")
    assert rows[2][2].below == "withdrawn in version 4"
    assert rows[2][5].text == "direction higher"


def test_settings_are_told_also_where_they_are_0(rich: Billboard) -> None:
    assert (
        settings_in_words(rich)
        == "members metric, nonzero 3, rule smallest, resamples 100, permutations 100, seed 0,"
        " version 4"
    )


def test_crowd_has_its_place(rich: Billboard) -> None:
    main, further = raters.crowd_sections(rich)
    assert main.words[0].startswith("No crowd to compare with: judge 0.")
    (table,), (chart,) = main.tables, main.charts
    last, *others = reversed(table.rows)
    assert tells(last[0].text, "one person against")
    assert [float(row[1].text) for row in others] == sorted(float(row[1].text) for row in others)
    assert chart.alt.startswith("Scatter")
    answers = {(row[0].text, row[1].text): row[2].text for row in further.tables[0].rows}
    assert set(answers.values()) == {"judge only"}
    without = replace(
        rich,
        tables={key: rows for key, rows in rich.tables.items() if not key.startswith("crowd_")},
    )
    assert raters.crowd_sections(without) == ()


def test_every_table_and_chart_is_named_once(rich: Billboard) -> None:
    shown = tables(rich)
    assert len({table.name for table in shown}) == len(shown)
    for table in shown:
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert not table.source or f"|stat:{table.source}|" in table.signature
    drawn = charts(rich)
    assert len({chart.name for chart in drawn}) == len(drawn) == 8
    for chart in drawn:
        ElementTree.fromstring(chart.svg)
        assert len(chart.alt) > 60
        assert chart.numbers.rows


def test_charts_stand_where_figures_are(rich: Billboard) -> None:
    drawn = ElementTree.fromstring(raters.ranking_chart(rich).svg)
    titles = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}title")]
    first = rich.records("raters", criterion="overall", language="")[0]
    ends = interval(first["pearson_low"], first["pearson_high"])
    assert f"judge: {figure(first['pearson'])} {ends}" in titles
    raters_in_all = len(rich.records("raters", criterion="overall", language=""))
    assert raters.ranking_chart(rich, "first", 2).notes == (
        f"The first 2 of {raters_in_all}; all are in the table.",
    )


@pytest.mark.parametrize(
    "values",
    [[0.0], [0.3, 0.31], [-5.0, 5.0], [1e-9, 2e-9], [83.1, 77.4], [-0.2, 1.0], [1.0, 1.0 - 2e-16]],
)
def test_ticks_hold_all_values(values: list[float]) -> None:
    ticks = ticks_for(values)
    assert ticks[0] <= min(values) + 1e-12
    assert ticks[-1] >= max(values) - 1e-12
    assert 2 <= len(set(ticks)) == len(ticks) <= 8
    steps = [after - before for before, after in pairwise(ticks)]
    assert max(steps) == pytest.approx(min(steps))


def test_nothing_is_drawn_of_nothing() -> None:
    assert interval_dots([Dot("a", float("nan"))], {}) == ""
    assert ">–<" in interval_dots([Dot("a", float("nan")), Dot("b", 0.5)], {})
    # they differ by rounding only
    assert interval_dots([Dot("a", 1.0), Dot("b", 1.0 - 2e-16)], {"": (0, "")})


def test_names_are_on_lines_of_their_own_and_not_cut() -> None:
    change, judge = (
        "outputs in a wrong language or script",
        "constructed:lenient-middling/with-references",
    )
    dots = interval_dots([Dot(change, 0.5), Dot(judge, 0.25), Dot("b", 1.0)], {})
    lines = [
        "outputs in a wrong",
        "language or script",
        "constructed:lenient-",
        "middling/with-references",
        "b",
    ]
    assert re.findall("<tspan[^>]*>([^<]*)<", dots) == lines
    # 17, and 13 for a second line
    assert re.findall('<path d="M[0-9.]+ ([0-9.]+)m', dots) == ["35", "65", "88.5"]
    ranks = rank_lines(Ranks({judge: {change: 1, "b": 2}, "m": {change: 2, "b": 1}}))
    assert "…" not in ranks + dots
    assert re.findall("<tspan[^>]*>([^<]*)<", ranks) == [*lines[:2], "b"]


def test_lines_are_coloured_where_rankings_disagree() -> None:
    shown = Ranks(
        {"people": {"a": 1, "b": 2, "c": 3, "d": 4}, "m": {"a": 4, "b": 1, "c": 2, "d": 3}},
        frozenset("b"),
    )
    assert [shown.moved(one) for one in "abcd"] == [3, -1, -1, -1]
    drawn = rank_lines(shown)
    assert drawn.count('class="way s1"') == 2  # the line and its entry in the legend
    assert drawn.count('class="way s0"') == 1  # the entry alone
    assert "a from 1 to 4 (m)" in shown.words()
    assert tells(Ranks({"people": {"a": 1}, "m": {"a": 1}}).words(), "All", "the same.")


def test_many_raters_and_languages_are_cut_with_a_note(rich: Billboard) -> None:
    rows = rich.rows("raters", criterion="overall", language="")
    many = pd.concat([rows.assign(language=f"l{n}") for n in range(50)], ignore_index=True)
    cut = raters.language_maps(replace(rich, tables={**rich.tables, "raters": many}))[0]
    assert len(cut.columns) == 41
    assert tells(cut.notes[-1], "40 of 50 columns", "CSV")
