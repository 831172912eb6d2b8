"""`metal submit`: generators and metrics join a board."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from pathlib import Path
from random import Random

import pandas as pd
import pytest

import metal
from metal.boards import board as boards
from metal.boards.settings import BoardSettings
from metal.boards.store import kept_settings, open_board, read_history
from metal.data.dataset import with_parts
from metal.data.ratings import FACTS, tidy_facts
from metal.raters.metrics import Item, find_metric, scored
from tests import DEMO
from tests.cli.filling import filled
from tests.cli.runs import snapshot
from tests.cli.small_board import (
    ALL_SOURCES,
    ANOTHER,
    GENERATORS,
    LENGTH,
    OUTSIDE,
    QUICK_OPTIONS,
    Commands,
    reference_of,
    texts_of,
)
from tests.saying import tells

# ---------------------------------------------------------------- generators


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("new.csv", ("source", "text")),
        ("new.tsv", (" Source ", "TEXT")),
        ("new.jsonl", ("seg_id", "hyp")),
        ("new.xlsx", ("id", "hypothesis")),
        ("new.parquet", ("source", "summary")),
    ],
)
def test_a_generator_from_every_kind_of_table(
    small: Commands, name: str, columns: tuple[str, str]
) -> None:
    texts = texts_of("new")
    said = small(
        "submit", "generator", "small", small.write_outputs(name, texts, columns), "--name", "new"
    )
    assert "small is at version 2: generator new" in said
    assert "14 outputs" in said
    dataset = open_board(small.board).dataset
    mine = {
        output.source: output for output in dataset.outputs.values() if output.generator == "new"
    }
    assert {source: output.text for source, output in mine.items()} == texts  # 007 is still 007
    assert {output.language for output in mine.values()} == {"ar", "zh"}
    assert {output.output for output in mine.values()} == {f"{source}/new" for source in texts}


def test_metrics_that_can_be_run_score_it(small: Commands) -> None:
    small.ranked()
    said = small.generator("new")
    texts = texts_of("new")
    language = {source: "zh" if source.startswith("zh") else "ar" for source in ALL_SOURCES}
    items = [Item(texts[one], (reference_of(one),), "?", language[one]) for one in ALL_SOURCES]
    for name, sign in (("chrf", 1), ("rouge-1", 1), ("ter", -1)):
        answers = [one.score for one in scored(find_metric(name), items)]
        assert None not in answers
        wanted = {
            f"{source}/new": sign * (score or 0.0)
            for source, score in zip(ALL_SOURCES, answers, strict=True)
        }
        assert small.scores(name, "new") == pytest.approx(wanted, abs=1e-12)
        assert f"{name}: 14 scored" in said
    # by hand: 2 shared / (tokens of both), and no token of it occurs twice
    first = texts["000"].split()
    assert small.scores("rouge-1", "new")["000/new"] == pytest.approx(
        2 * len(first) / (len(first) + 12)
    )
    assert tells(said, f"by {OUTSIDE}:", "not recorded")
    assert tells(said, f"by {ANOTHER}:", "differently here")
    assert not small.scores(OUTSIDE, "new")
    assert not small.scores(ANOTHER, "new")
    assert "generators by people" not in said  # nobody rated it
    assert "of 5 generators by" in said


def test_scores_by_metrics_that_cannot_be_run_are_handed_in(small: Commands) -> None:
    path = small.write_outputs("new.jsonl", texts_of("new"))
    table = pd.DataFrame(
        {"source": ALL_SOURCES, OUTSIDE: [at / 10 for at in range(14)], "chrf": 50.0}
    )
    table.loc[3, OUTSIDE] = float("nan")
    table.drop(index=13).to_csv("given.csv", index=False)
    said = small("submit", "generator", "small", path, "--name", "new", "--scores", "given.csv")
    assert (
        f"{OUTSIDE}: as given, 12 scored, mean 0.625; 2 without score, no score in given.csv"
        in said
    )
    given = small.scores(OUTSIDE, "new")
    assert (given["002/new"], given["zh-000/new"]) == (0.2, 0.7)
    assert given["003/new"] == given["zh-006/new"] == "no score in given.csv"
    assert small.scores("chrf", "new")["000/new"] == 50  # what is handed in is not computed again
    assert f"not scored by {OUTSIDE}" not in said
    assert small.history()[-1]["about"]["scores_given"] == [OUTSIDE, "chrf"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            {"source": ["000"]},
            ("(columns found: source)",),
        ),
        ({"output": ["000"], OUTSIDE: [1]}, ("(columns found: output, comet)",)),
        (
            {"source": ["000"], "cosmet": [1]},
            ("given.csv: metric 'cosmet' is not known; did you mean 'comet'",),
        ),
        (
            {"source": ["000", "9"], OUTSIDE: [1, 2]},
            ("'9' is not a source", "One row per source"),
        ),
        ({"source": ["000", "000"], OUTSIDE: [1, 2]}, ("given.csv: '000' more than once",)),
        (
            {"source": ["000", "001"], OUTSIDE: [1, "high"]},
            ("given.csv row 3: score 'high' is not a finite number",),
        ),
    ],
)
def test_scores_handed_in_with_faults(
    small: Commands, table: dict[str, list[object]], said: tuple[str, ...]
) -> None:
    path = small.write_outputs("new.jsonl", texts_of("new"))
    pd.DataFrame(table).to_csv("given.csv", index=False)
    refused = small.refused(
        "submit", "generator", "small", path, "--name", "new", "--scores", "given.csv"
    )
    assert tells(refused, *said)
    assert not read_history(small.board)


def test_all_that_is_wrong_is_one_message(small: Commands) -> None:
    before = snapshot(small.folder)
    texts = texts_of("new")
    rows = [
        {"source": source, "text": text}
        for source, text in texts.items()
        if source not in ("002", "zh-003")
    ]
    rows[0]["text"], rows[1]["text"] = "  ", ""
    # twice 006
    rows += [{"source": "7", "text": "x"}, {"source": "00", "text": "x"}, dict(rows[5])]
    pd.DataFrame(rows).to_csv("bad.csv", index=False)
    said = small.refused("submit", "generator", "small", "bad.csv", "--name", "new")
    assert tells(said, "bad.csv: 2 extra sources", "('7', '00')", "board does not have, ")
    for problem in (
        "1 duplicate source ('006'); ",
        "2 missing sources ('002', 'zh-003') of 14; ",
        "2 empty texts ('000', '001'). Nothing was imported",
    ):
        assert problem in said
    Path("bad.csv").unlink()
    assert snapshot(small.folder) == before  # not even the version that was looked at is recorded


def test_some_sources_are_missing_only_where_that_is_allowed(small: Commands) -> None:
    few = dict(list(texts_of("few").items())[:5])
    path = small.write_outputs("few.csv", few)
    assert "2 missing sources ('005', '006') of 7" in small.refused(
        "submit", "generator", "small", path, "--name", "few"
    )
    small("submit", "generator", "small", path, "--name", "few", "--allow-missing")
    assert set(small.scores("chrf", "few")) == {f"{source}/few" for source in few}


@pytest.mark.parametrize(
    ("table", "said"),
    [("source,text\n,x\n", "row 2: source nan, text 'x'"), ("", "the file is empty")],
)
def test_tables_that_are_none(small: Commands, table: str, said: str) -> None:
    Path("t.csv").write_text(table, encoding="utf-8")
    assert said in small.refused("submit", "generator", "small", "t.csv", "--name", "new")


def test_what_is_said_of_a_generator_reaches_the_board(small: Commands) -> None:
    small.generator("person", 0.1, "--human", "--by", "A. Person")
    small.generator("machine", 0.4, "--family", "gpt")
    known = open_board(small.board).dataset.extra["generators"]
    assert known == {"person": {"kind": "human"}, "machine": {"family": "gpt"}}
    assert "person" not in open_board(small.board, 1).dataset.extra.get("generators", {})
    assert [line.get("by") for line in small.history()] == [None, "A. Person", "anonymous"]


@pytest.mark.slow
def test_human_and_family_move_overrating_and_self_preference(small: Commands) -> None:
    """People rate what joined only when the dataset has it; here a rated generator is declared by
    the same table.
    """
    found = small.json("billboard", "small", "--out", "a", "--human", "near", *QUICK_OPTIONS)
    wanted = [
        (row["rater"], row["value"]) for row in found["overrating"] if row["value"] is not None
    ]
    assert wanted
    with (small.board / "dataset.toml").open("a", encoding="utf-8") as file:
        file.write('\n[generators.near]\nkind = "human"\n')
    small.generator("person", 0.1, "--human")
    told = small.json("billboard", "small", "--out", "b", *QUICK_OPTIONS)
    assert [
        (row["rater"], row["value"]) for row in told["overrating"] if row["value"] is not None
    ] == wanted
    assert {row["human_generators"] for row in told["overrating"]} == {"near person"}


def test_names_that_no_generator_can_have(small: Commands) -> None:
    path = small.write_outputs("new.csv", texts_of("new"))
    for name in (
        *GENERATORS,
        "",
        "  ",
        "a\nb",
        "x" * 81,
        "\x1b[2J",
        "a\u202eb",
        "People",
        "\ud800",
    ):
        message = small.refused("submit", "generator", "small", path, "--name", name)
        assert "--name" in message
        assert message.isprintable()
    assert not (small.board / "board" / "submissions").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../../evil", "=<b>[bold]ب"])
def test_odd_names_are_only_names(small: Commands, name: str) -> None:
    before = snapshot(small.board)
    small.generator(name)
    small.program(f"m{len(name)}", LENGTH, "--name", f"metric {name}")
    assert {path.name for path in (small.board / "board" / "submissions").iterdir()} == {
        "0002",
        "0003",
    }
    assert len(small.scores(f"metric {name}", name)) == 14
    after = snapshot(small.board)
    assert all(after[path] == content for path, content in before.items())
    assert [path.name for path in small.folder.parent.iterdir() if "evil" in path.name] == []


# ---------------------------------------------------------------- metrics


@pytest.mark.slow
def test_a_program_scores_the_board_and_what_joins_later(small: Commands) -> None:
    small.ranked()
    said = small.program("length", LENGTH, "--by", "me")
    assert "Run apart: network: none" in said
    assert "56 scored" in said
    assert "with people, rank" in said
    outputs = open_board(small.board).dataset.outputs
    assert small.scores("length") == {name: len(one.text) for name, one in outputs.items()}
    assert (
        small.board.joinpath("board/submissions/0002/metric.py").read_text(encoding="utf-8")
        == LENGTH
    )
    Path("length.py").unlink()  # what is kept is run
    assert str(small.folder) not in "".join(map(str, snapshot(small.board).values()))
    assert "length: 14 scored" in small.generator("new")
    assert small.scores("length", "new") == {
        f"{source}/new": len(text) for source, text in texts_of("new").items()
    }


@pytest.mark.slow
def test_direction_range_and_reasons_of_a_program(small: Commands) -> None:
    code = """
