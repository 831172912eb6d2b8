"""What a reader can do next from a cell of an audit. Each step is a command, made from the reader's
choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath

from metal.api.reading import ReadingOptions
from metal.app.cells import OpenedCell, unused
from metal.app.library import Library
from metal.auditing.settings import AuditSettings
from metal.data.plugins import plugins
from metal.data.run_toml import named_by, read_run_toml
from metal.data.text import in_list, name, slug
from metal.errors import MetalError, UsageError, check_known
from metal.questions.audit.confirmed import DECISIONS
from metal.show.commands import named, typed_options

HANDED_OUT = 30  # outputs for one more person
MOST_PEOPLE = 9
LONGEST = 200  # characters of a text field
FILES = {
    "html": "HTML file, opens in any browser",
    "xlsx": "Excel sheet",
    "csv": "CSV sheet",
}
CROWD = {"crowd-csv": "CSV of tasks for a crowd platform, such as Prolific"}
PROMPT_LANGUAGES = {"": "English", "text": "the language of each output"}
RUNS_TO_ADD = ("judge", "score", "jury", "adjudicate-report", "adjudicate report")


@dataclass(frozen=True)
class FormField:
    """What a reader chooses: a number, one of several choices, or a text.

    choices: values with how they are shown; empty for a number or text. least, most: limits of a
    number; None for a text. proposed: texts for a text field.
    """

    name: str
    label: str
    default: str
    choices: Sequence[tuple[str, str]] = ()
    least: int | None = None
    most: int | None = None
    proposed: Sequence[str] = ()

    def value(self, asked: Mapping[str, str]) -> str:
        """The value that was chosen. Raises UsageError for one that is not possible."""
        text = asked.get(self.name, self.default).strip() or self.default
        if self.choices:
            check_known(self.label.lower(), [text], [value for value, _ in self.choices])
        elif self.least is not None:
            most = self.most or self.least
            number = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else -1
            if not self.least <= number <= most:
                raise UsageError(f"{self.label}: use a number from {self.least} to {most}")
        elif len(text) > LONGEST or not text.isprintable():
            raise UsageError(f"{self.label}: use at most {LONGEST} letters, digits and signs")
        return text


Chosen = Mapping[str, str]  # values of fields by name


@dataclass(frozen=True)
class Way:
    """A next step from a cell of an audit.

    key: its part of an address. gives: the step's result, in a sentence. does: the text of the
    button
    that starts it. caution: what to know before it starts. closed: why the step is not possible for
    a cell; empty if it is. arguments: those of `metal`. trial: an option with which the command
    only says what it would do, and the text of its button. listed: whether the cell's page lists
    it.
    """

    key: str
    title: str
    gives: str
    does: str
    fields: Callable[[OpenedCell, Library], Sequence[FormField]]
    arguments: Callable[[OpenedCell, Chosen], list[str]]
    closed: Callable[[OpenedCell], str]
    caution: str = ""
    trial: tuple[str, str] = ("", "")
    listed: bool = True

    def why_closed(self, cell: OpenedCell) -> str:
        """Why this step is not possible for this cell, for example because its data are missing;
        empty if it is possible.
        """
        try:
            cell.paths  # noqa: B018  raises if they are not there
        except MetalError as error:
            return str(error)
        return self.closed(cell)

    def values(self, cell: OpenedCell, library: Library, asked: Chosen) -> dict[str, str]:
        """The values of all fields. Raises UsageError for one that is not possible."""
        return {field.name: field.value(asked) for field in self.fields(cell, library)}


def _cell_words(cell: OpenedCell) -> list[str]:
    return [
        f"--judges={in_list([cell.judge])}",
        f"--criteria={in_list([cell.criterion])}",
        f"--languages={cell.language}",
    ]


def _same_data(
    cell: OpenedCell, *, people: bool = True, runs: Sequence[str] | None = None
) -> list[str]:
    """The arguments that name the audit's data, as it read them.

    people: also say who counts as people. runs: the runs added to the data, by default the audit's.
    """
    reading = cell.run.data.get("reading", {})
    options = {each: reading[each] for each in reading if each in ReadingOptions.__annotations__}
    pairs = iter(typed_options(options))
    typed = [f"{option}={value}" for option, value in zip(pairs, pairs, strict=True)]
    if people and (reference := cell.run.settings.get("reference")):
        typed.append(f"--reference={reference}")
    data, *more = cell.paths
    return [*typed, "--", data, *(more if runs is None else runs)]


def _out(cell: OpenedCell, ending: str) -> str:
    """The option that names a new folder for a run about the cell."""
    parts = (cell.data_name, cell.language, cell.criterion, ending)
    return f"--out={unused(cell.root, '-'.join(map(slug, parts)), cell.jobs)}"


def _differ_too_little(cell: OpenedCell) -> str:
    if len(cell.differing):
        return ""
    return "Judge and people differ on no output here; there is nothing to hand out."


def dataset_of(cell: OpenedCell) -> str:
    """The dataset folder of the audit's data, as a command names it; empty if the audit read a
    table that was not made a dataset yet.
    """
    if not cell.of_table:
        return cell.paths[0]
    folder = _kept_as(cell)
    return folder if (cell.root / folder / "dataset.toml").is_file() else ""


def _kept_as(cell: OpenedCell) -> str:
    return f"datasets/{slug(PurePath(cell.paths[0]).name.partition('.')[0])}"


def _hand_out_fields(cell: OpenedCell, library: Library) -> list[FormField]:
    differing = len(cell.differing)
    return [
        FormField("items", "Outputs", str(min(HANDED_OUT, differing)), least=1, most=differing),
        FormField("raters", "People who rate each", "1", least=1, most=MOST_PEOPLE),
        FormField("to", "As", "html", [*FILES.items(), *CROWD.items()]),
    ]


def _hand_out(cell: OpenedCell, chosen: Chosen) -> list[str]:
    return [
        *("annotate", "export", f"--to={chosen['to']}", f"--only={cell.folder}"),
        *_cell_words(cell),
        *(f"--items={chosen['items']}", f"--raters={chosen['raters']}"),
        *(_out(cell, chosen["to"]), "--", dataset_of(cell)),
    ]


def _adjudicate_fields(cell: OpenedCell, library: Library) -> list[FormField]:
    return [
        FormField("items", "Outputs to decide", str(DECISIONS), least=4, most=100_000),
        FormField("adjudicators", "Who decides", "expert"),
        FormField("to", "As", "html", [*FILES.items()]),
    ]


def _adjudicate(cell: OpenedCell, chosen: Chosen) -> list[str]:
    return [
        *("adjudicate", "plan"),
        *_cell_words(cell),
        *(f"--items={chosen['items']}", f"--adjudicators={chosen['adjudicators']}"),
        *(f"--to={chosen['to']}", _out(cell, "adjudicate")),
        *_same_data(cell),
    ]


def _not_to_adjudicate(cell: OpenedCell) -> str:
    if not cell.on_levels:
        return "Scores on a line are never right or wrong; only answers on levels can be decided."
    return _differ_too_little(cell)


def model_of(cell: OpenedCell) -> str:
    """The judge's model; empty for a judge that cannot be asked."""
    rater = cell.run.raters[cell.judge]
    return str(rater.about.get("model") or "") if rater.kind == "llm" else ""


