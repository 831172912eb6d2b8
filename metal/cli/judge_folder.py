"""A judges' run folder: begun, resumed and finished. run.toml, journal.jsonl; then raters.jsonl, ratings.parquet."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import tomli_w

from metal.bundled import bundled
from metal.cli.manifest import manifest
from metal.dataset import Dataset, load_dataset, read_toml
from metal.dataset_lines import rater_record
from metal.errors import DataError, UnknownName, UsageError
from metal.folders import check_new, new_file
from metal.json_files import write_jsonl
from metal.judges.baselines import BASELINES, run_baselines
from metal.judges.collect import Collected, Tally, collect
from metal.judges.journal import FILE as JOURNAL
from metal.judges.journal import LOCK
from metal.judges.models import Model, find_model, judges_files, named_models, with_settings
from metal.judges.plan import Plan, choose_outputs
from metal.judges.prompts import Prompt, load_template
from metal.judges.rubric import rubrics_for
from metal.ratings import FACTS
from metal.ratings_files import write_ratings
from metal.records import Rating

LISTS = ("judges", "prompts", "criteria", "languages")


@dataclass(frozen=True)
class Request:
    """What a run was asked to do: everything that decides which calls it has. The same in run.toml."""

    judges: tuple[str, ...]
    prompts: tuple[str, ...] = ("detailed",)
    criteria: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    sample: int = 0
    seed: int = 0
    repeat: int = 1
    reask: int = 1
    prompt_language: str = ""
    prompt_folders: tuple[str, ...] = ()
    flip: tuple[str, ...] = ()
    base_url: str = ""

    def extends(self, older: Request) -> str:
        """The first setting in which this is neither equal to the older request nor asks for more; empty if none."""
        for name in LISTS:
            mine, theirs = getattr(self, name), getattr(older, name)
            if name in ("criteria", "languages") and not mine:  # all
                continue
            if (name in ("criteria", "languages") and not theirs) or not set(theirs) <= set(mine):
                return name
        if self.sample and not (0 < older.sample <= self.sample):
            return "sample"
        if self.repeat < older.repeat:
            return "repeat"
        same = ("seed", "prompt_language", "prompt_folders", "flip", "base_url")
        return next((name for name in same if getattr(self, name) != getattr(older, name)), "")


@dataclass(frozen=True)
class Wired:
    """A request with its parts found: dataset, plan of calls, baselines to run."""

    request: Request
    folder: Path
    dataset: Dataset
    plan: Plan
    baselines: tuple[str, ...] = ()


def wire(request: Request, folder: Path, concurrency: int | None = None) -> Wired:
    """Find the dataset, models, prompts and rubrics of a request. Raises UsageError, UnknownName or DataError."""
    dataset = load_dataset(folder)
    if not dataset.outputs:
        raise UsageError(f"{folder} has no outputs to rate yet; `metal generate` makes some from its sources")
    named = named_models(judges_files())
    baselines = tuple(name for name in request.judges if name in BASELINES and name not in named)
    models = tuple(
        with_settings(find_model(name, named, base_url=request.base_url), concurrency=concurrency)
        for name in request.judges
        if name not in baselines
    )
    criteria = {}
    for name in request.criteria or dataset.criteria:
        if name not in dataset.criteria:
            raise UnknownName("criterion", name, dataset.criteria)
        criteria[name] = dataset.criteria[name]
    folders = prompt_folders(request.prompt_folders, folder)
    prompts = load_prompts(request, criteria.values(), folders) if models else ()
    outputs = choose_outputs(dataset.outputs, request.languages, request.sample, request.seed)
    plan = Plan(models, prompts, criteria, outputs, dataset.sources, request.repeat)
    return Wired(request, folder, dataset, plan, baselines)


def prompt_folders(given: Iterable[str], dataset: Path | None) -> list[Path]:
    """Where prompts are looked for: --prompts, the dataset's own, METAL's."""
    folders = [Path(name) for name in given]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"--prompts {folder}: no such folder (it holds judge/NAME.toml or criteria/NAME.toml)")
    return [*folders, *([dataset / "prompts"] if dataset else []), bundled("prompts")]


def load_prompts(request: Request, criteria: Iterable[Any], folders: list[Path]) -> tuple[Prompt, ...]:
    """The prompts of a request, with the rubrics they need."""
    wanted = list(criteria)
    prompts = []
    for name in dict.fromkeys(request.prompts):
        template = load_template(name, folders, request.prompt_language)
        rubrics = rubrics_for(
            wanted, folders, needed=template.needed, language=request.prompt_language, flip=request.flip
        )
        unlevelled = [one for one in rubrics if not rubrics[one].criterion.scale.levels]
        if template.letters and unlevelled:
            raise UsageError(f"prompt {name} asks for letters, but {unlevelled[0]} has no levels; give another")
        prompt = Prompt(template, rubrics, request.prompt_language)
        for criterion in rubrics:  # a fault in a template shows before anything is sent
            prompt.digest(criterion)
        prompts.append(prompt)
    return tuple(prompts)


# ---------------------------------------------------------------- run.toml


PARTS = ("run.toml", JOURNAL, "raters.jsonl", "ratings.parquet")


def check_place(out: Path, *, force: bool) -> None:
    """Make the run folder where it is missing. Raises UsageError when something else is there."""
    if (out / "dataset.toml").is_file():
        raise UsageError(f"{out} is a dataset; it is not replaced. Give another --out")
    if (out / "run.toml").is_file() and not force:
        read_request(out)  # a run of this kind
    elif not out.is_dir() or any(path.name != LOCK and path not in set(_left_over(out)) for path in out.iterdir()):
        check_new(out, force=force, marks=("run.toml",))
    out.mkdir(parents=True, exist_ok=True)


def _left_over(out: Path) -> Iterator[Path]:
    """Files that a killed process had not finished (see metal.folders.new_file)."""
    for name in PARTS:
        yield from out.glob(f".{name}.*.part")


def check_request(out: Path, wired: Wired) -> None:
    """Raises UsageError when the run that is there is no older part of this one."""
    if (out / "run.toml").is_file():
        older, settings = read_request(out)
        _check_same(out, wired, older, settings)


def begin(out: Path, wired: Wired, *, force: bool) -> None:
    """Write run.toml, with force in the place of another run; the lock is held."""
    for path in list(_left_over(out)):
        path.unlink()
    if force:
        for name in PARTS:
            (out / name).unlink(missing_ok=True)
    write_manifest(out, wired, {})


def discard(out: Path) -> None:
    """Take away a folder that nothing was written to."""
    (out / LOCK).unlink(missing_ok=True)
    out.rmdir()


def _check_same(out: Path, wired: Wired, older: Request, settings: Mapping[str, Any]) -> None:
    different = wired.request.extends(older)
    if different:
        had = getattr(older, different) or "all"
        shown = ", ".join(had) if isinstance(had, tuple) else had
        option = {"judges": "judge", "prompts": "prompt", "prompt_folders": "prompts"}.get(different, different)
        raise UsageError(
            f"{out} was begun with --{option.replace('_', '-')} {shown}; ask for the same or for more of it, or "
            f"give another --out (and --reuse {out}, so that nothing is paid twice)"
        )
    first = settings.get("dataset", "")
    if first != str(wired.folder) and Path(first).resolve() != wired.folder.resolve():
        raise UsageError(f"{out} is a run over {first}; give another --out")
    _check_unchanged(out, settings.get("identities", {}), identities(wired.plan), "judges.toml or the environment")
    _check_unchanged(out, settings.get("prompt_hashes", {}), prompt_hashes(wired.plan), "the prompts' files")


def _check_unchanged(out: Path, before: Mapping[str, str], now: Mapping[str, str], where: str) -> None:
    for name, digest in before.items():
        if name in now and now[name] != digest:
            raise UsageError(
                f"{out}: {name} is not what it was when the run began ({where} changed), and every call would be made "
                f"anew; change it back, or give another --out"
            )


def identities(plan: Plan) -> dict[str, str]:
    """A hash of all that may change a model's answers, by name."""
    return {model.name: _hash(json.dumps(model.identity, sort_keys=True, default=str)) for model in plan.models}