def score(output, *, reference):
    if output.startswith("z"):
        raise ValueError("starts with z")
    return abs(len(output) - len(reference))
score.direction = "lower"
score.range = (0, 1000)
"""
    small.program("distance", code)
    rater = open_board(small.board).dataset.raters["distance"]
    assert rater.about["direction"] == "lower"
    assert rater.about["negated"] is True
    assert rater.about["range"] == [-1000, 0]
    assert all(
        isinstance(score, float) and score <= 0 for score in small.scores("distance").values()
    )
    texts = texts_of("new") | {"000": "zzz"}
    said = small(
        "submit", "generator", "small", small.write_outputs("n.csv", texts), "--name", "new"
    )
    assert "distance: 13 scored" in said
    assert "1 without score, the metric raised ValueError: starts with z" in said
    assert (
        small.scores("distance", "new")["000/new"] == "the metric raised ValueError: starts with z"
    )
    small.program("up", code, "--direction", "higher", "--name", "up")
    assert small.scores("up", "near") == {
        name: -float(one) for name, one in small.scores("distance", "near").items()
    }


def test_a_program_that_reads_a_file(small: Commands) -> None:
    Path("words.txt").write_text("xyz", encoding="utf-8")
    path = Path("words.txt").resolve()
    code = f"def score(output):\n    return len(open({str(path)!r}).read())\n"
    said = small.program("reader", code, "--reads", "words.txt")
    assert set(small.scores("reader").values()) == {3.0}
    assert "56 scored" in said
    joined = small.generator("new")
    assert tells(joined, "scored by reader:", "(words.txt)")
    assert str(small.folder) not in (small.board / "board" / "history.jsonl").read_text(
        encoding="utf-8"
    )


def test_a_table_of_scores(small: Commands) -> None:
    outputs = list(open_board(small.board).dataset.outputs.values())
    frame = pd.DataFrame(
        {
            "output": [one.output for one in outputs],
            "score": [f"{len(one.text)}" for one in outputs],
        }
    )
    frame.loc[3, "score"] = ""
    frame[2:].to_csv("lengths.csv", index=False)
    said = small(
        "submit", "metric", "small", "lengths.csv", "--name", "lengths", "--direction", "lower"
    )
    assert "53 scored" in said
    assert "1 without score, no score in lengths.csv" in said
    assert tells(said, "2 outputs", "lengths.csv")
    found = small.scores("lengths")
    assert found[outputs[3].output] == "no score in lengths.csv"
    assert found[outputs[5].output] == -len(outputs[5].text)
    assert len(found) == 54
    assert tells(small.generator("new"), "scored by lengths:", "program is not")


def test_tables_with_faults(small: Commands) -> None:
    Path("t.csv").write_text("output,score\n000/near,inf\n", encoding="utf-8")
    assert "t.csv row 2: score 'inf'" in small.refused(
        "submit", "metric", "small", "t.csv", "--name", "m"
    )
    assert "no such file" in small.refused("submit", "metric", "small", "gone.csv", "--name", "m")
    assert "--reads" in small.refused(
        "submit", "metric", "small", "t.csv", "--name", "m", "--function", "f"
    )
    program = ("submit", "metric", "small", _py(LENGTH), "--name", "m")
    assert "--signature applies" in small.refused(*program, "--signature", "x")
    for seconds in ("nan", "inf", "0", "-1"):
        assert small.refused(*program, "--seconds", seconds)
    assert not read_history(small.board)


def _py(code: str, name: str = "metric.py") -> str:
    Path(name).write_text(code, encoding="utf-8")
    return name


@pytest.mark.parametrize("name", ["chrf", OUTSIDE, "A1", "people", "Ensemble (unseen)"])
def test_names_that_no_metric_can_have(small: Commands, name: str) -> None:
    assert "give another --name" in small.refused(
        "submit", "metric", "small", _py(LENGTH), "--name", name
    )


@pytest.mark.slow
def test_a_program_that_is_not_the_one_that_joined_is_not_run(small: Commands) -> None:
    small.program("length", LENGTH)
    with (small.board / "board" / "submissions" / "0002" / "metric.py").open(
        "a", encoding="utf-8"
    ) as file:
        file.write("# more\n")
    assert tells(small.generator("new"), "scored by length:", "program", "not the one")


@pytest.mark.slow
def test_a_generator_and_a_metric_of_one_name(small: Commands) -> None:
    small.program("twin", LENGTH)
    small.generator("twin")
    assert len(small.scores("twin", "twin")) == 14
    assert "twin: 14 scored" in small.generator("other")  # the program is still found
    assert "it was generator twin of version 3" in small("submit", "withdraw", "small", "twin")
    assert "it was metric twin of version 2" in small("submit", "withdraw", "small", "twin")
    assert "'twin' is not known" in small.refused("submit", "withdraw", "small", "twin")


HOSTILE = """
import os, pathlib
BOARD = pathlib.Path({board!r})

