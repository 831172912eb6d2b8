"""The verbs as a user meets them: a process, its output, its exit code; screens of help; what
`metal init` asks.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pandas as pd
import pytest
from click.testing import CliRunner

from metal.cli import metal as command
from metal.cli.flags import command_named, in_flags
from metal.cli.verb import HEIGHT
from metal.data.dataset import load_dataset
from tests import DEMO
from tests.api.test_public import verbs
from tests.cli.forks import ROOT, Done, Metal, shared
from tests.saying import tells

ENVIRONMENT = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
AUDIT = ("audit", DEMO, "judges", "-l", "en,sw", "--out", "audit", "--resamples", "100")


def words(text: str) -> str:
    """The text on one line, words apart by one space."""
    return " ".join(text.split())


def metal(*arguments: object, cwd: Path, expect: int = 0) -> Done:
    done = shared().at(cwd, os.environ | ENVIRONMENT)(*arguments, expect=expect, seconds=120)
    if expect == 2:
        assert done.err.startswith("metal: ")
        assert done.err.count("\n") == 1
    return done


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a judges' run and an audit of the demo, and what that printed."""
    folder = tmp_path_factory.mktemp("runs")
    done = metal(
        "judge",
        DEMO,
        "--judge",
        "majority,random",
        "--judge",
        "lexical",
        "--out",
        "judges",
        cwd=folder,
    )
    assert "no lexical rule" in done.out
    done = metal(*AUDIT, "-v", cwd=folder)
    (folder / "audit.txt").write_text(done.out, encoding="utf-8")
    return folder


def test_demo_audit(runs: Path) -> None:
    printed = (runs / "audit.txt").read_text(encoding="utf-8")
    assert max(map(len, printed.split("Signature")[0].splitlines())) <= 80
    assert "\x1b[" not in printed  # piped output is plain
    shown = " ".join(printed.split())
    for part in ("Linguistic acceptability", "Fleiss", "Verdicts", "Undecided", "Signature"):
        assert part in shown
    names = (
        "people judges verdicts together by_class confusion by_certainty differences"
        " class_distribution"
    )
    names += " class_distribution_overall self_agreement justifications lengths"
    names += " classes_by_quality table_3 table_6"
    assert {path.stem for path in (runs / "audit" / "tables").iterdir()} == set(names.split())


def test_tables_agree_in_all_formats_and_repeat_byte_for_byte(runs: Path) -> None:
    tables = runs / "audit" / "tables"
    before = {path.name: path.read_bytes() for path in tables.iterdir()}
    metal(*AUDIT, "--force", cwd=runs)
    assert {path.name: path.read_bytes() for path in tables.iterdir()} == before
    for name in ("judges", "people", "verdicts"):
        parquet = pd.read_parquet(tables / f"{name}.parquet")
        assert (
            len(parquet)
            == len(pd.read_csv(tables / f"{name}.csv"))
            == len(json.loads(before[f"{name}.json"]))
        )
        assert parquet["signature"].str.startswith("metal:").all()


def test_run_toml_repeats_the_run(runs: Path) -> None:
    import tomllib

    run = tomllib.loads((runs / "audit" / "run.toml").read_text())
    assert run["settings"]["resamples"] == 100
    assert run["settings"]["seed"] == 0
    assert run["datasets"][0]["identity"].startswith("demo@")
    assert run["libraries"]["numpy"]
    assert run["signature"] == run["signature"].strip()


def test_json_can_be_piped(runs: Path) -> None:
    options = "--out json --resamples 100 -l sw -c task_quality --json"
    audited = json.loads(metal("audit", DEMO, "judges", *options.split(), cwd=runs).out)
    assert audited["headline"].startswith("Whether any of the 3 judges")
    metal("audit", DEMO, *options.split(), "--markdown", cwd=runs, expect=2)
    assert {row["language"] for row in audited["verdicts"]} == {"sw"}
    low = audited["judges"][0]["kappa_quadratic_low"]
    assert low is None or isinstance(low, float)  # not NaN, which is no JSON


