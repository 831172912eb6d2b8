"""The public functions: what they are, what they take, and that they work twice, in scripts and in
running loops.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import click
import pandas as pd
import pytest

import metal
from metal.api.options import options_of, shared_options_of
from metal.data.records import Estimate
from metal.runs.columns import names_of
from metal.runs.kinds import Kind, kinds, load, meaning
from metal.show.commands import SPELLED
from tests import DEMO
from tests.api import reference
from tests.llm_server import LlmServer

ROOT = Path(__file__).resolve().parents[2]
# Options of the command line alone: where results go and how they are printed.
OF_THE_COMMAND_LINE = {
    "junit",
    "as_markdown",
    "verbose",
    "out",
    "force",
    "as_json",
    "by",
    "ask",
    "open_it",
    "labels",
    "list_formats",
    "help",
}


def functions() -> dict[str, Callable[..., Any]]:
    """The public functions by name."""
    return {
        name: value for name in metal.__all__ if inspect.isfunction(value := getattr(metal, name))
    }


def test_every_public_function_has_a_docstring() -> None:
    assert [name for name, function in functions().items() if not function.__doc__] == []


def verbs() -> dict[tuple[str, ...], click.Command]:
    """Every verb of the command line by its words; of a group, what it does without a second
    word.
    """
    every = {
        words: getattr(command, "default", command) for words, command in reference.verbs().items()
    }
    return {
        words: command for words, command in every.items() if not isinstance(command, click.Group)
    }


ONLY_TYPED = {("completion",), ("init",)}
METHODS = {("audit",): {"require"}}  # in Python `audit.assert_at_least`
NAMES = {tuple(typed.split()): name for name, typed in SPELLED.items()}
NAMES |= {("gate",): "gate", ("sample",): "sample", ("sample", "--labels", "N"): "sample_labels"}
NAMES[("billboard", "--layout", "NAME")] = "billboard_layout"


@pytest.mark.parametrize("words", sorted(verbs().keys() - ONLY_TYPED), ids=" ".join)
def test_every_verb_is_a_function_with_the_same_options(words: tuple[str, ...]) -> None:
    name = NAMES.get(words, "_".join(words).replace("-", "_"))
    assert name in metal.__all__
    function = getattr(metal, name)
    parameters = set(inspect.signature(function).parameters) | set(shared_options_of(function))
    typed = {option.name for option in verbs()[words].params if isinstance(option, click.Option)}
    own = OF_THE_COMMAND_LINE | METHODS.get(words, set())
    assert typed - parameters - own == set()
    assert (set(options_of(function)) | set(shared_options_of(function))) - typed <= {"name", "to"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the demo has in three of its languages."""
    data, folder = metal.read(DEMO), tmp_path_factory.mktemp("few") / "demo"
    sources = {
        name: source
        for name, source in data.sources.items()
        if source.language in ("en", "hi", "sw")
    }
    outputs = {name: output for name, output in data.outputs.items() if output.source in sources}
    ratings = data.ratings[data.ratings["output"].isin(list(outputs))]
    replace(data, sources=sources, outputs=outputs, ratings=ratings).save(folder)
    return folder


def test_inside_a_running_event_loop(demo: Path, tmp_path: Path) -> None:
    async def cell() -> tuple[Any, Any]:
        waited = await metal.judge_async(
            demo, lambda source, output, criterion: 1, name="one", out=tmp_path / "one"
        )
        return waited, metal.judge(demo, "majority", out=tmp_path / "majority")

    waited, plain = asyncio.run(cell())
    assert waited.complete
    assert set(waited.ratings["rater"]) == {"one"}
    assert set(plain.ratings["rater"]) == {"majority"}