def score(output):
    done = 0
    for attempt in (
        lambda: (BOARD / "board" / "history.jsonl").write_text("gone"),
        lambda: (BOARD / "dataset.toml").unlink(),
        lambda: (BOARD / "new").write_text("x"),
        lambda: os.rename(BOARD, str(BOARD) + "2"),
        lambda: (BOARD / "outputs.jsonl").read_text(),
        lambda: os.environ["SECRET"],
        lambda: os.kill(os.getppid(), 9),
        lambda: __import__("socket").create_connection(("127.0.0.1", 9), 1),
    ):
        try:
            attempt()
            done += 1
        except Exception:
            pass
    return done
"""


@pytest.mark.slow
def test_a_hostile_program_changes_nothing(
    small: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    small("billboard", "history", "small")
    monkeypatch.setenv("SECRET", "s")
    before = snapshot(small.board)
    small.program("evil", HOSTILE.format(board=str(small.board)))
    assert set(small.scores("evil").values()) == {0.0}
    small.generator("new")  # also when it is run again
    assert set(small.scores("evil", "new").values()) == {0.0}
    after = snapshot(small.board)
    assert {path for path, content in before.items() if after.get(path) != content} <= {
        "board/history.jsonl",
        "board/ensembles.jsonl",
    }
    assert after["board/history.jsonl"].startswith(before["board/history.jsonl"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "options", "said"),
    [
        ("while True: pass", ("--seconds", "0.7"), "not done after 0.7 s"),
        ("def score(output):\n    while True: pass", ("--seconds", "0.7"), "not done after 0.7 s"),
        (
            "def score(output):\n    return len(bytearray(10**10))",
            ("--memory", "300"),
            "scores no output (0 scored; 56 without score, the metric raised MemoryError",
        ),
        (
            "x = bytearray(10**10)\ndef score(output): return 1",
            ("--memory", "300"),
            "it may use 300 MB",
        ),
        ("import os\ndef score(output): os._exit(3)", (), "it ended itself (code 3"),
        ("syntax error", (), "cannot be run: SyntaxError"),
        ("def other(output): return 1", (), "'score' is not known"),
        ("def score(text): return 1", (), "parameter 'text' is not known"),
    ],
)
def test_programs_that_fail(
    small: Commands, code: str, options: tuple[str, ...], said: str
) -> None:
    before = snapshot(small.board)
    Path("bad.py").write_text(code, encoding="utf-8")
    assert said in small.refused("submit", "metric", "small", "bad.py", "--name", "bad", *options)
    after = {
        path: content for path, content in snapshot(small.board).items() if "board/" not in path
    }
    assert after == {path: content for path, content in before.items() if "board/" not in path}
    assert [entry.what for entry in read_history(small.board)] in ([], ["data"])
    assert not (small.board / "board" / "submissions").exists()


@pytest.mark.slow
def test_signatures_hold_what_scores_depend_on_and_no_path(small: Commands) -> None:
    Path("od|d").mkdir()
    two = "def a(output): return 1\ndef b(output): return 2\n"
    small("submit", "metric", "small", _py(two, "od|d/two.py"), "--name", "two", "--function", "a")
    small.generator("new")
    assert set(small.scores("two").values()) == {1.0}
    small("submit", "withdraw", "small", "two")
    small("submit", "metric", "small", "od|d/two.py", "--name", "two", "--function", "b")
    assert set(small.scores("two").values()) == {2.0}  # of the generator that joined before as well
    signatures = [
        line["about"]["signature"] for line in small.history() if line["what"] == "metric"
    ]
    assert len(set(signatures)) == 2
    assert "od|d" not in json.dumps(small.history())


def test_identical_texts_are_noticed(small: Commands) -> None:
    # of `odd`
    texts = {
        output.source: output.text for output in open_board(small.board).dataset.outputs.values()
    }
    texts |= {"000": f" {texts['000']}\n", "001": "?", "002": "?"}
    said = small(
        "submit", "generator", "small", small.write_outputs("t.csv", texts), "--name", "copy"
    )
    assert tells(said, "12 of 14", "word for word", "odd")
    assert "2 of 14 texts are the same text" in said
    assert "word for word" not in small.generator("new", 0.9)


@pytest.mark.slow
def test_a_board_of_foreign_metrics_ranks_by_metals_own(small: Commands) -> None:
    """As on released boards, where it is not known how metrics were computed: none of them can rank
    what joins.
    """
    data = metal.read(small.board)
    names = {
        name: rater
        for name, rater in data.raters.items()
        if rater.kind == "human" or name == OUTSIDE
    }
    facts = data.ratings[data.ratings["rater"].isin(names)].loc[:, list(FACTS)]
    with_parts(data, raters=names.values(), facts=tidy_facts(facts.astype(object))).save("foreign")
    assert "1 missing source" in small.refused(
        *(
            "submit",
            "generator",
            "foreign",
            small.write_outputs("bad.csv", dict(list(texts_of("new").items())[1:])),
        ),
        *("--name", "new"),
    )
    assert not read_history(Path("foreign"))  # nothing joined for a file with faults
    path = small.write_outputs("new.csv", texts_of("new"))
    said = " ".join(small("submit", "generator", "foreign", path, "--name", "new").split())
    assert tells(said, "chrf joins", "(56 scored")
    assert tells(said, "none of", "can be run here")
    assert re.search(r"rank \d of 5 generators by (chrf|rouge-l)", said)
    assert [entry.name for entry in read_history(Path("foreign"))] == ["", "chrf", "rouge-l", "new"]
    assert "joins, computed" not in small("submit", "generator", "foreign", path, "--name", "again")


@pytest.mark.slow
def test_people_judges_and_metrics_rate_what_was_submitted(small: Commands) -> None:
    """Every command sees what stands on the board; ratings of it are a folder beside the
    dataset.
    """
    small.generator("new")
    judged = metal.judge(
        "small",
        lambda source, output, criterion: 3,
        name="mine",
        out="judged",
        languages="ar",
        criteria="fluency",
    )
    assert {f"{source}/new" for source in ALL_SOURCES[:7]} <= set(
        judged.ratings["output"].astype(str)
    )
    rows = [{"source": one, "generator": "new", "score": 5, "rater": "A1"} for one in ALL_SOURCES]
    rows = [row | {"language": "zh" if row["source"].startswith("zh") else "ar"} for row in rows]
    pd.DataFrame(rows).to_csv("people.csv", index=False)
    people = metal.read(
        "people.csv", criterion="fluency", kinds={"A1": "human"}, groups={"A1": "native"}
    )
    people.save("people")
    ranked = metal.leaderboard("small", "people").tables["leaderboard"]
    assert "new" in set(ranked["generator"])
    board = metal.billboard("small", "people", "judged", resamples=100, permutations=100)
    by_people = board.tables["generators"].query("by == 'people' and language == ''")
    assert by_people.set_index("generator").loc["new", "rank"] == 1
    said = " ".join(small("score", "small", "-m", "rouge-1", "--into").split())
    assert tells(said, "14 outputs", "(new)", "not scored")
    assert "leave --into out" in said
    beside = metal.score("small", "rouge-2", out="beside")
    assert {f"{source}/new" for source in ALL_SOURCES} <= set(beside.ratings["output"].astype(str))
    assert "submitted generators" not in beside.lacking


@pytest.mark.slow
def test_a_board_that_was_told_nothing_says_so(small: Commands) -> None:
    (small.board / "board" / "settings.json").unlink()
    assert "ranked against all its people" in small.program("length", LENGTH)
    small.ranked()
    assert "ranked against all" not in small.generator("new")


LOOKS = {
    "criteria": "fluency",
    "languages": "ar",
    "raters": "chrf",
    "common": True,
    "expected": True,
    "members": "metric,llm",
    "nonzero": 2,
    "alpha": 0.3,
    "alpha_rule": "middle",
    "at": 1,
    "exact": True,
    "resamples": 100,
    "permutations": 100,
    "seed": 5,
}
WHO = ("reference", "human", "families", "exclude_noisy")


@pytest.mark.slow
def test_no_option_that_only_looks_is_kept(
    small: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by itself, and random sets of them; an option that is new has to be put on one of the
    lists.
    """
    assert {*LOOKS, *WHO, "data", "ratings", "progress", "reading"} == set(
        inspect.signature(metal.billboard).parameters
    )
    small.ranked()
    settings = BoardSettings(criteria=("fluency",), resamples=100, permutations=100)
    ranked = boards.billboard(metal.read(small.board), settings)
    monkeypatch.setattr(boards, "billboard", lambda *arguments, **options: ranked)
    kept = (small.board / "board" / "settings.json").read_bytes()
    random = Random(1)
    for names in [*([name] for name in LOOKS), *(random.sample(list(LOOKS), 4) for _ in range(8))]:
        metal.billboard("small", **{name: LOOKS[name] for name in names})
        assert (small.board / "board" / "settings.json").read_bytes() == kept, names
    assert kept_settings(small.board, 1) == BoardSettings(reference="group=native")