def test_compare_and_check(runs: Path) -> None:
    done = metal(
        "compare",
        DEMO,
        "judges",
        "-l",
        "ru,tr",
        "-r",
        "people,lexical",
        "--resamples",
        "100",
        "-v",
        cwd=runs,
    )
    assert "demo-good" in done.out
    assert "people (4)" in done.out
    rows = json.loads(metal("compare", DEMO, "--resamples", "100", "--json", cwd=runs).out)
    assert rows[0]["signature"]
    done = metal("check", DEMO, "judges", "--labels", "-v", cwd=runs)
    assert max(map(len, done.out.splitlines())) <= 80
    assert "lexical: 80 of 400 ratings have no score" in done.out
    assert json.loads(metal("check", DEMO, "--json", cwd=runs).out)["raters"][0]["rater"] == "A1"


@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet"])
def test_export_and_import_again(runs: Path, target: str) -> None:
    metal("export", DEMO, "--to", target, "--out", f"demo.{target}", "--force", cwd=runs)
    done = metal(
        "import", "table", f"demo.{target}", "--out", f"from-{target}", "--force", cwd=runs
    )
    assert "1,200 ratings" in done.out
    assert f"Next: metal judge from-{target} --judge" in done.out  # people only
    original, again = load_dataset(DEMO), load_dataset(runs / f"from-{target}")
    keys = ["output", "criterion", "rater", "score", "reason"]
    before, after = (
        dataset.ratings[keys].astype(str).sort_values(keys).reset_index(drop=True)
        for dataset in (original, again)
    )
    pd.testing.assert_frame_equal(before, after)


def test_hugging_face_round_trip(runs: Path) -> None:
    written = metal("export", DEMO, "--to", "hf", "--out", "demo-hf", "--texts", cwd=runs)
    assert "examples/s" not in written.err  # the progress of the library
    done = metal("import", "demo-hf", "--out", "from-hf", cwd=runs)  # recognized
    assert "1,200 ratings" in done.out
    assert (
        load_dataset(runs / "from-hf").outputs["en-1/good"].text
        == load_dataset(DEMO).outputs["en-1/good"].text
    )