def test_a_function_is_a_judge_with_journal_limits_and_resume(demo: Path, tmp_path: Path) -> None:
    calls = []

    async def by_length(
        source: str, output: str, criterion: metal.Criterion, language: str
    ) -> tuple[float, str]:
        calls.append(language)
        return (
            criterion.scale.values[len(output) % len(criterion.scale.values)],
            f"{len(output)} characters",
        )

    options: dict[str, Any] = {"criteria": "task_quality", "out": tmp_path / "run"}
    begun = metal.judge(demo, by_length, limit=6, **options)
    assert (len(calls), begun.outcome.missing, begun.complete) == (6, 18, False)
    run = metal.judge(demo, by_length, **options)
    assert len(calls) == 24  # nothing is asked twice
    assert run.complete
    assert run.ratings["comment"].str.endswith("characters").all()
    assert (
        metal.audit(demo, run, resamples=100)["by_length", "sw", "task_quality"].coverage.value
        == 1.0
    )


def test_a_function_that_raises_gives_ratings_with_the_reason(demo: Path, tmp_path: Path) -> None:
    def broken(source: str, output: str, criterion: metal.Criterion) -> float:
        raise ValueError("no idea")

    run = metal.judge(demo, broken, criteria="task_quality", out=tmp_path / "run")
    assert run.ratings["score"].isna().all()
    assert set(run.ratings["reason"]) == {"failed: the judge raised"}