@pytest.mark.slow
def test_looking_does_not_change_what_submissions_are_ranked_by(small: Commands) -> None:
    """Only whom a board compares with is kept; `-r chrf`, `-c`, `--alpha` and a plain look leave it
    as it was.
    """
    small("billboard", "small", "--out", "a", "--reference", "rater=A1,A2", *QUICK_OPTIONS)
    look = (
        "-r",
        "chrf",
        "-c",
        "fluency",
        "-l",
        "ar",
        "--alpha",
        "0.3",
        "--nonzero",
        "2",
        "--common",
    )
    small("billboard", "small", "--out", "b", *look, *QUICK_OPTIONS)
    small("billboard", "small", "--out", "c", *QUICK_OPTIONS)
    assert kept_settings(small.board, 5) == BoardSettings(reference="rater=A1,A2", version=5)
    said = small.generator("first")
    assert tells(said, "rater=A1,A2", "`metal billboard`", "with --reference")
    assert "rank" in said.split("of 5 generators by ")[0]
    (small.board / "board" / "settings.json").write_text('{"families": "3"}', encoding="utf-8")
    said = small.generator("new")
    assert "not ranked: small/board/settings.json: not the settings" in said
    assert "Next: metal billboard --history small" in said  # works without a ranking
    assert small.history()[-1]["name"] == "new"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "mturk"])
