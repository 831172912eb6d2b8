"""`metal leaderboard`, and `metal report` on its run folder."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from metal.building.store import read_tasks
from metal.data.dataset import load_dataset, save_dataset
from metal.genie.output_scores import sources_chosen
from tests.cli.forks import Metal, environment
from tests.cli.runs import reword
from tests.cli.test_commands import words
from tests.genie.leaderboard.boards import dataset, output, ranked
from tests.saying import tells

FEW = ("--permutations", "100", "-v")
SCORES = {
    "good": [5, 5, 4, 5, 5, 4, 5, 5, 5],
    "fair": [4, 3, 4, 3, 4, 3, 4, 3, 4],
    "poor": [1, 2, 1, 1, 2, 1, 1, 2, 1],
}
NEW = "n\u202ew"  # turns what follows in a terminal


@pytest.fixture
def here(processes: Metal, tmp_path: Path) -> Metal:
    """`metal` in a folder where `mine` has three rated generators in two languages, and one that is
    new.
    """
    lines = ranked(SCORES) + ranked(SCORES, rater="A2") + ranked({"good": [5, 4]}, "hi")
    lines += [
        (name, "score", "m1", float(place))
        for place, name in enumerate(sorted({line[0] for line in lines}))
    ]
    lines += [("en-00/good", "quality", "j1", 4)]
    new = [output(f"en-{place:02d}/{NEW}") for place in range(9)]
    save_dataset(
        dataset(lines, more=new, groups={"A1": "expert", "A2": "crowd"}), tmp_path / "mine"
    )
    return processes.at(tmp_path, environment(tmp_path))


def test_the_ranking_the_languages_and_what_is_to_be_rated(here: Metal, tmp_path: Path) -> None:
    done = here("leaderboard", "mine", *FEW)
    assert tells(done.out, "3 generators · 2 people", "(crowd and expert)", "2 languages")
    lines = [line.split() for line in done.out.splitlines()]
    # 9 outputs with shares 1 and .75 (twice) by both people, 2 by one: (7 + 2 * .75 + 1 + .75) / 11
    assert next(line for line in lines if line[1:2] == ["good"])[:4] == ["1", "good", "1", "0.932"]
    assert "Scores by language: quality" in done.out
    assert tells(done.out, "Metrics and judges", "with people")
    assert "n\N{REPLACEMENT CHARACTER}w all languages 0 of 9 0 of 9 9 0 not rated yet" in done.said
    assert tells(done.said, "metal annotate export", "mine --to html", "--generators")
    assert done.out.count("quality, Hindi") == 0
    assert "(sources: from 9 in 1 language to 11 in 2 languages)" in words(done.said)
    to_copy = ("Signature", "metal annotate", "Written")
    assert max(len(line) for line in done.out.splitlines() if not line.startswith(to_copy)) <= 80
    assert {path.name for path in (tmp_path / "runs/mine-leaderboard").iterdir()} == {
        *("run.toml", "raters.jsonl", "warnings.txt", "tables", "report.html")
    }
    tables = {path.name for path in (tmp_path / "runs/mine-leaderboard/tables").iterdir()}
    names = ("leaderboard", "comparisons", "beside", "coverage")
    assert tables == {f"{name}.{ending}" for name in names for ending in ("csv", "json", "parquet")}


def test_by_language_and_criterion(here: Metal) -> None:
    assert "quality, Hindi" in here("leaderboard", "mine", "--by", "language", *FEW).out
    done = here("leaderboard", "mine", "-l", "hi", "--by", "criterion", "--out", "hindi", *FEW)
    assert "quality, Hindi" in done.out
    assert "all languages" not in done.out


def test_json_is_what_the_tables_hold(here: Metal, tmp_path: Path) -> None:
    done = here(
        "leaderboard",
        "mine",
        "--reference",
        "group=expert",
        "--with-judges",
        "--json",
        "--out",
        "out",
        *FEW,
    )
    found = json.loads(done.out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert (found["main"], found["run"]) == ("quality", "out")
    assert "|ref:group=expert|" in found["signature"]
    for name in ("leaderboard", "comparisons", "beside", "coverage"):
        frame = pd.read_parquet(tmp_path / "out" / "tables" / f"{name}.parquet")
        assert [list(one) for one in found[name]] == [list(frame.columns)] * len(frame)
    assert {one["people"] for one in found["leaderboard"]} == {1}
    assert {one["rater"] for one in found["beside"]} == {"m1", "j1"}


def test_a_sample_is_scored_and_handed_out(here: Metal, tmp_path: Path) -> None:
    found = json.loads(
        here("leaderboard", "mine", "--sample", "4", "--seed", "2", "--json", *FEW).out
    )
    assert {one["sources"] for one in found["leaderboard"] if one["language"] == "en"} == {4}
    said = here("leaderboard", "mine", "--sample", "4", "--seed", "2", "--out", "again", *FEW).said
    assert "--sample 4 --seed 2" in said
    part = ("-l", "en", "-c", "quality", "--sample", "4", "--seed", "2", "--raters", "1")
    here("annotate", "html", "mine", *part, "--out", "tasks")
    outputs = {
        load_dataset(tmp_path / "mine").outputs[one]
        for one in read_tasks(tmp_path / "mine").values()
    }
    assert Counter(one.generator for one in outputs) == dict.fromkeys([*SCORES, NEW], 4)
    scored = sources_chosen(load_dataset(tmp_path / "mine").sources.values(), 4, 2)
    assert {one.source for one in outputs} == {name for name in scored if name.startswith("en")}


def test_runs_add_ratings_also_by_way_of_another_leaderboard(here: Metal, tmp_path: Path) -> None:
    mine = load_dataset(tmp_path / "mine")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "raters.jsonl").write_text(
        '{"rater": "m2", "kind": "metric", "group": "metric"}\n'
    )
    facts = pd.DataFrame(
        {"output": list(mine.outputs), "criterion": "score", "rater": "m2", "score": 1.0}
    )
    facts.assign(reason="", comment="").to_csv(tmp_path / "more" / "ratings.csv", index=False)
    assert "m2" in here("leaderboard", "mine", "more", "--out", "one", *FEW).out
    assert "m2" in here("leaderboard", "mine", "one", "--out", "two", *FEW).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--reference", "group=experts"),
            "group of people 'experts' is not known; did you mean 'expert'",
        ),
        (("--sample", "0"), "0 is not in the range x>=1"),
    ],
)
def test_what_cannot_be_asked_for(
    here: Metal, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in words(here.refused("leaderboard", "mine", *options))
    assert not (tmp_path / "runs").exists()


def test_a_spoiled_run_is_told_in_one_line(here: Metal, tmp_path: Path) -> None:
    here("leaderboard", "mine", "--out", "run", *FEW)
    reword(tmp_path / "run" / "raters.jsonl", '"m1"', '"m3"')
    assert tells(words(here.refused("report", "run")), "rater 'm1'", "raters.jsonl")


@pytest.mark.slow
@pytest.mark.reference
def test_released_answers_in_five_languages(here: Metal, reference: Path, tmp_path: Path) -> None:
    here("import", "pariksha", reference / "pariksha", "--out", "pariksha")
    found = json.loads(here("leaderboard", "pariksha", "--json").out)
    rows = found["leaderboard"]
    assert any(
        "(sources: from 12 in 1 language to 100 in 5 languages)" in told
        for told in found["warnings"]
    )
    assert all("rank_low" in one for one in rows)
    together = [one for one in rows if one["criterion"] == "overall" and one["language"] == ""]
    assert [one["generator"] for one in together[:2]] == [
        "meta-llama/Meta-Llama-3-70B-Instruct",
        "gemini-pro",
    ]
    assert together[0]["score"] == pytest.approx(0.8464, abs=1e-4)
    assert {one["language"] for one in rows} == {"", "bn", "hi", "kn", "ml", "ta"}
    # Read off the released ratings by hand: what a model got in one language on one criterion,
    # people first.
    facts = load_dataset(tmp_path / "pariksha").ratings
    mine = facts[
        (facts["kind"] == "human")
        & (facts["language"] == "hi")
        & (facts["criterion"] == "hallucinations")
    ]
    mine = mine[(mine["generator"] == "gpt-4") & mine["score"].notna()]
    by_output = (1 - mine["score"]).groupby(mine["output"].astype(str)).mean()
    where = ("hi", "hallucinations", "gpt-4")
    (one,) = [one for one in rows if (one["language"], one["criterion"], one["generator"]) == where]
    assert (one["outputs"], one["score"]) == (len(by_output), pytest.approx(by_output.mean()))


@pytest.mark.slow
@pytest.mark.reference
def test_released_summaries_that_only_experts_rated_are_not_ranked_with_those_of_a_crowd(
    here: Metal, reference: Path
) -> None:
    here("import", "thumb", reference / "thumb", "--out", "thumb")
    done = here("leaderboard", "thumb", "--out", "all", "-v")
    assert (
        "'Pegasus-dynamic-mix', 'Human-H' by group expert only; the rest by groups crowd 62%"
        in words(done.said)
    )
    assert "--reference group=expert" in words(done.said)
    first = [
        line.split()[:5] for line in done.out.splitlines() if line.lstrip()[:2] in ("1 ", "2 ")
    ][:2]
    # The first was tested against another that only experts rated, and is better; against no other.
    assert first == [
        ["1", "Pegasus-dynamic-mix", "1", "to", "17"],
        ["2", "Lead-3", "1", "to", "14"],
    ]
    found = json.loads(
        here("leaderboard", "thumb", "--reference", "group=expert", "--json", "--out", "expert").out
    )
    rank = {
        one["generator"]: one["rank"]
        for one in found["leaderboard"]
        if one["criterion"] == found["main"]
    }
    assert (rank["Pegasus-dynamic-mix"], rank["Human-H"]) == (5, 14)
    assert not any("different groups" in told for told in found["warnings"])
