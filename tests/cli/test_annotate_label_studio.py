"""`metal annotate push label-studio` and `pull`: pairs go out and come back through a server, some
at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metal.cli import metal as command
from metal.data.dataset import Card, assemble, load_dataset, save_dataset
from metal.data.ratings import facts_from
from metal.data.records import Output, Source
from metal.errors import MetalError
from tests.conftest import TASK_QUALITY
from tests.label_studio_server import LEGACY, LabelStudioServer
from tests.saying import tells


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabelStudioServer]:
    """A server, and `mine` in the working directory, exported as pairs for two people."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", LEGACY)
    sources = [Source(f"s{n}", "en", f"source {n}", "", (f"gold {n}",)) for n in range(6)]
    outputs = [Output(f"o{n}", f"s{n}", "g", "en", f"made {n}") for n in range(6)]
    save_dataset(
        assemble(Card("mine"), [TASK_QUALITY], sources, outputs, [], facts_from([])),
        tmp_path / "mine",
    )
    (tmp_path / "mine/annotation").mkdir()
    (tmp_path / "mine/annotation/key").write_text("0123456789abcdef")
    export = (
        "annotate export mine --to label-studio --raters 2 --template summarization --add-criteria"
    )
    assert run(*export.split()).exit_code == 0
    with LabelStudioServer() as started:
        yield started


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def push(server: LabelStudioServer, *more: str) -> Result:
    return run("annotate", "push", "label-studio", "mine", "--url", server.url, *more)


def pull(*more: str) -> Result:
    return run("annotate", "pull", "label-studio", "mine", *more)


def rate(server: LabelStudioServer, project: int, count: int, login: int = 1) -> None:
    """Somebody finds every output that the model made much better (5), and the others as good
    (3).
    """
    for task in server.in_project(project)[:count]:
        first = task["data"]["first_text"].startswith("made")
        assert task["data"]["second_text"].startswith("gold" if first else "made")
        server.annotate(task, {"overall": "1" if first else "5", "fluency": "3"}, login)


def scores(criterion: str) -> dict[tuple[str, str], float]:
    table = load_dataset(Path("mine")).ratings
    own = table[(table["criterion"] == criterion) & table["score"].notna()]
    return dict(zip(zip(own["output"], own["rater"], strict=True), own["score"], strict=True))


def test_there_and_back_some_at_a_time(server: LabelStudioServer) -> None:
    done = push(server)
    assert done.exit_code == 0, done.output
    assert (
        f"Posted 2 projects on {server.url}. State: mine/annotation/campaigns/mine-label-studio"
        in done.output
    )
    assert "Posted 0 projects" in push(server).output
    assert len(server.projects) == 2
    shown = CliRunner().invoke(command, ["annotate", "status", "mine"]).output
    assert re.search(rf"mine-label-studio +{re.escape(server.url)} +2 of 2 +12", shown)
    sides = {task["data"]["first_text"][:4] for task in server.tasks}
    assert sides == {"made", "gold"}
    done = pull()
    assert tells(done.output, "no answers", "yet")
    assert not scores("overall")

    rate(server, 1, 2)
    server.annotate(server.in_project(2)[0], {})
    done = pull()
    assert done.exit_code == 0, done.output
    assert "note: project 2 (en-2): 1 task skipped" in done.output
    assert set(scores("overall").values()) == {5.0}
    assert set(scores("fluency").values()) == {3.0}
    assert {rater for _, rater in scores("overall")} == {"en-1"}
    rate(server, 1, 6)
    rate(server, 2, 6)
    assert pull("--dry-run").exit_code == 0
    assert len(scores("overall")) == 2
    pull()
    assert list(scores("overall").values()) == [5.0] * 12
    assert {rater for _, rater in scores("overall")} == {"en-1", "en-2"}


def test_what_somebody_changed_needs_replace(server: LabelStudioServer) -> None:
    push(server)
    rate(server, 1, 1)
    assert pull("--group", "expert").exit_code == 0
    assert {rater.group for rater in load_dataset(Path("mine")).raters.values()} == {"expert"}
    server.annotate(server.in_project(1)[0], {"overall": "3", "fluency": "3"})
    refused = pull()
    assert isinstance(refused.exception, MetalError)
    assert "`replace=True`" in str(refused.exception)
    assert pull("--replace").exit_code == 0
    assert list(scores("overall").values()) == [3.0]


def test_a_shared_project_tells_people_by_their_logins(server: LabelStudioServer) -> None:
    assert push(server, "--shared", "--name", "together").exit_code == 0
    assert [each["maximum_annotations"] for each in server.projects.values()] == [2]
    rate(server, 1, 6, login=7)
    pull()
    assert {rater for _, rater in scores("overall")} == {"en:7"}
    rate(server, 1, 2, login=8)
    for task in server.in_project(1)[:2]:  # the small server keeps one answer a login
        assert [each["completed_by"] for each in task["annotations"]] == [7, 8]
    pull()
    assert {rater for _, rater in scores("overall")} == {"en:7", "en:8"}


def test_the_export_of_another_dataset(server: LabelStudioServer) -> None:
    path = Path("mine/annotation/tasks.jsonl")
    path.write_text('{"task": "t1", "output": "o1"}\n')
    refused = push(server)
    assert "another dataset?" in str(refused.exception)
    path.unlink()
    assert tells(str(push(server).exception), "begin with", "`metal.annotate_export(...)`")
    assert not server.calls
    assert not Path("mine/annotation/campaigns").exists()


def test_a_server_elsewhere_without_encryption_is_warned_of(server: LabelStudioServer) -> None:
    refused = run("annotate", "push", "label-studio", "mine", "--url", "http://host.invalid:1")
    assert "warning: http://host.invalid:1 is not encrypted" in refused.output
    assert "Is Label Studio running" in str(refused.exception)