def prompt_hashes(plan: Plan) -> dict[str, str]:
    """The content hash of each prompt on each criterion."""
    return {f"{prompt.name} {name}": prompt.digest(name) for prompt in plan.prompts for name in plan.criteria}


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def write_manifest(out: Path, wired: Wired, state: Mapping[str, Any]) -> None:
    """run.toml: all that is needed to repeat or resume the run, and how far it is."""
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(wired.request).items()}
    settings |= {"dataset": str(wired.folder), "identities": identities(wired.plan)}
    settings |= {"prompt_hashes": prompt_hashes(wired.plan)}
    settings |= {"models": {model.name: model.described() for model in wired.plan.models}}
    settings |= {"texts": texts_digest(wired.dataset), "state": dict(state)} if state else {}
    about = manifest("judge", wired.dataset, [wired.folder], settings, wired.request.judges)
    with new_file(out / "run.toml") as partial:
        partial.write_text(tomli_w.dumps(about.to_dict()), encoding="utf-8")


def texts_digest(dataset: Dataset) -> str:
    """A hash of the outputs' and sources' texts: what judges have seen."""
    digest = blake2b(digest_size=8)
    for output in dataset.outputs.values():
        digest.update(f"{output.output}\0{output.text}\0{dataset.sources[output.source].text}\0".encode())
    return digest.hexdigest()


