"""A question for a judge, as the judge wizard's form states it. It is checked, estimated, tried and
turned into a command by the functions that the commands use.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import metal
from metal.api.criteria import PROMPTS, check_name, in_a_line, write_criterion
from metal.app.managing import checked_name
from metal.app.naming import free_name, typed_path
from metal.app.outputs import level_of
from metal.data.text import slug
from metal.errors import UnknownName, UsageError
from metal.raters.judges.models import find_model, judges_files, named_models, url_of
from metal.raters.judges.providers import called, find_provider, provider_states
from metal.raters.judges.templates import PAIRS, template_names
from metal.running.asking import Callbacks
from metal.running.prompting import prompt_folders

if TYPE_CHECKING:
    from metal.data.dataset import Dataset
    from metal.raters.judges.limits import CostEstimate

NEW = "+"  # as the chosen criterion: a new one
TRIALS = 3
LONGEST = 10_000  # letters of a field


@dataclass(frozen=True)
class JudgeWish:
    """The fields of the form, as they were typed. criterion: empty for all, NEW for a new one.

    name, scale, asks: the new criterion. together, reference: "yes" or empty.
    """

    judge: str = ""
    base_url: str = ""
    criterion: str = ""
    name: str = ""
    scale: str = ""
    asks: str = ""
    question: str = ""
    prompt: str = "detailed"
    prompt_language: str = ""
    language: str = ""
    sample: str = ""
    together: str = ""
    reference: str = ""
    max_cost: str = ""
    out: str = ""

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> JudgeWish:
        """The wish in a form. Raises UsageError for a field that is too long."""
        typed = {}
        for each in fields(cls):
            value = form.get(each.name, each.default)
            typed[each.name] = value.strip() if isinstance(value, str) else ""
            if len(typed[each.name]) > LONGEST:
                raise UsageError(f"{each.name} has more than {LONGEST:,} letters")
        return cls(**typed)

    @property
    def seen(self) -> str:
        """A digest of everything that decides what is asked, and where it is sent."""
        asked = [value for name, value in vars(self).items() if name not in ("max_cost", "out")]
        return blake2b("\0".join(asked).encode("utf-8", "replace"), digest_size=8).hexdigest()

    @property
    def criterion_name(self) -> str:
        """The criterion that is asked; empty for all."""
        return self.name if self.criterion == NEW else self.criterion

    def options(self) -> dict[str, Any]:
        """The options of `metal.judge`, without data, folders and the limit of cost."""
        texts = {
            "judge": self.judge,
            "base_url": self.base_url,
            "criteria": self.criterion_name,
            "question": self.question,
            "prompt": self.prompt,
            "prompt_language": self.prompt_language,
            "languages": self.language,
        }
        options: dict[str, Any] = {name: text for name, text in texts.items() if text}
        if self.sample:
            options["sample"] = whole(self.sample, "the number of outputs")
        flags = {"together": self.together, "with_reference": self.reference}
        return options | {name: True for name, typed in flags.items() if typed}


def whole(typed: str, what: str) -> int:
    """A whole number above 0 that somebody typed. Raises UsageError."""
    if not (typed.isascii() and typed.isdigit() and int(typed[:10]) > 0):
        raise UsageError(f"{what} is {typed!r}; give a whole number above 0")
    return int(typed[:10])


def amount(typed: str) -> float | None:
    """Dollars that somebody typed; None if nothing was typed. Raises UsageError."""
    if not typed:
        return None
    try:
        dollars = float(typed.removeprefix("$"))
    except ValueError:
        dollars = -1.0
    if not 0 <= dollars < 1e9:
        raise UsageError(f"the most that the run may cost is {typed!r}; give dollars, such as 2.50")
    return dollars


# ---------------------------------------------------------------- what can be chosen


@dataclass(frozen=True)
class Choices:
    """What the form offers. criteria: names and titles. filed: the criteria that files in the
    folder `prompts` describe.
    """

    judges: Sequence[str]
    providers: Sequence[tuple[str, str, str]]
    criteria: Sequence[tuple[str, str]]
    filed: Sequence[str]
    prompts: Sequence[str]
    languages: Sequence[str]


def choices_for(dataset: Dataset, root: Path) -> Choices:
    """What can be chosen for a dataset. root: the app's folder."""
    pairs = bool(dataset.asked) and all(each.scale.compares for each in dataset.asked.values())
    criteria = [(name, each.title) for name, each in dataset.asked.items()]
    filed = sorted(path.stem for path in (root / PROMPTS / "criteria").glob("*.toml"))
    kinds = (PAIRS,) if pairs else ()
    own = [str(root / PROMPTS)] if (root / PROMPTS).is_dir() else []
    return Choices(
        sorted(named_models(judges_files())),
        provider_states(),
        criteria,
        [name for name in filed if "." not in name and name not in dataset.asked],
        template_names(prompt_folders(own, dataset.folder), *kinds),
        sorted({output.language for output in dataset.outputs.values()}),
    )


