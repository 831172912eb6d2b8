"""A provider of another package: found by name, listed, opened and asked like METAL's own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from metal.data import plugins
from metal.data.files import bundled
from metal.data.records import Output, Source
from metal.errors import UnknownName, UsageError
from metal.raters.judges import providers
from metal.raters.judges.collect import Collected, index_journal
from metal.raters.judges.engine import Rules, Session
from metal.raters.judges.journal import Answered, Journal
from metal.raters.judges.models import family_of_name, find_model
from metal.raters.judges.plan import JudgingPlan
from metal.raters.judges.prompts import Prompt, load_template
from metal.raters.judges.providers import batch_providers, open_batch_client, open_client, provider_names
from metal.raters.judges.rubric import rubrics_for
from metal.raters.judges.runner import LocalRun
from metal.raters.judges.secrets import Secrets
from tests.conftest import TASK_QUALITY
from tests.installed import offer

ECHO = """
from metal.raters.judges.call import Reply
from metal.raters.judges.providers import Provider

class Echo:
    def __init__(self, model):
        self.score = int(model.model)

    async def ask(self, ask):
        return Reply('{"score": %d, "justification": "%d letters"}' % (self.score, len(ask.message.user)))

    async def close(self):
        pass

PROVIDER = Provider("echo:SCORE", "says the score that it is named for", Echo, variables=("ECHO_KEY",))
NEEDY = Provider("needy:MODEL", "cannot be asked here", Echo, libraries=("nothing_of_this_name",))
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "far_echo.py").write_text(ECHO, encoding="utf-8")
    records = {"echo": "far_echo:PROVIDER", "needy": "far_echo:NEEDY", "no-record": "far_echo:Echo", "gone": "gone:ONE"}
    lines = "".join(f"{name} = {record}\n" for name, record in records.items())
    offer(tmp_path, "far-echo", "metal.providers", lines)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("far_echo", None)


def test_it_answers_a_run(site: Path, tmp_path: Path) -> None:
    journal_file, folders = tmp_path / "journal.jsonl", [bundled("prompts")]
    prompt = Prompt(load_template("simple", folders), rubrics_for([TASK_QUALITY], folders))
    outputs = [Output(f"o{number}", "s", "g", "en", f"Summary {number}.") for number in range(3)]
    source = Source("s", "en", "The passage.")
    plan = JudgingPlan(
        (find_model("echo:2", {}),), (prompt,), {TASK_QUALITY.name: TASK_QUALITY}, outputs, {"s": source}
    )

    async def run() -> None:
        journal = Journal(journal_file)
        await LocalRun(Session(plan, journal, Answered(), Rules(), Secrets(), tmp_path)).go()
        await journal.close()

    asyncio.run(run())
    ratings = list(Collected(plan, index_journal(plan, journal_file)).ratings())
    assert [rating.score for rating in ratings] == [2.0] * 3
    assert "letters" in ratings[0].comment


def test_it_is_listed_with_what_it_lacks(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def states() -> dict[str, str]:
        return {form: state for form, _, state in providers.provider_states()}

    assert states()["echo:SCORE"] == "set ECHO_KEY"
    monkeypatch.setenv("ECHO_KEY", "x")
    assert states()["echo:SCORE"] == "ready"
    assert states()["needy:MODEL"] == "install nothing_of_this_name"
    assert "gone:ONE" in states()["gone"]
    assert "is not a Provider" in states()["no-record"]


def test_what_it_cannot_do_is_told(site: Path) -> None:
    with pytest.raises(UsageError, match=r"echo has no batch service; .*openai.* Ask it without `batch=True`"):
        open_batch_client(find_model("echo:1", {}))
    with pytest.raises(UsageError, match=r"needy:x needs nothing_of_this_name, which is not installed"):
        open_client(find_model("needy:x", {}))
    with pytest.raises(UnknownName, match="did you mean 'echo'"):
        find_model("ecko:1", {})
    with pytest.raises(UsageError, match="cannot be loaded"):
        find_model("gone:1", {})


def test_metals_own_are_listed_without_their_libraries() -> None:
    code = (
        "import sys\nfrom metal.raters.judges.providers import provider_states\n"
        "print(len(provider_states()), {'openai', 'google.genai', 'langchain', 'guidance'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["8", "set()"]


def test_without_its_entry_point_a_provider_is_in_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    every = plugins._plugins("metal.providers", tuple(sys.path))

    def fewer(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
        return {name: point for name, point in every.items() if name != "openai"}

    monkeypatch.setattr(plugins, "_plugins", fewer)
    assert "openai" not in provider_names()
    assert "openai" not in batch_providers()
    assert family_of_name("o3", "openai") == "gpt"
    assert find_model("azure:gpt-4o", {}).price
    with pytest.raises(UnknownName, match="provider 'openai' is not known"):
        find_model("openai:gpt-4o", {})