def test_a_function_of_the_wrong_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(metal.errors.UsageError, match="of the source's text"):
        metal.judge(DEMO, lambda text: 1, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_audit_is_tables_figures_texts_and_plots(demo: Path, tmp_path: Path) -> None:
    run = metal.judge(demo, "majority,random", out=tmp_path / "judges")
    audit = metal.audit(demo, run, resamples=100)
    cell = audit["random", "sw", "task_quality"]
    assert isinstance(cell.kappa, Estimate)
    row = audit.judges.query(
        "judge == 'random' and language == 'sw' and criterion == 'task_quality'"
    ).iloc[0]
    assert cell.kappa.value == row["kappa"]
    assert (cell.weighted_f1.low, cell.weighted_f1.high) == (
        row["weighted_f1_low"],
        row["weighted_f1_high"],
    )
    constant = audit["majority", "sw", "task_quality"].kappa
    assert constant.value is not None or constant.reason  # undefined is said with the reason
    with pytest.raises(metal.errors.UnknownName, match="did you mean 'random'"):
        audit["rondom", "sw", "task_quality"]
    differing = audit.disagreements(language="Swahili", judge="random")
    assert set(differing["language"]) == {"sw"}
    assert {"output_text", "score", "comment"} <= set(differing)
    assert repr(audit).count("\n") < 40
    assert audit._repr_html_().count("<td style") == len(audit.verdicts)
    assert "<svg" in audit.plot.verdicts().svg
    assert [audit.plot(name).name for name in audit.plot.names()[:2]] == audit.plot.names()[:2]


@pytest.mark.slow
def test_saved_as_the_command_saves(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    metal.judge("demo", "majority", out="judges")
    metal.audit("demo", "judges", resamples=100).save("mine")
    code = "from metal.cli import main; import sys; sys.argv = ['metal', *sys.argv[1:]]; main()"
    arguments = ["audit", "demo", "judges", "--bootstrap", "100", "--out", "other/mine"]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
    files = sorted(path.relative_to("mine") for path in Path("mine").rglob("*") if path.is_file())
    assert len(files) > 10
    assert [
        path for path in files if ("mine" / path).read_bytes() != ("other/mine" / path).read_bytes()
    ] == []
    again = metal.open_run("mine")
    assert isinstance(again, metal.Audit)
    pd.testing.assert_frame_equal(
        again.verdicts, metal.audit("demo", "judges", resamples=100).verdicts
    )


COLUMNS = {
    "rater": "annotator",
    "criterion": "metric",
    "source": "doc",
    "language": "lang",
    "score": "value",
}


def ratings() -> pd.DataFrame:
    """A table as people have it: their own names for columns and raters."""
    people = {
        "A1": [2, 1, 0, 2, 1, 0] * 6,
        "A2": [2, 1, 1, 2, 1, 0] * 6,
        "A3": [2, 2, 0, 2, 1, 0] * 6,
    }
    rows = [
        {"doc": f"d{item}", "lang": "hi", "metric": metric, "annotator": annotator, "value": value}
        for metric in ("quality", "hallucinations")
        for annotator, values in (people | {"gpt-4": people["A1"]}).items()
        for item, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_a_dataframe_is_read_like_a_table_file(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "columns": COLUMNS,
        "kinds": {"gpt*": "llm"},
        "directions": {"hallucinations": "lower"},
    }
    data = metal.read(ratings(), **options)
    assert data.report
    assert data.criteria["hallucinations"].direction == "lower"
    assert data.raters["gpt-4"].kind == "llm"
    assert len(repr(data)) < 300
    ratings().to_csv(tmp_path / "mine.csv", index=False)
    from_file = metal.read(tmp_path / "mine.csv", **options)
    assert from_file.digest == data.digest
    data.save(tmp_path / "mine")
    assert metal.read(tmp_path / "mine").digest == data.digest


def in_a_script(demo: metal.Dataset, folder: Path) -> None:
    """A dataset as datasets/demo whose people are experts and that has a judge of its own,
    gpt-4.
    """
    judge = demo.ratings[demo.ratings["rater"] == "A1"].assign(rater="gpt-4")
    columns = ["output", "source", "generator", "language", "criterion", "rater", "score"]
    table = pd.concat([demo.ratings, judge])[columns].astype(str).astype({"score": float})
    lower = {"hallucinations": "lower", "problematic_content": "lower"}
    read = metal.read(
        table, kinds={"gpt*": "llm"}, groups={"A*": "expert"}, directions=lower, name="demo"
    )
    texts = {output.output: output.text for output in demo.outputs.values()}
    outputs = {name: replace(output, text=texts[name]) for name, output in read.outputs.items()}
    replace(read, outputs=outputs).save(folder / "datasets" / "demo")


def test_the_whole_of_it_as_it_is_written(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_script(metal.read(demo), tmp_path)
    monkeypatch.chdir(tmp_path)
    df = ratings().rename(columns={"doc": "source", "lang": "language", "value": "score"})
    with LlmServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")

        data = metal.read("datasets/demo")
        data = metal.read(df, columns={"rater": "annotator", "criterion": "metric"},
            kinds={"gpt*": "llm"},
                          directions={"hallucinations": "lower"})  # fmt: skip
        assert data.report
        data = metal.read("datasets/demo")
        audit = metal.audit(data, resamples=2000)
        assert len(audit.verdicts) == len(audit.judges) == len(audit.people)
        assert audit["gpt-4", "hi", "task_quality"].kappa.value is not None
        assert len(audit.disagreements(language="hi"))
        audit.plot.verdicts()
        audit.save("runs/mine")

        run = metal.judge(data, "openai:gpt-4o-mini", prompt="simple", max_cost=1)
        run = metal.judge(data, lambda source, output, criterion: 1, name="mine")
        board = metal.billboard(
            data, run, reference="group=expert", resamples=100, permutations=100
        )
        assert "mine" in set(board.tables["raters"]["rater"])
        assert metal.open_run("runs/mine").signature == audit.signature


def test_results_are_frozen_and_short(demo: Path) -> None:
    for result in (
        metal.audit(demo, resamples=100),
        metal.check(demo),
        metal.describe(demo),
        metal.read(demo),
    ):
        assert len(repr(result)) < (2000 if isinstance(result, metal.Audit) else 400)
        with pytest.raises((AttributeError, TypeError)):
            result.warnings = ()  # type: ignore[misc]


# No platform has a server here, no source a reference or a translation, no run a batch: that is
# said, both times.
REFUSED = {
    "billboard_references",
    "design_anchors",
    "judge_cancel",
    "annotate_push_mturk",
    "annotate_pull_mturk",
    "annotate_push_label_studio",
    "annotate_pull_label_studio",
}
MODEL = "openai:gpt-4o-mini"
# The paper's tables, whose columns are languages and short names of criteria.
MADE_OF_NAMES = ("table_3", "table_6")
# Columns of tables that files have and no page shows, so that nothing describes them: ends of a
# figure when one person is left out, and what a figure was computed from.
UNDESCRIBED = {
    "audit": {
        *("alpha_least", "alpha_most", "fleiss_kappa_least", "fleiss_kappa_most"),
        *("kappa_least", "kappa_most", "weighted_f1_least", "weighted_f1_most"),
        *("alt_test_advantage", "alt_test_epsilon"),
        *("lead_p", "table_6_items", "bad", "good"),
    },
    "billboard": {"pairs", "pairwise_accuracy_without_ties", "criteria"},
    "monitor": {
        *("agreement_difference_p", "agreement_difference_p_adjusted", "colleagues_repeated"),
        *("comments", "distance", "label", "label_difference", "label_difference_p"),
        *("label_difference_p_adjusted", "majority_agreement", "repeated_comment"),
        *("repeated_outputs", "severity_p", "severity_p_adjusted"),
    },
}


def calls(folder: Path) -> dict[str, Callable[[int], Any]]:
    """A call of each public function; number: which call it is."""
    demo, out = folder / "demo", folder / "out"
    small = metal.read(
        ratings(), columns=COLUMNS, kinds={"gpt*": "llm"}, directions={"hallucinations": "lower"}
    )
    metal.judge(demo, "majority", out=folder / "judges")
    metal.judge(
        demo, lambda source, output, criterion: 1, criteria="task_quality", out=folder / "function"
    )
    metal.score(demo, "compression,copy-rate,novelty", into=True)
    metal.audit(demo, resamples=100).save(folder / "audit")
    always: dict[str, Any] = {"criteria": "task_quality", "languages": "en", "name": "always"}
    for name, repeat in (("before", 2), ("now", 1)):
        metal.judge(
            demo, lambda source, output, criterion: 2, repeat=repeat, out=folder / name, **always
        )
    metal.gate_init(demo, folder / "before", out=folder / "gate.toml", least=5)
    rows = "".join(
        f'{{"source": "{source}", "text": "A text."}}\n' for source in metal.read(demo).sources
    )
    (folder / "texts.jsonl").write_text(rows)
    (folder / "scores.csv").write_text("output,score\nen-1/good,1\n")
    board: dict[str, Any] = {
        "reference": "group=constructed",
        "resamples": 100,
        "permutations": 100,
    }
    ensemble = "criterion.task_quality+language.en"
    judged: dict[str, Any] = {"criteria": "task_quality", "languages": "en"}
    return {
        "adjudicate_plan": lambda n: metal.adjudicate_plan(demo, folder / "judges", items=4,
            out=out / f"a{n}"),
        "adjudicate_report": lambda n: metal.adjudicate_report(
            metal.adjudicate_plan(demo, folder / "judges", items=4, out=out / f"d{n}").folder),
        "annotate_export": lambda n: metal.annotate_export(demo, to="csv", out=out / f"sheets{n}"),
        "annotate_import": lambda n: metal.annotate_import(demo,
            sorted((out / "sheets1").glob("*.csv"))[:1]),
        "annotate_pull_label_studio": lambda n: metal.annotate_pull_label_studio(demo),
        "annotate_pull_mturk": lambda n: metal.annotate_pull_mturk(demo),
        "annotate_push_label_studio": lambda n: metal.annotate_push_label_studio(demo,
            out / "sheets1"),
        "annotate_push_mturk": lambda n: metal.annotate_push_mturk(demo, out / "sheets1",
            reward="0.1"),
        "annotate_status": lambda n: metal.annotate_status(demo),
        "correct": lambda n: metal.correct(demo, folder / "judges"),
        "bias_plan": lambda n: metal.bias_plan(demo, judge=MODEL),
        "criterion_new": lambda n: metal.criterion_new(f"more_{n}", folder / "more", scale="1-5",
            question="More?"),
        "bias_language": lambda n: metal.bias_language(demo, folder / "judges"),
        "probe_plan": lambda n: metal.probe_plan(demo, per_language=2, out=out / f"probes{n}"),
        "probe_run": lambda n: metal.probe_run(
            demo, "fake:random", languages="en", per_language=2, folder=out / f"probed-{n}",
            out=out / f"judged-{n}"
        ),
        "probe_report": lambda n: metal.probe_report(out / f"probed-{n}", out / f"judged-{n}"),
        "audit": lambda n: metal.audit(demo, folder / "judges", languages="en", resamples=100),
        "billboard": lambda n: metal.billboard(demo, folder / "judges", **board),
        "billboard_apply": lambda n: metal.billboard_apply(ensemble, demo, board=demo),
        "billboard_crowd": lambda n: metal.billboard_crowd(demo,
            **board | {"reference": "rater=A1,A2"}),
        "billboard_layout": lambda n: metal.billboard_layout(demo, folder / "judges",
            layout="wmt23", gold="task_quality", permutations=100),
        "billboard_history": lambda n: metal.billboard_history(demo),
        "billboard_references": lambda n: metal.billboard_references(demo, metric="chrf", draws=1),
        "check": lambda n: metal.check(demo),
        "compare": lambda n: metal.compare(demo, resamples=100),
        "demo": lambda n: metal.demo(),
        "describe": lambda n: metal.describe(demo),
        "diff": lambda n: metal.diff(folder / "now", folder / "before"),
        "gate": lambda n: metal.gate(folder / "gate.toml", folder / "now"),
        "gate_init": lambda n: metal.gate_init(demo, folder / "before", least=5,
            out=out / f"gate{n}.toml"),
        "gate_watch": lambda n: metal.gate_watch(folder / "gate.toml", folder / "now",
            state=out / "watch.jsonl"),
        "design": lambda n: metal.design(demo, rounds=100, raters=(1,), criteria="task_quality",
            languages="en"),
        "design_anchors": lambda n: metal.design_anchors(demo),
        "design_labels": lambda n: metal.design_labels(demo, folder / "judges",
            criteria="task_quality"),
        "export": lambda n: metal.export(demo, to="csv", out=out / f"{n}.csv"),
        "formats": lambda n: metal.formats(),
        "generate": lambda n: metal.generate(folder / "copy", MODEL, languages="en",
            out=out / "texts"),
        "judge": lambda n: metal.judge(demo, MODEL, prompt="simple", out=out / "judged", **judged),
        "judge_cancel": lambda n: metal.judge_cancel(out / "judged"),
        "jury": lambda n: metal.jury(demo, resamples=100),
        "judges_list": lambda n: metal.judges_list(),
        "judges_test": lambda n: metal.judges_test(MODEL),
        "leaderboard": lambda n: metal.leaderboard(demo, permutations=100),
        "metric_check": lambda n: metal.metric_check("copy-rate"),
        "metric_list": lambda n: metal.metric_list(),
        "ls": lambda n: metal.ls(folder),
        "monitor": lambda n: metal.monitor(small, resamples=100),
        "monitor_simulate": lambda n: metal.monitor_simulate(seeds=1, rounds=1, workers=10),
        "open_run": lambda n: metal.open_run(folder / "audit"),
        "passport": lambda n: metal.passport(metal.audit(demo, folder / "function", languages="en",
            resamples=100)),
        "prompt_list": lambda n: metal.prompt_list(),
        "prompt_show": lambda n: metal.prompt_show(criterion="task_quality"),
        "read": lambda n: metal.read(demo),
        "replies": lambda n: metal.replies(out / "judged"),
        "report": lambda n: metal.report(folder / "audit"),
        "sample": lambda n: metal.sample(folder / "passages", out / f"s{n}", per_language=1,
            languages="en"),
        "sample_labels": lambda n: metal.sample_labels(folder / "copy", labels=2),
        "schema": lambda n: metal.schema("rating"),
        "schema_validate": lambda n: metal.schema_validate(demo),
        "select": lambda n: metal.select(demo, folder / "judges", resamples=100),
        "score": lambda n: metal.score(demo, from_file=folder / "scores.csv", name=f"outside{n}",
            out=out / f"o{n}"),
        "submit_generator": lambda n: metal.submit_generator(demo, folder / "texts.jsonl",
            name=f"mine{n}"),
        "submit_metric": lambda n: metal.submit_metric(demo, folder / "scores.csv",
            name=f"metric{n}"),
        "submit_withdraw": lambda n: metal.submit_withdraw(demo, f"metric{n}"),
        "serve": lambda n: served(folder),
        "serve_backup": lambda n: metal.serve_backup(
            out / f"ledger{n}.db", folder=study_folder(folder)),
        "serve_restore": lambda n: metal.serve_restore(
            metal.serve_backup(out / f"again{n}.db", folder=study_folder(folder)),
            folder=study_folder(folder)),
        "serve_token": lambda n: metal.serve_token(study_folder(folder)),
        "study_ls": lambda n: metal.study_ls(study_folder(folder)),
        "study_new": lambda n: metal.study_new(
            study_folder(folder) / "demo", folder=study_folder(folder), languages="en", people=1),
        "view": lambda n: viewed(folder),
        "view_bundle": lambda n: metal.view_bundle(folder / "copy", out=out / f"site{n}"),
        "verify": lambda n: metal.verify(metal.audit(demo, resamples=100).save(out / f"v{n}")),
    }  # fmt: skip


def study_folder(folder: Path) -> Path:
    """A folder with a dataset and a ledger."""
    root = folder / "served"
    if not root.is_dir():
        shutil.copytree(folder / "demo", root / "demo")
        metal.study_new(root / "demo", folder=root, name="first", languages="en")
    return root


def served(folder: Path) -> metal.Served:
    """The server, which answered and ended."""
    server = metal.serve(study_folder(folder))
    with urlopen(f"{server.address}/healthz") as response:
        assert response.status == 200
    server.stop()
    return server


def viewed(folder: Path) -> metal.View:
    """The app, ended at once."""
    view = metal.view(folder)
    view.stop()
    return view


@pytest.fixture(scope="module")
def folder(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three copies of the demo, and passages to sample from."""
    made = tmp_path_factory.mktemp("twice")
    for name in ("demo", "copy", "more"):
        shutil.copytree(demo, made / name)
    (made / "passages" / "en").mkdir(parents=True)
    for number in range(3):
        text = f"Passage {number} says that the ferry to the island runs again. " * 3
        (made / "passages" / "en" / f"{number}.txt").write_text(text)
    return made


def test_every_public_function_is_called_twice() -> None:
    """The slow test below needs a call of each; this one names what is missing."""
    (*_, returned) = ast.parse(inspect.getsource(calls)).body[0].body  # type: ignore[attr-defined]
    called = {key.value for key in returned.value.keys}
    # what the plain ones await
    asynchronous = {name for name in functions() if name.endswith("_async")}
    assert set(functions()) - asynchronous - called == set(), "add a call to `calls`"
    assert called - set(functions()) == set(), "`calls` calls what is no public function"


def differing(kind: Kind, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """`KIND TABLE: COLUMN ...`: columns that are described and not made, or made and neither
    described nor shared by many kinds (`runs/meanings.toml`) nor in UNDESCRIBED.
    """
    run, found = load(kind.run), []
    described = {**run.described, **run.optional}
    for name, table in tables.items():
        if name in MADE_OF_NAMES or not len(table):
            continue
        names = names_of(described[name])
        made = {column for column in table.columns if not meaning(kind, column)} | names
        odd = (names - set(table.columns)) | (made - names - UNDESCRIBED.get(kind.name, set()))
        found += [f"{kind.name} {name}: {' '.join(sorted(odd))}"] if odd else []
    return found


@pytest.mark.slow
def test_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    made, of_kind = calls(folder), {kind.name: kind for kind in kinds().values()}
    odd: list[str] = []
    with LlmServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
        for number in (1, 2):
            for name, call in made.items():
                if name in REFUSED:
                    with pytest.raises(metal.errors.MetalError):
                        call(number)
                    continue
                result = call(number)
                assert result is not None, name
                if name in of_kind:
                    run = result if hasattr(result, "tables") else metal.open_run(result.folder)
                    odd += differing(of_kind[name], run.tables)
    assert odd == []