@dataclass(frozen=True)
class WhereAsked:
    """Who answers. address: where texts are sent; empty for the provider's usual address, or if
    nothing is sent. state: what still has to be done; `ready` if nothing has.
    """

    summary: str
    address: str
    state: str


def where_asked(wish: JudgeWish) -> WhereAsked | None:
    """Who answers for a judge that is a model; None for baselines and functions."""
    named = named_models(judges_files())
    if wish.judge not in named and not wish.judge.partition(":")[2]:
        return None
    try:
        model = find_model(wish.judge, named, base_url=wish.base_url)
    except UnknownName:
        return None
    provider = find_provider(called(model.provider, model.model)[0])
    return WhereAsked(provider.summary, url_of(model), provider.state)


# ---------------------------------------------------------------- what would be asked


@dataclass
class Looked:
    """What would be asked, found out before anything is sent. notes: METAL's remarks on it."""

    estimates: Sequence[CostEstimate]
    what: str
    notes: list[str]
    trial: Sequence[CostEstimate] = ()

    @property
    def first(self) -> Any:
        """The first question; None if nothing is to be asked."""
        return next((each.first for each in self.estimates if each.first), None)

    @property
    def calls(self) -> int:
        """The number of calls."""
        return sum(each.calls for each in self.estimates)


