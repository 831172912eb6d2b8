"""Every public function is called twice in one process: what a first call imports or leaves is in no second's way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import metal
from metal.data.files import bundled
from tests.api.test_public import functions
from tests.llm_server import LlmServer

# No platform has a server here, no source a reference, no run a batch: what is missing is said, both times.
REFUSED = {
    "billboard_references",
    "judge_cancel",
    "annotate_push_mturk",
    "annotate_pull_mturk",
    "annotate_push_label_studio",
    "annotate_pull_label_studio",
}
MODEL = "openai:gpt-4o-mini"


def calls(folder: Path) -> dict[str, Callable[[int], Any]]:
    """A call of each public function; number: which call it is."""
    demo, out = folder / "demo", folder / "out"
    metal.judge(demo, "majority", out=folder / "judges")
    metal.score(demo, "compression,copy-rate,novelty", into=True)
    metal.audit(demo, resamples=100).save(folder / "audit")
    rows = "".join(f'{{"source": "{source}", "text": "A text."}}\n' for source in metal.read(demo).sources)
    (folder / "texts.jsonl").write_text(rows)
    (folder / "scores.csv").write_text("output,score\nen-1/good,1\n")
    board: dict[str, Any] = {"reference": "group=constructed", "resamples": 100, "permutations": 100}
    ensemble = "criterion.task_quality+language.en"
    judged: dict[str, Any] = {"criteria": "task_quality", "languages": "en"}
    return {
        "annotate_export": lambda n: metal.annotate_export(demo, to="csv", out=out / f"sheets{n}"),
        "annotate_import": lambda n: metal.annotate_import(demo, sorted((out / "sheets1").glob("*.csv"))[:1]),
        "annotate_pull_label_studio": lambda n: metal.annotate_pull_label_studio(demo),
        "annotate_pull_mturk": lambda n: metal.annotate_pull_mturk(demo),
        "annotate_push_label_studio": lambda n: metal.annotate_push_label_studio(demo, out / "sheets1"),
        "annotate_push_mturk": lambda n: metal.annotate_push_mturk(demo, out / "sheets1", reward="0.1"),
        "annotate_status": lambda n: metal.annotate_status(demo),
        "audit": lambda n: metal.audit(demo, folder / "judges", resamples=100),
        "billboard": lambda n: metal.billboard(demo, folder / "judges", **board),
        "billboard_apply": lambda n: metal.billboard_apply(ensemble, demo, board=demo),
        "billboard_crowd": lambda n: metal.billboard_crowd(demo, reference="rater=A1,A2", **{
            key: value for key, value in board.items() if key != "reference"
        }),
        "billboard_history": lambda n: metal.billboard_history(demo),
        "billboard_references": lambda n: metal.billboard_references(demo, metric="chrf", draws=1),
        "check": lambda n: metal.check(demo),
        "compare": lambda n: metal.compare(demo, resamples=100),
        "describe": lambda n: metal.describe(demo),
        "design": lambda n: metal.design(demo, rounds=100, criteria="task_quality", languages="en"),
        "export": lambda n: metal.export(demo, to="csv", out=out / f"{n}.csv"),
        "formats": lambda n: metal.formats(),
        "generate": lambda n: metal.generate(folder / "copy", MODEL, languages="en", out=out / "texts"),
        "judge": lambda n: metal.judge(demo, MODEL, prompt="simple", out=out / "judged", **judged),
        "judge_cancel": lambda n: metal.judge_cancel(out / "judged"),
        "judges_list": lambda n: metal.judges_list(),
        "judges_test": lambda n: metal.judges_test(MODEL),
        "leaderboard": lambda n: metal.leaderboard(demo, resamples=100, permutations=100),
        "metric_check": lambda n: metal.metric_check("copy-rate"),
        "metric_list": lambda n: metal.metric_list(),
        "monitor": lambda n: metal.monitor(demo, resamples=100),
        "monitor_simulate": lambda n: metal.monitor_simulate(seeds=1, rounds=1, workers=10),
        "open_run": lambda n: metal.open_run(folder / "audit"),
        "prompt_list": lambda n: metal.prompt_list(),
        "prompt_show": lambda n: metal.prompt_show(criterion="task_quality"),
        "read": lambda n: metal.read(demo),
        "report": lambda n: metal.report(folder / "audit"),
        "sample": lambda n: metal.sample(folder / "passages", out / f"s{n}", per_language=1, languages="en"),
        "score": lambda n: metal.score(demo, from_file=folder / "scores.csv", name=f"outside{n}", out=out / f"o{n}"),
        "submit_generator": lambda n: metal.submit_generator(demo, folder / "texts.jsonl", name=f"mine{n}"),
        "submit_metric": lambda n: metal.submit_metric(demo, folder / "scores.csv", name=f"metric{n}"),
        "submit_withdraw": lambda n: metal.submit_withdraw(demo, f"metric{n}"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two copies of the demo, and passages to sample from."""
    made = tmp_path_factory.mktemp("twice")
    for name in ("demo", "copy"):
        shutil.copytree(bundled("datasets/demo"), made / name)
    (made / "passages" / "en").mkdir(parents=True)
    for number in range(3):
        text = f"Passage {number} says that the ferry to the island runs again. " * 3
        (made / "passages" / "en" / f"{number}.txt").write_text(text)
    return made


def test_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    made = calls(folder)
    asynchronous = {name for name in functions() if name.endswith("_async")}  # what the plain ones await
    assert set(made) == set(functions()) - asynchronous
    with LlmServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
        for number in (1, 2):
            for name, call in made.items():
                if name in REFUSED:
                    with pytest.raises(metal.errors.MetalError):
                        call(number)
                else:
                    assert call(number) is not None, name