def test_people_rate_what_was_submitted(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through METAL's own forms and verbs; the dataset's own files keep what is the dataset's."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DEMO, "demo", ignore=shutil.ignore_patterns("board"))
    sources = list(metal.read("demo").sources)
    pd.DataFrame({"source": sources, "text": [f"said of {source}" for source in sources]}).to_csv(
        "new.csv"
    )
    pd.DataFrame({"output": list(metal.read("demo").outputs), "score": range(80)}).to_csv("m.csv")
    metal.submit_metric("demo", "m.csv", name="m")
    metal.submit_generator("demo", "new.csv", name="new")
    handed = metal.annotate_export(
        "demo", to=form, languages="en", generators="new", out="out", raters=2
    )
    mine = {
        output.output
        for output in open_board(Path("demo")).dataset.outputs.values()
        if output.generator == "new"
    }
    assert {task.output for each in handed.assignments for task in each.tasks} <= mine
    assert "score" not in handed.assignments[0].rubrics  # what a metric gives is not asked
    files = filled(
        form,
        Path("out"),
        Path("back"),
        lambda rater, task: {"task_quality": "2", "hallucinations": "0"},
    )
    for _ in range(2):  # the second time nothing is new
        metal.annotate_import("demo", files)
        assert list(metal.billboard_history("demo")["what"]).count("ratings") == 1
    assert not metal.read("demo").ratings["output"].isin(mine).any()
    board = open_board(Path("demo")).dataset.ratings
    people = board[(board["generator"] == "new") & (board["kind"] == "human")]
    # criteria, outputs, people
    assert len(people.dropna(subset=["score"])) == 2 * 4 * (3 if form == "mturk" else 2)
    judged = set(metal.judge("demo", "majority", languages="en", out="judged").ratings["criterion"])
    assert judged == set(handed.assignments[0].rubrics)
    options = {"languages": "en", "criteria": "task_quality", "resamples": 100, "permutations": 100}
    by = metal.billboard("demo", "judged", **options).tables["generators"]
    assert set(by.loc[by["generator"] == "new", "by"]) == {"people"}
    assert "new" in set(
        metal.leaderboard("demo", languages="en").tables["leaderboard"]["generator"]
    )
    metal.submit_withdraw("demo", "people")
    assert "human" not in set(
        open_board(Path("demo")).dataset.ratings.query("generator == 'new'")["kind"]
    )