def _not_to_ask(cell: OpenedCell) -> str:
    model = model_of(cell)
    if not model:
        return "The audit does not name a model of this judge, so METAL cannot ask it."
    provider, colon, _ = model.partition(":")
    if colon and provider not in plugins("metal.providers"):
        return (
            f"{name(provider)} is not a provider of models; functions can only be asked in a"
            " terminal."
        )
    return ""


def _ask_fields(cell: OpenedCell, library: Library) -> list[FormField]:
    from metal.api.judges import prompt_list

    settings = cell.run.raters[cell.judge].about
    prompts = list(prompt_list().columns[1:])
    languages = {**PROMPT_LANGUAGES, cell.language: cell.language}
    return [
        FormField("prompt", "Prompt", str(settings.get("prompt") or "detailed"), proposed=prompts),
        FormField("prompt_language", "Language of the prompt", "", [*languages.items()]),
    ]


def _ask(cell: OpenedCell, chosen: Chosen) -> list[str]:
    model, address = model_of(cell), cell.run.raters[cell.judge].about.get("base_url")
    # a name of judges.toml has its address there
    server = [f"--base-url={address}"] if address and ":" in model else []
    written_in = [f"--prompt-language={chosen['prompt_language']}"]
    return [
        *("judge", f"--judge={in_list([model])}", *server, f"--prompt={chosen['prompt']}"),
        *(written_in if chosen["prompt_language"] else []),
        *(f"--criteria={in_list([cell.criterion])}", f"--languages={cell.language}"),
        _out(cell, f"judged-{chosen['prompt']}"),
        *_same_data(cell, people=False, runs=()),
    ]


def _plan_fields(cell: OpenedCell, library: Library) -> list[FormField]:
    odds = [("0.5", "50%"), ("0.8", "80%"), ("0.9", "90%"), ("0.95", "95%")]
    return [FormField("power", "Chance of a verdict", "0.8", odds)]