def doubts(run: Path, dataset: Dataset) -> Iterator[str]:
    """What an audit should say of a run of LLM judges: that it is not whole, or that the texts have changed since."""
    if not (run / "run.toml").is_file():
        return
    settings = read_toml(run / "run.toml").get("settings", {})
    state = settings.get("state", {})
    if "identities" in settings and not state.get("complete"):
        missing = f"{state['not_asked']:,} calls were not made" if "not_asked" in state else "it was not finished"
        yield f"{run} is not complete: {missing}; go on with `metal judge --resume {run}`"
    if settings.get("texts", "") not in ("", texts_digest(dataset)):
        yield f"{run}: texts of the dataset have changed since its judges saw them"


def read_request(out: Path) -> tuple[Request, Mapping[str, Any]]:
    """What a run folder was asked to do. Raises UsageError when it is none of `metal judge`'s."""
    if not (out / "run.toml").is_file():
        raise UsageError(f"{out}: no run to go on with (run.toml is missing); begin one with --out {out}")
    about = read_toml(out / "run.toml")
    settings = about.get("settings", {})
    if about.get("command") != "judge" or "identities" not in settings:
        raise UsageError(f"{out}: not a run of LLM judges; give another --out, or --force to replace it")
    try:
        known = {key: settings[key] for key in Request.__dataclass_fields__}
    except KeyError as missing:
        raise DataError(out / "run.toml", f"no {missing}", "Begin a new run with --out") from None
    for key, value in known.items():
        kind = int if key in ("sample", "seed", "repeat", "reask") else str
        whole = value if isinstance(value, list) else [value]
        if not all(type(one) is kind for one in whole) or not isinstance(settings.get("dataset"), str):
            raise DataError(out / "run.toml", f"{key} is {value!r}", "Restore the file, or begin a new run with --out")
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in known.items()}
    return Request(**plain), settings


# ---------------------------------------------------------------- the end


@dataclass(frozen=True)
class Finished:
    """A run's ratings, written: how many, each judge's tally by name, and (baseline, reason) of missing answers."""

    rows: int
    tallies: Mapping[str, Tally]
    unanswered: Mapping[tuple[str, str], int]


def finish(out: Path, wired: Wired) -> Finished:
    """Write raters.jsonl and ratings.parquet from the journal, and how far the run is into run.toml."""
    found: Collected = collect(wired.plan, out / JOURNAL)
    people, facts = run_baselines(wired.dataset, wired.baselines, seed=wired.request.seed)
    with new_file(out / "raters.jsonl") as partial:
        write_jsonl(partial, map(rater_record, chain(found.raters(), people)))
    chosen = {output.output for output in wired.plan.outputs}
    baselines = (
        Rating(*row)
        for row in zip(*(facts[name] for name in FACTS), strict=True)
        if row[0] in chosen and row[1] in wired.plan.criteria
    )
    rows = write_ratings(chain(found.ratings(), baselines), out / "ratings.parquet")
    not_asked = sum(tally.not_asked for tally in found.tallies.values())
    write_manifest(out, wired, {"ratings": rows, "not_asked": not_asked, "complete": not not_asked})
    silent = facts[facts["score"].isna()]
    return Finished(rows, found.tallies, Counter(zip(silent["rater"], silent["reason"], strict=True)))


def models_of(wired: Wired) -> Iterator[tuple[str, Model, Prompt]]:
    """(judge's name, model, prompt) of each judge, in order."""
    from metal.judges.plan import rater_name

    for model in wired.plan.models:
        for prompt in wired.plan.prompts:
            yield rater_name(model, prompt), model, prompt
