"""`metal.judges_list`, `metal.judges_test`: which models can judge, and whether one answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metal.api.options import BaseUrl, documented

if TYPE_CHECKING:
    import pandas as pd

    from metal.data.records import Criterion, Rating
    from metal.raters.judges.collect import CallStatistics
    from metal.raters.judges.models import Model


@dataclass(frozen=True, repr=False)
class KnownJudges:
    """Which models can judge.

    providers: a row a provider: how its models are named, what it is, and whether it is ready or what it lacks.
    batch: providers with a batch service. judges: those of `files`, your judges.toml, by name.
    """

    providers: pd.DataFrame
    batch: tuple[str, ...]
    judges: Mapping[str, Model]
    files: tuple[Path, ...]

    def __repr__(self) -> str:
        return f"<{len(self.providers)} providers, {len(self.judges)} judges of judges.toml>"

    def _repr_html_(self) -> str:
        html: str = self.providers.to_html(index=False)
        return html


@dataclass(frozen=True)
class Tried:
    """What a judge said to one small question. statistics: of the call: latency, tokens, versions, cost."""

    model: Model
    criterion: Criterion
    rating: Rating
    statistics: CallStatistics


def judges_list() -> KnownJudges:
    """Providers with the keys they need, and the judges of judges.toml.

    Returns both. Raises DataError for a judges.toml that cannot be read.
    """
    import pandas as pd

    from metal.raters.judges.models import judges_files, named_models
    from metal.raters.judges.providers import batch_providers, provider_states

    files = judges_files()
    providers = pd.DataFrame(provider_states(), columns=["name", "summary", "state"])
    return KnownJudges(providers, tuple(batch_providers()), named_models(files), tuple(files))


@documented
def judges_test(judge: str, *, base_url: BaseUrl = "") -> Tried:
    """Ask the judge JUDGE one small question: latency, tokens, cost, and the verdict as METAL reads it.

    Returns the rating and what the call was like. Raises UsageError, and JudgeStopped where the judge cannot be asked.
    """
    import tempfile

    from metal.data.files import bundled
    from metal.data.formats import metal_criterion
    from metal.data.records import Output, Source
    from metal.raters.judges.call import JudgeStopped
    from metal.raters.judges.collect import Collected, index_journal
    from metal.raters.judges.engine import Rules, Session
    from metal.raters.judges.journal import Answered, Journal
    from metal.raters.judges.models import find_model, judges_files, named_models
    from metal.raters.judges.plan import JudgingPlan, rater_name
    from metal.raters.judges.prompts import Prompt, load_template
    from metal.raters.judges.rubric import rubrics_for
    from metal.raters.judges.runner import LocalRun
    from metal.raters.judges.secrets import Secrets
    from metal.running.asking import run_to_end

    model = find_model(judge, named_models(judges_files()), base_url=base_url)
    criterion, folders = metal_criterion("linguistic_acceptability"), [bundled("prompts")]
    prompt = Prompt(load_template("simple", folders), rubrics_for([criterion], folders))
    source = Source("try", "en", "The ferry to the island runs again from Monday, the harbour office said.")
    output = Output("try", "try", "nobody", "en", "From Monday the ferry to the island is running again.")
    plan = JudgingPlan((model,), (prompt,), {criterion.name: criterion}, (output,), {source.source: source})

    async def ask(folder: Path) -> LocalRun:
        journal = Journal(folder / "journal.jsonl")
        try:
            rules = Rules(reasks=0, attempts=1)
            run = LocalRun(Session(plan, journal, Answered(), rules, Secrets.of([model]), folder))
            await run.go()
        finally:
            await journal.close()
        return run

    with tempfile.TemporaryDirectory() as folder:
        run = run_to_end(ask(Path(folder)))
        index = index_journal(plan, Path(folder) / "journal.jsonl")
        ratings = list(Collected(plan, index).ratings())
    if run.progress[0].stopped:
        raise JudgeStopped(f"{judge}: {run.progress[0].stopped}")
    return Tried(model, criterion, ratings[0], index.statistics[rater_name(model, prompt)])