def test_hostile_names_do_not_reach_the_screen_or_the_spreadsheet(tmp_path: Path) -> None:
    rows = [
        {
            "item": f"i{n}",
            "language": "en",
            "annotator": rater,
            "rating": n % 3,
            "comment": "=HYPERLINK(1)",
        }
        for n in range(12)
        for rater in ("A1", "A2", "=cmd|x", "\x1b[31mred[/red]\u202e")
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = ("import", "table", "t.jsonl", "--out", "d", "--kinds", "*red*=llm", "--kind")
    metal(*read, "=cmd|x=llm", cwd=tmp_path, expect=2)
    metal(*read, "?cmd*=llm", cwd=tmp_path)
    done = metal("audit", "d", "--out", "run", "--resamples", "100", cwd=tmp_path)
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    table = (tmp_path / "run" / "tables" / "judges.csv").read_text()
    assert "'=cmd|x" in table
    metal("export", "d", "--to", "csv", "--out", "e.csv", cwd=tmp_path)
    assert "'=HYPERLINK(1)" in (tmp_path / "e.csv").read_text()


WRONG: list[tuple[list[str], str]] = [
    (["audit", "nowhere"], "no such file or folder"),
    (["audit", str(DEMO), "nowhere"], "no such run folder"),
    (["audit", str(DEMO), __file__], "--into DATASET"),
    (["audit", str(DEMO), "--judges", "gpt"], "judge 'gpt' is not known"),
    (["audit", str(DEMO), "--languages", "xx"], "language 'xx' is not known; known: ar"),
    (["audit", str(DEMO), "--criteria", "task_qualty"], "did you mean 'task_quality'"),
    (["audit", str(DEMO), "--bootstrap", "5"], "Invalid value for '--resamples': 5"),
    (["audit", str(DEMO), "--epsilon", "2"], "--epsilon"),
    (["judge", str(DEMO), "--judge", "gpt-4", "--out", "x"], "judge 'gpt-4' is not known"),
    (["compare", str(DEMO), "-g", "nobody,demo-good"], "generator 'nobody'"),
    (["import", "pariksha"], "give FORMAT and PATH"),
    (["import", "csv", "x", "--out", "y"], "format 'csv' is not known"),
    (["import", "table", "nofile.csv", "--out", "y"], "no such file"),
    (["import", "table", "nofile.csv"], "nofile.csv: no such file"),
    (["import", "table", "nofile.csv", "--out", "y", "--kind", "A1"], "write NAME=VALUE"),
    (["import", "hf", "nobody/nothing", "--out", "y"], "huggingface.co cannot be reached"),
    (["export", str(DEMO), "--to", "csv", "--out", "."], "is a folder; give a file"),
    (["annotate", "export", str(DEMO)], "Choose from: crowd-csv, csv, html"),
    (["frobnicate"], "No such command"),
    (["audit", "--frob"], "No such option"),
]


@pytest.mark.parametrize(
    ("arguments", "message"),
    WRONG,
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_mistakes_are_answered_in_one_line(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    assert message in metal(*arguments, cwd=tmp_path, expect=2).err
    assert list(tmp_path.iterdir()) == []  # nothing half-written


@pytest.mark.parametrize("verb", [(), ("monitor",), ("annotate", "push")], ids=" ".join)
def test_a_verb_alone_shows_its_help(tmp_path: Path, verb: tuple[str, ...]) -> None:
    """To be read: not folded into the one line of an error."""
    printed = shared().at(tmp_path, os.environ | ENVIRONMENT)(*verb, expect=2, seconds=120).err
    assert printed.startswith(f"Usage: {' '.join(('metal', *verb))} ")
    assert printed.count("\n") > 5


def test_formats_are_listed(tmp_path: Path) -> None:
    listed = metal("import", "--list", cwd=tmp_path).out
    assert tells(listed, "billboard Billboard's", "released scores")
    assert max(map(len, listed.splitlines())) <= 100


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = metal(
        "audit", DEMO, "-l", "sw", "--resamples", "100", "--out", "file/run", cwd=tmp_path, expect=2
    )
    assert "file" in done.err


def test_a_table_without_rows_and_one_without_classes(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("item,language,annotator,rating\n")
    assert (
        "no ratings in it"
        in metal("import", "table", "none.csv", "--out", "d", cwd=tmp_path, expect=2).err
    )
    (tmp_path / "real.csv").write_text("item,language,annotator,rating\ni,en,A1,0.5\n")
    metal("import", "table", "real.csv", "--out", "d", cwd=tmp_path)
    assert "no judge took part" in metal("audit", "d", "--resamples", "100", cwd=tmp_path).out


@pytest.mark.slow
def test_a_run_is_replaced_by_one_of_the_same_data_only(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "audit", tmp_path / "audit")
    (tmp_path / "audit" / "report.html").unlink()
    same = os.path.relpath(DEMO, tmp_path)  # the run names it absolutely
    metal("audit", same, "--out", "audit", "-l", "hi", "--resamples", "100", cwd=tmp_path)
    assert (tmp_path / "audit" / "report.html").is_file()
    done = metal("describe", DEMO, "--out", "audit", cwd=tmp_path, expect=2)
    assert "audit is a run of `metal audit`; it is not replaced" in done.err
    assert "--force" not in done.err
    table = "id,rater,score\n" + "".join(
        f"{n},{rater},{n % 3}\n" for n in range(9) for rater in ("A1", "A2", "gpt-4")
    )
    (tmp_path / "ratings.csv").write_text(table)
    for _ in range(2):
        metal("audit", "ratings.csv", cwd=tmp_path)
    (tmp_path / "ratings.csv").write_text(table.replace("8,A1,2", "8,A1,1"))
    done = shared().at(tmp_path, os.environ | ENVIRONMENT)(
        "audit", "ratings.csv", expect=2, seconds=120
    )
    assert tells(done.err, "runs/ratings", "run of other data", "--out", "--force")


def test_a_defect_leaves_a_log_and_exit_code_70(tmp_path: Path) -> None:
    code = (
        "import sys, metal, metal.cli as cli\n"
        "def broken(data, *ratings): raise RuntimeError('boom')\n"
        "metal.check = broken\n"
        f"sys.argv = ['metal', 'check', {str(DEMO)!r}]\n"
        "cli.main()"
    )
    environment = os.environ | ENVIRONMENT | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=240
    )
    assert done.returncode == 70
    assert done.stderr.count("\n") == 1
    assert "boom" in done.stderr
    log = next(tmp_path.glob("metal-error-*.log"))
    assert "Traceback" in log.read_text()
    assert str(log) in done.stderr


@pytest.mark.parametrize("words", [f"check {DEMO} --json", "ls"])
def test_a_closed_pipe_is_no_error_and_no_gate_that_says_no(words: str, runs: Path) -> None:
    typed = (
        f"{sys.executable} -c 'from metal.cli import main; main()' {words} | true; echo"
        " ${PIPESTATUS[0]}"
    )
    done = subprocess.run(
        ["bash", "-c", typed],
        capture_output=True,
        text=True,
        env=os.environ | ENVIRONMENT,
        timeout=240,
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ("ls >&-", 0, ""),  # as without: what is asked for is done, and a gate's answer is its code
        ("check nothing >&- 2>&-", 2, ""),
        (
            "ls >/dev/full",
            2,
            (
                "metal: nothing more can be written: no space left on device; make room, and run"
                " this again\n"
            ),
        ),
    ],
)
def test_output_that_cannot_be_written_is_no_defect(
    words: str, code: int, error: str, runs: Path
) -> None:
    typed = f"cd {runs}; {sys.executable} -c 'from metal.cli import main; main()' {words}; exit $?"
    done = subprocess.run(
        ["bash", "-c", typed],
        capture_output=True,
        text=True,
        env=os.environ | ENVIRONMENT,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (code, error)


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("`out` is missing", "--out is missing"),
        ("give `force=True`", "give --force"),
        ('`max_cost=1.5` and `engine="ray"`', "--max-cost 1.5 and --engine ray"),
        ("`references` in sources.jsonl", "`references` in sources.jsonl"),
        ('`languages=["hi", "ta"]`', "--languages hi,ta"),
        ('go on with `metal.judge(resume="runs/x")`', "go on with `metal judge --resume runs/x`"),
        ('`metal.annotate_export("d", to="html")`', "`metal annotate export d --to html`"),
        ("`metal.read(...).save(folder)` makes one", "`metal import` makes one"),
        ('`metal.monitor("d", RUN)`', "`metal monitor d RUN`"),
        ("`metal.audit(`", "`metal.audit(`"),
        ("`seed=1`2`", "--seed 12`"),
    ],
)
def test_parameters_become_flags(message: str, typed: str) -> None:
    assert in_flags(message, command_named(["judge"], command), command) == typed


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (["billboard", "data", "--layout", "wmt25"], "--gold mqm"),
        (["billboard", "--layout=wmt25", "data"], "--gold mqm"),
        (["billboard", "data"], "`gold='mqm'`"),  # the ranking of raters has no such option
    ],
)
def test_a_command_that_an_option_selects_has_its_own_flags(typed: list[str], named: str) -> None:
    assert in_flags("`gold='mqm'`", command_named(typed, command), command) == named


