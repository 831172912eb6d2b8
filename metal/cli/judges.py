"""`metal judges`: which models can judge, and whether one answers."""

from __future__ import annotations

import click


@click.group(short_help="List judges, or try one.")
def judges() -> None:
    """Which models can judge, and whether one answers.

    A judge is named PROVIDER:MODEL, or by a name of your own in judges.toml, in the working folder or in
    ~/.config/metal. There a judge has a model and whatever else it needs:

    \b
      [judges.llama]
      model = "openai-compatible:meta-llama/Llama-3.3-70B-Instruct"
      base_url = "http://127.0.0.1:8000/v1"
      api_key_env = "VLLM_API_KEY"              # where its key is; never the key
      temperature = 0                           # "unset" to send none
      parameters = { seed = 7, max_tokens = 800 }
      structured = "json_schema"                # or json_object, none
      price = { input = 0.2, output = 0.6 }     # dollars a million tokens
      requests_per_minute = 500
      tokens_per_minute = 200000
      concurrency = 32                          # calls in flight
      timeout = 120                             # seconds a call
      headers = { "X-Title" = "metal", "X-Key" = "$MY_VARIABLE" }
      family = "llama"

    
      [judges.llama.batch]                      # for --batch; all as the provider has it unless said
      requests = 10000                          # of one batch at most; bytes likewise
      tokens = 90000                            # that may wait at the provider at once
      price = { input = 0.1, output = 0.3 }     # default: half the price
      poll = 60                                 # seconds between two looks
      bucket = "gs://mine/judging"              # for Vertex AI
    """


@judges.command("list")
def list_() -> None:
    """Providers with the keys they need, and the judges of judges.toml."""
    from metal.raters.judges.models import judges_files, named_models
    from metal.raters.judges.providers import batch_providers, provider_states
    from metal.show.terminal import console as show
    from metal.show.terminal.asking_text import dollars

    rows = [[form, state] for form, _, state in provider_states()]
    show.table("Providers", ["name", "state"], rows, note=f"With --batch: {', '.join(batch_providers())}.")
    files = judges_files()
    found = named_models(files)
    if not found:
        show.say("No judges.toml here or in ~/.config/metal (see metal judges --help).")
        return
    listed = [
        [
            name,
            f"{model.provider}:{model.model}",
            f"{dollars(model.price.input)}/{dollars(model.price.output)}" if model.price else "-",
            str(model.concurrency),
        ]
        for name, model in found.items()
    ]
    show.table(f"Judges of {', '.join(map(str, files))}", ["judge", "model", "$/M tokens", "in flight"], listed)


@judges.command("test")
@click.argument("name")
@click.option("--base-url", default="", metavar="URL", help="Where an openai-compatible: model is.")
def test(name: str, base_url: str) -> None:
    """Ask the judge NAME one small question: latency, tokens, cost, and the verdict as METAL reads it.

    \b
    Examples:
      metal judges test openai:gpt-4o-mini
      metal judges test openai-compatible:qwen3 --base-url http://127.0.0.1:8000/v1
    """
    import asyncio
    import tempfile
    from pathlib import Path

    from metal.data.bundled import bundled
    from metal.data.formats.criteria import metal_criterion
    from metal.data.records import Output, Source
    from metal.raters.judges.collect import Collected
    from metal.raters.judges.engine import Rules, Session
    from metal.raters.judges.journal import Journal
    from metal.raters.judges.journal_records import Answered
    from metal.raters.judges.models import find_model, judges_files, named_models
    from metal.raters.judges.plan import JudgingPlan, rater_name
    from metal.raters.judges.prompts import Prompt, load_template
    from metal.raters.judges.rubric import rubrics_for
    from metal.raters.judges.run_statistics import index_journal
    from metal.raters.judges.runner import LocalRun
    from metal.raters.judges.secrets import Secrets
    from metal.show.terminal import console as show
    from metal.show.terminal.asking_text import dollars

    model = find_model(name, named_models(judges_files()), base_url=base_url)
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
        run = asyncio.run(ask(Path(folder)))
        found = index_journal(plan, Path(folder) / "journal.jsonl")
        ratings = list(Collected(plan, found).ratings())
    if run.progress[0].stopped:
        from metal.raters.judges.call import JudgeStopped

        raise JudgeStopped(f"{name}: {run.progress[0].stopped}")
    tally, rating = found.statistics[rater_name(model, prompt)], ratings[0]
    answer = f"{rating.score:g}" if rating.score is not None else f"no score ({rating.reason})"
    show.say(f"{name}: {answer} on {criterion.name} ({criterion.scale.describe()})", bold=True)
    show.say(rating.comment)
    for version in tally.versions:
        show.say(f"answered by {version}")
    latency = tally.latency(50)
    if latency is not None:
        cost = tally.cost(model.price)
        shown = dollars(cost) if cost is None or cost >= 0.005 or not cost else f"${cost:.6f}"
        show.say(f"{latency:.2f} s, {tally.tokens_in:,} tokens in, {tally.tokens_out:,} out, cost {shown}")
    for parameter, said in tally.rejected.items():
        show.say(f"asked without {parameter}, which the model rejects ({said})")