def _plan(cell: OpenedCell, chosen: Chosen) -> list[str]:
    return [
        *("design", *_cell_words(cell), f"--power={chosen['power']}", _out(cell, "design")),
        *_same_data(cell),
    ]


def _again_fields(cell: OpenedCell, library: Library) -> list[FormField]:
    kinds = {key: each.kind for key, each in library.folders().items()}
    runs = [key for key in kinds if kinds[key] in RUNS_TO_ADD and key not in cell.paths]
    further = [key for key in runs if _is_of_same_data(cell, library, key)]
    choices = [("", "the same runs of judges"), *((key, f"and {key}") for key in further)]
    return [FormField("more", "With", "", choices)]


def _is_of_same_data(cell: OpenedCell, library: Library, key: str) -> bool:
    """Whether a run is of the audit's data: of the same folder or file, or of equal data."""
    run = library.path(key)
    audited = (cell.root / cell.paths[0]).resolve()
    try:
        described = read_run_toml(run)["datasets"]
    except MetalError:  # a damaged run
        return False
    return any(
        named_by(run, str(data.get("path", ""))).resolve() == audited
        or data.get("digest") == cell.run.data["digest"]
        for data in described
    )


def _again(cell: OpenedCell, chosen: Chosen) -> list[str]:
    further = [chosen["more"]] if chosen["more"] else []
    out = f"--out={unused(cell.root, slug(cell.data_name) + '-audit', cell.jobs)}"
    data = _same_data(cell, people=False, runs=[*cell.paths[1:], *further])
    return ["audit", out, *_same_settings(cell), *data]


def _same_settings(cell: OpenedCell) -> list[str]:
    """The audit's settings as options, where they are not the usual ones."""
    options = []
    recorded = cell.run.settings
    for setting in fields(AuditSettings):
        value = recorded.get(setting.name, setting.default)
        if isinstance(value, list):
            value = in_list(map(str, value))
        if value is True:
            options.append(named(setting.name))
        elif value and value != setting.default:
            options.append(f"{named(setting.name)}={value}")
    return [*options, *(["--wilcoxon"] if recorded.get("small") == "wilcoxon" else [])]


def _keep(cell: OpenedCell, chosen: Chosen) -> list[str]:
    return ["import", f"--out={_kept_as(cell)}", *_same_data(cell, people=False, runs=())]


def _always(cell: OpenedCell) -> str:
    return ""


def _no_fields(cell: OpenedCell, library: Library) -> list[FormField]:
    return []


_ALL = (
    Way(
        "hand-out",
        "Hand outputs to one more person",
        "One more person rates outputs on which judge and people differ, without seeing what"
        " anybody answered. You get a file to send.",
        "Write the files",
        _hand_out_fields,
        _hand_out,
        _differ_too_little,
        "The new ratings are added to the people's, but only for outputs on which judge and "
        "people differ. Agreement that is computed with them favours the judge.",
    ),
    Way(
        "adjudicate",
        "Let somebody who knows decide",
        "Somebody who knows decides on a few of the outputs on which they differ. This can show"
        " whether the judge is right as often as a person.",
        "Write the files",
        _adjudicate_fields,
        _adjudicate,
        _not_to_adjudicate,
        "The decisions are kept apart from the people's ratings, and each also stands for "
        "outputs that were not drawn. Choose somebody who has not rated these outputs.",
    ),
    Way(
        "ask",
        "Ask the judge again with another prompt",
        "The same model rates the same outputs with another prompt, or with a prompt in another "
        "language. An audit of both shows which prompt agrees better with the people.",
        "Ask the judge",
        _ask_fields,
        _ask,
        _not_to_ask,
        "Asking may cost money. Estimate it first.",
        ("--dry-run", "Estimate calls and cost"),
    ),
    Way(
        "plan",
        "Plan more ratings",
        "How many more rated outputs would give a verdict here, and with how many people.",
        "Make the plan",
        _plan_fields,
        _plan,
        _always,
    ),
    Way(
        "audit",
        "Audit again",
        "The same audit with the ratings that have come in since, or with one more run.",
        "Audit",
        _again_fields,
        _again,
        _always,
    ),
    Way(
        "keep",
        "Make a dataset of the table",
        "People get their tasks from a dataset folder, but this audit read a table. METAL keeps "
        "the table as a dataset, without changing the table.",
        "Make the dataset",
        _no_fields,
        _keep,
        _always,
        listed=False,
    ),
)
WAYS = {way.key: way for way in _ALL}
# Commands that an audit's page proposes, and the ways that make and run them.
COMMANDS = {
    "adjudicate plan": "adjudicate",
    "design": "plan",
    "annotate export": "hand-out",
    "judge": "ask",
}