def test_a_dictionary_is_a_flag_for_each_item() -> None:
    message = '`kinds={"gpt*": "llm", "A*": "human"}`'
    assert in_flags(message, command_named(["import"], command), command).count("=") == 2


@pytest.mark.slow
@pytest.mark.reference
def test_pariksha_from_import_to_verdict(reference: Path, tmp_path: Path) -> None:
    metal("import", "pariksha", reference / "pariksha", "--out", "datasets/pariksha", cwd=tmp_path)
    done = metal("audit", "datasets/pariksha", "-v", cwd=tmp_path)
    assert (
        "gpt-4-32k/detailed, Task quality, Hindi: informative. Keeps 72% [55%, 90%] of a"
        in done.said
    )
    assert tells(done.said, "gpt-4-32k/detailed, Hallucinations, Tamil:", "disagree")
    assert (tmp_path / "runs" / "pariksha" / "tables" / "judges.csv").is_file()


@pytest.mark.slow
@pytest.mark.reference
def test_two_releases_meet_in_one_dataset(reference: Path, tmp_path: Path) -> None:
    metal("import", "thumb", reference / "thumb", "--out", "cnndm", cwd=tmp_path)
    systems = reference / "oracle" / "summeval_system_map.json"
    add = (
        "import",
        "alttest",
        reference / "alttest/summeval",
        "--into",
        "cnndm",
        "--map-generators",
        systems,
    )
    done = metal(*add, cwd=tmp_path)
    assert tells(done.said, "1600 outputs matched", "57600 ratings added")
    assert tells(done.said, "E1 and e0", "on all 1600 outputs")
    before = load_dataset(tmp_path / "cnndm").digest
    done = metal(
        "import", "alttest", reference / "alttest/wax", "--into", "cnndm", cwd=tmp_path, expect=2
    )
    assert tells(done.err, "no output", "same source", "generator")
    assert load_dataset(tmp_path / "cnndm").digest == before