@dataclass
class JudgeAsking:
    """What is asked of a judge about one dataset.

    path: the dataset. root: the app's folder. private: a folder for files that nobody keeps.
    """

    wish: JudgeWish
    path: Path
    root: Path
    private: Path
    _prompts: list[Path] = field(init=False)

    def __post_init__(self) -> None:
        if not self.wish.judge:
            raise UsageError("name a judge, such as openai:gpt-4o-mini")
        self._prompts = [self.root / PROMPTS] if (self.root / PROMPTS).is_dir() else []

    def look(self) -> Looked:
        """Say what would be asked and what it would cost, as `metal judge --dry-run` does. Nothing
        is sent.
        """
        notes: list[str] = []
        options = self._options()
        silent = Callbacks(say=notes.append)
        outcome = metal.judge(self.path, dry_run=True, callbacks=silent, **options).outcome
        few = metal.judge(self.path, dry_run=True, callbacks=Callbacks(), **options | self._few())
        return Looked(outcome.estimates, outcome.what, notes, few.outcome.estimates)

    def try_out(self) -> list[TrialAnswer]:
        """Ask the judge about a few outputs, and keep nothing. Raises JudgeStopped."""
        out = self.private / f"trial-{secrets.token_hex(4)}"
        options = self._options() | self._few()
        judging = metal.judge(self.path, out=out, callbacks=Callbacks(), **options)
        return _answers_of(judging)

    def command(self) -> list[str]:
        """The arguments of `metal` that start the run. Raises UsageError for a limit or folder that
        cannot be used.
        """
        arguments = ["judge"]
        for name, value in self.wish.options().items():
            flag = f"--{name.replace('_', '-')}"
            arguments.append(flag if value is True else f"{flag}={value}")
        if self._prompts or self.wish.criterion == NEW:
            arguments.append(f"--prompt-folders={PROMPTS}")
        if (limit := amount(self.wish.max_cost)) is not None:
            arguments.append(f"--max-cost={limit:g}")
        data = typed_path(self.path, self.root)
        return [*arguments, f"--out={self.out}", "--yes", "--", data]

    def check(self) -> None:
        """Raise UsageError for a limit of cost that the prices do not allow."""
        if self.wish.max_cost:
            self.look()

    @property
    def out(self) -> str:
        """The folder of the run below the app's folder. Raises UsageError for one that lies outside
        or is there already.
        """
        typed = self.wish.out
        if not typed:
            return free_name(self.root, f"runs/{self.path.name}-{slug(self.wish.judge)}")
        wanted = Path(typed)
        hidden = any(part.startswith(".") for part in wanted.parts)
        if wanted.is_absolute() or hidden or not wanted.parts:
            raise UsageError(f"the folder of the run is {typed!r}; give a name such as runs/first")
        for part in wanted.parts:
            checked_name(part)
        if (self.root / wanted).exists():
            raise UsageError(f"{typed} exists; give the run another folder")
        return wanted.as_posix()

    def new_criterion(self) -> list[str]:
        """The arguments of `metal` that write the new criterion; empty without one."""
        wish = self.wish
        if wish.criterion != NEW:
            return []
        options = [f"--scale={wish.scale}", f"--question={wish.asks}"]
        return ["criterion", "new", *options, "--", wish.name]

    def write_criterion(self, prompts: Path) -> None:
        """Write the new criterion, if there is one, into a prompt folder."""
        wish = self.wish
        if wish.criterion == NEW:
            check_name(wish.name)
            title = wish.name.replace("_", " ").capitalize()
            write_criterion(in_a_line(wish.name, wish.scale, wish.asks, title, "higher"), prompts)

    def _options(self) -> dict[str, Any]:
        """The options of `metal.judge` in this process, with a new criterion in a private file."""
        folders = list(self._prompts)
        if self.wish.criterion == NEW:
            folders.insert(0, self.private / f"prompts-{secrets.token_hex(4)}")
            self.write_criterion(folders[0])
        options = self.wish.options()
        if (limit := amount(self.wish.max_cost)) is not None:
            options["max_cost"] = limit
        return options | ({"prompt_folders": folders} if folders else {})

    def _few(self) -> dict[str, Any]:
        sample = min(TRIALS, self.wish.options().get("sample", TRIALS))
        return {"sample": sample, "limit": TRIALS}


@dataclass(frozen=True)
class TrialAnswer:
    """One answer of a trial. says: the score with its label, or why there is none. reply: the text
    as it came.
    """

    output: str
    language: str
    text: str
    criterion: str
    says: str
    reply: str
    seconds: float | None
    tokens: tuple[int, int] | None


def _answers_of(judging: Any) -> list[TrialAnswer]:
    """The answers of a trial, read like those of any run."""
    from metal.running.replying import JournaledRun

    plan, ratings = judging.job.plan, judging.ratings
    scores = {(row.output, row.criterion): row for row in ratings.itertuples()}
    journaled = JournaledRun(judging.folder, judging.job.dataset)
    answers = []
    for output in plan.outputs:
        for call in journaled.calls(output.output):
            for criterion in call.criteria:
                row, last = scores.get((output.output, criterion)), call.answers[-1]
                counted = last.tokens_in is not None and last.tokens_out is not None
                answers.append(
                    TrialAnswer(
                        output.output,
                        output.language,
                        output.text,
                        plan.criteria[criterion].title,
                        _says(plan.criteria[criterion], row),
                        last.text or last.message,
                        last.seconds,
                        (last.tokens_in or 0, last.tokens_out or 0) if counted else None,
                    )
                )
    return answers


def _says(criterion: Any, row: Any) -> str:
    if row is None:
        return "no answer"
    if row.score == row.score:  # not NaN
        return level_of(criterion, float(row.score))
    return f"no score: {row.reason}"