def shown(*words: str) -> str:
    done = CliRunner().invoke(command, words, prog_name="metal", terminal_width=80)
    assert done.exit_code == 0
    return done.output


def options(text: str) -> set[str]:
    """The long flags at the beginnings of lines below a heading."""
    listed = text.partition("\nOptions:\n")[2].partition("\nWith:\n")[0]
    lines = re.findall(r"^  (?:-\w, )?(--[\w-]+(?: / --[\w-]+)?)", listed, re.MULTILINE)
    return {flag for line in lines for flag in line.split(" / ")}


@pytest.mark.parametrize("words", verbs(), ids=" ".join)
def test_help_fits_a_screen_and_every_option_is_in_one_group(words: tuple[str, ...]) -> None:
    brief, whole = shown(*words, "--help"), shown(*words, "--help-all")
    assert len(brief.splitlines()) <= HEIGHT == 40
    assert max(map(len, [*brief.splitlines(), *whole.splitlines()])) <= 80
    usual, *groups = re.split(r"\n(?:Rarely needed|How a table is read):\n", whole)
    rare = "\nOptions:\n" + "\n".join(groups)
    pointed_at = {"--columns"} if "--columns, --wide" in brief else set()
    assert options(usual) == options(brief) - pointed_at
    assert pointed_at <= options(rare)
    assert not options(usual) & options(rare)
    declared = [option for option in verbs()[words].params if isinstance(option, click.Option)]
    longest = {
        max(set(option.opts) - set(getattr(option, "aliases", ())), key=len) for option in declared
    }
    assert options(usual) | options(rare) >= longest
    assert bool(options(rare)) == any(getattr(option, "rare", False) for option in declared)


def test_help_of_groups_says_what_each_command_does_in_a_whole_sentence() -> None:
    names = command.list_commands(click.Context(command))
    groups = [name for name in names if isinstance(command.get_command(None, name), click.Group)]
    assert {"bias", "design", "probe", "judges"} <= {*groups}
    for name in set(groups) - {"judges", "metric", "prompt"}:
        lines = shown(name, "--help").splitlines()
        assert len(lines) <= HEIGHT, name
        assert max(map(len, lines)) <= 80, name
        of_commands = re.split(r"\n(?:Commands|With):\n", "\n".join(lines), maxsplit=1)[-1]
        assert not re.search(r"\.\.\.|metal[._]|None", of_commands), name
    assert "`metal bias` still lacks" in shown("bias", "--help")


def test_rarely_needed_options_paragraphs_and_examples_come_with_help_all() -> None:
    brief, whole = shown("judge", "--help"), shown("judge", "--help-all")
    for text in ("--prompt-language", "--engine ray", "--out runs/baselines"):
        assert text in whole
        assert text not in brief
    assert "--resample" not in shown("billboard", "--help")
    # a group's help is its default's
    for part in ("--resamples", "references  Show how", "`metal score`"):
        assert part in shown("billboard", "--help-all")


TABLE = "output,language,criterion,rater,kind,score\n" + "".join(
    f"o{item},hi,quality,{rater},{'llm' if rater == 'J' else 'human'},"
    f"{(item + (rater == 'A3')) % 3}\n"
    for item in range(12)
    for rater in ("A1", "A2", "A3", "J")
)


def test_a_huge_cell_does_not_fill_the_screen(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text(f"x,ende-tutorial1,{'z' * 70_000},1,1\n" * 2)
    done = metal("import", "scores.csv", "--out", "mine", cwd=tmp_path, expect=2)
    assert len(done.err) < 4_000
    assert tells(done.err, "scores.csv", "…")
    assert done.err.endswith("\n")


def test_ratings_are_imported_and_audited(metal: Metal) -> None:
    (metal.cwd / "mine.csv").write_text(TABLE)
    done = metal("init", "--yes", typed="ratings\nmine.csv\n" + "\n" * 8)
    assert "metal import mine.csv -i --out datasets/mine\nmetal audit datasets/mine\n" in done.out
    assert (metal.cwd / "runs" / "mine" / "report.html").is_file()


def test_a_judge_is_run_only_after_a_yes(metal: Metal) -> None:
    done = metal("init", typed=f"judge\n{DEMO}\nmajority\nn\n")
    assert f"metal audit {DEMO} runs/{DEMO.name}-judges" in done.out
    assert not (metal.cwd / "runs").exists()
    metal("init", typed=f"judge\n{DEMO}\nmajority\ny\n")
    assert (metal.cwd / "runs" / DEMO.name / "report.html").is_file()


def test_a_dataset_that_is_not_there_is_asked_for_again(metal: Metal) -> None:
    done = metal("init", typed=f"judge\nnowhere\n{DEMO}\nmajority\nn\n")
    assert "'nowhere' does not exist" in done.out + done.err
    assert f"metal audit {DEMO} runs/{DEMO.name}-judges" in done.out


def test_a_dataset_is_begun_with_sample_generate_and_annotate(metal: Metal) -> None:
    done = metal("init", typed="dataset\nxlsum\nsw\nnews\nopenai:gpt-4o\n\n\nn\n")
    assert tells(
        done.out, "metal sample", "--source xlsum", "--languages sw", "--out datasets/news"
    )
    assert "metal generate datasets/news --model openai:gpt-4o\n" in done.out
    assert tells(done.out, "metal annotate export", "datasets/news --to html --raters 3")
    (metal.cwd / "texts").mkdir()
    # whatever languages it has
    done = metal("init", typed="dataset\ntexts\nen\nnews\nopenai:gpt-4o\n\n\nn\n")
    assert (
        "metal sample --source texts --languages en --out datasets/news --allow-fewer\n" in done.out
    )


def test_what_is_left_to_do_is_said_where_a_command_is_refused(metal: Metal) -> None:
    (metal.cwd / "en.jsonl").write_text(
        '{"id": "1", "title": "T", "summary": "S", "text": "one two three"}\n'
    )
    done = metal(
        "init", "--yes", typed="dataset\nen.jsonl\nen\nnews\nopenai:gpt-4o\n\n\n", expect=2
    )
    assert (
        "Stopped at: metal sample --source en.jsonl --languages en --out datasets/news"
        " --allow-fewer\n" in done.out
    )
    assert tells(done.out, "after it:", "metal generate", "datasets/news --model openai:gpt-4o")
    assert tells(
        done.out, "To do after it:", "metal annotate export", "datasets/news --to html --raters 3"
    )
    assert "10 tokens or more" in done.err


def test_a_few_texts_of_ones_own_become_a_dataset(metal: Metal) -> None:
    text = " ".join(["one two three four five"] * 5)
    lines = (f'{{"id": "{row}", "text": "{row} {text}"}}\n' for row in range(3))
    (metal.cwd / "few.jsonl").write_text("".join(lines))
    done = metal(
        "init", "--yes", typed="dataset\nfew.jsonl\nen\nfew\nopenai:gpt-4o\n\n\n", expect=2
    )
    assert "verdicts need 30 items; passages drawn: English 3" in done.out + done.err
    # the server copies its passage
    assert tells(done.out, "Stopped at:", "metal annotate export", "datasets/few --to html")


def test_a_pipe_without_answers_gets_the_commands(metal: Metal) -> None:
    done = metal("init", expect=2)
    assert done.err.count("\n") == 1
    for typed in ("metal import PATH", "metal judge DATASET", "metal sample --source"):
        assert typed in done.err


@pytest.mark.parametrize("verb", ["serve", "view"])
def test_without_arguments_the_present_folder_is_served(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []

    def begin(folder: object, **options: object) -> None:
        begun.append(folder)
        raise click.Abort

    monkeypatch.setattr(f"metal.{verb}", begin)
    CliRunner().invoke(command, [verb])
    assert [str(folder) for folder in begun] == ["."]
