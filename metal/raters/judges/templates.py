"""Templates of prompts: prompts/judge/NAME.toml, prompts/pairs/NAME.toml, or a frame with the words
of a task.

A task (prompts/tasks/NAME.toml) says what its texts are called, such as a question and an answer.
prompts/frames/ has the sentences around these words, for one text and for two. A frame has
variants: with references, with all criteria in one call, with the reason first, or without a
reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metal.data.files import read_toml
from metal.data.languages import language_name
from metal.data.text import listed
from metal.errors import DataError, UnknownName, UsageError, check_known
from metal.raters.judges.released import released_prompt
from metal.raters.judges.rubric import DETAILED, REVIEWED, SIMPLE

JUDGE, PAIRS = "judge", "pairs"  # the folders of prompts for one output and for two
FRAMES, TASKS = "frames", "tasks"  # of what is said around the words of a task, and of these words
_JUSTIFICATION = '"<two or three sentences in English>"'
_PAIR = {"first": "OUTPUT A", "second": "OUTPUT B"}
_REASONS = {
    "after": ("score", "justification"),
    "before": ("justification", "score"),
    "none": ("score",),
}
_SWITCHES = ("letters", "bare", "together")  # keys of a template that are true or false
_FENCED = {"source": "SOURCE", "output": "OUTPUT", "references": "REFERENCE"} | _PAIR
# The endings of a prompt's name: it shows references; it asks for all criteria in one call.
_REFERENCE, _TOGETHER = "-reference", "-together"
_ORDERS = {"": "after", "-reason-first": "before", "-no-reason": "none"}
_VARIANT = re.compile(f"(.+?)({_REFERENCE})?({_TOGETHER})?(-reason-first|-no-reason)?", re.S)


@dataclass(frozen=True)
class Template:
    """prompts/judge/NAME.toml, or prompts/pairs/NAME.toml: Jinja2 texts for the system and the user
    message.

    letters: whether it asks for a letter (A is the first level) instead of a score. reviewed: as in
    a rubric. pairs: whether it shows two outputs, one of which may be better. reason: whether the
    justification is written after the score, before it, or not at all ("after", "before", "none").
    references: whether the references of the source are shown. roles: for a frame
    (frames/judge.toml), the words of a task. description: which description of a criterion it
    shows: SIMPLE, DETAILED, or "" for the better one that exists. bare: whether texts have no
    marker lines and answers no forced schema, for models that were trained in this way. together:
    whether one call asks for all criteria, so that a reply has an object for each. languages: the
    names of languages in METAL's released prompts, whose text is kept to the last blank.
    """

    name: str
    system: str
    user: str
    path: Path
    letters: bool = False
    reviewed: str = ""
    pairs: bool = False
    reason: str = "after"
    roles: Mapping[str, str] = field(default_factory=dict)
    references: bool = False
    description: str = ""
    bare: bool = False
    languages: Mapping[str, str] = field(default_factory=dict)
    together: bool = False

    @property
    def shows_references(self) -> bool:
        """Whether the prompt shows the references of the source."""
        return self.references if self.roles else "references" in self.system + self.user

    @property
    def order(self) -> tuple[str, ...]:
        """The parts of an answer, in the order in which they are written."""
        return _REASONS[self.reason]

    @property
    def language(self) -> str:
        """The language of the file NAME.LANGUAGE.toml; empty for NAME.toml."""
        return self.path.stem.partition(".")[2]

    @property
    def slots(self) -> tuple[str, ...]:
        """The variables of the judged texts: output, or first and second."""
        return tuple(_PAIR) if self.pairs else ("output",)

    @property
    def needed(self) -> tuple[str, ...]:
        """The descriptions of a criterion that the prompt requires: simple, detailed."""
        if self.pairs:
            return ()
        return tuple(
            key
            for key in (SIMPLE, DETAILED)
            if key == self.description or f"criterion.{key}" in self.system + self.user
        )

    def fenced(self, slot: str) -> str:
        """The word on the marker lines around a text: SOURCE, or the task's name for the text."""
        if not self.roles or slot == "references":
            return _FENCED[slot]
        role = self.roles["source" if slot == "source" else "output"].upper()
        return role + (_FENCED[slot][-2:] if slot in _PAIR else "")

    def variables(self, rubric: Mapping[str, Any], released: Mapping[str, str]) -> dict[str, Any]:
        """The variables that a frame, or a released prompt, may use in addition to the variables of
        a rubric. released: as in a rubric.
        """
        if self.languages:
            return {"metric": released.get(self.description) or _metric(rubric, self.description)}
        if not self.roles:
            return {}
        letters = " or ".join(json.dumps(level["letter"]) for level in rubric["levels"])
        forms = {
            "score": f"<{letters if self.letters else rubric['values']}>",
            "justification": _JUSTIFICATION,
        }
        texts = rubric["criterion"]
        return {
            "roles": self.roles,
            "thorough": self.description != SIMPLE,
            "description": (
                texts[self.description] if self.description else texts[DETAILED] or texts[SIMPLE]
            ),
            "reply": "{{{}}}".format(", ".join(f'"{part}": {forms[part]}' for part in self.order)),
        }


def template_names(folders: Sequence[Path], kind: str = JUDGE) -> list[str]:
    """The names of the prompts in these folders, sorted. kind: JUDGE or PAIRS."""
    stems: set[str] = set()
    for folder in folders:
        for room in (kind, TASKS):
            stems |= {path.stem for path in (folder / room).glob("*.toml")}
    return sorted(stem for stem in stems if "." not in stem)


def load_template(name: str, folders: Sequence[Path], pairs: bool = False) -> Template:
    """Load the first template of that name in the folders. pairs: whether it is a template for
    pairs of outputs.

    If there is none, the template is made from a frame: for a task (tasks/NAME.toml), and for
    variants of a task, of `simple` or of `detailed`: with references (NAME-reference), with all
    criteria in one call (NAME-together), with the reason first (NAME-reason-first) or without a
    reason (NAME-no-reason). If a folder is a release of METAL, its `simple` and `detailed` come
    before the folder's own files. Raises UnknownName, or DataError for a file that is not a
    template.
    """
    kind = PAIRS if pairs else JUDGE
    for folder in folders:
        plain = name in (SIMPLE, DETAILED) and not pairs
        if plain and (released := released_prompt(folder)):
            system, user, languages, path = released
            return Template(
                name, system, user, path, description=name, bare=True, languages=languages
            )
        if (path := folder / kind / f"{name}.toml").is_file():
            return _read_template(name, path, pairs)
    if template := _of_frame(name, folders, kind):
        return template
    base = _variant(name)[0]
    if base != name and _first_file(folders, kind, base):
        raise UsageError(
            f"prompt {base} has no variants; write {kind}/{name}.toml in a folder of"
            " `prompt_folders`"
        )
    remedy = f"Or write your own as {kind}/NAME.toml in a folder of `prompt_folders`"
    raise UnknownName("prompt", name, template_names(folders, kind), remedy)


def translation(
    english: Template, folders: Sequence[Path], language: str, criteria: Iterable[str]
) -> Template:
    """The same prompt in another language, from NAME.LANGUAGE.toml, which must show and ask for the
    same.

    A prompt made from a frame has no translation until it is written as a file. criteria: the
    criteria that are asked. Raises UsageError if the prompt or a criterion has no translation next
    to the English file or in an earlier folder. Raises DataError if the translation asks for
    something else.
    """
    names = [
        (PAIRS if english.pairs else JUDGE, english.name),
        *(("criteria", name) for name in criteria),
    ]
    paths = [_translated(folders, kind, name, language) for kind, name in names]
    missing = [
        f"{kind}/{name}.{language}.toml"
        for (kind, name), path in zip(names, paths, strict=True)
        if not path
    ]
    if missing or not (path := paths[0]):
        raise UsageError(
            f"no prompt {english.name} in {language_name(language)}: write {listed(missing)} in a"
            " folder of `prompt_folders`; `metal.prompt_show` shows the English one"
        )
    template = _read_template(english.name, path, english.pairs)
    for setting in ("reason", "shows_references", *_SWITCHES):
        if (value := getattr(template, setting)) != (wanted := getattr(english, setting)):
            problem = (
                f"{setting} is {json.dumps(value)}, but {json.dumps(wanted)} in the English prompt"
            )
            raise DataError(path, problem, "A translation has to show and ask for the same")
    return template


def _translated(folders: Iterable[Path], kind: str, name: str, language: str) -> Path | None:
    """The translation of a file, next to the first English file or in an earlier folder. So METAL's
    own translation never replaces a file of the user.
    """
    for folder in folders:
        if (path := folder / kind / f"{name}.{language}.toml").is_file():
            return path
        if (folder / kind / f"{name}.toml").is_file():
            return None
    return None


def _metric(rubric: Mapping[str, Any], description: str) -> str:
    """The text of a criterion that a release lacks, in the form in which the release writes its own
    criteria.
    """
    texts = rubric["criterion"]
    description_text = " ".join(
        filter(None, (texts["question"], texts[description] or texts[SIMPLE]))
    )
    scoring = {level["value"]: level["label"] for level in rubric["levels"]} or rubric["values"]
    metric = {"name": texts["name"], "description": description_text, "scoring": scoring}
    return json.dumps([metric], indent=4, ensure_ascii=False)


def variant(name: str, *, references: bool = False, together: bool = False) -> str:
    """The name of the same prompt with references, or with all criteria in one call. Variants
    already in the name stay.
    """
    base, shown, joint, order = _variant(name)
    if references:
        shown = _REFERENCE
    if together:
        joint = _TOGETHER
    return base + shown + joint + order


def _variant(name: str) -> tuple[str, str, str, str]:
    """A prompt's name without its endings, and the three endings: for references, together, and the
    order of the answer.
    """
    base, references, together, order = _VARIANT.fullmatch(name.strip() or " ").groups("")  # type: ignore[union-attr]
    return base, references, together, order


def _of_frame(name: str, folders: Sequence[Path], kind: str) -> Template | None:
    """The template of a task, or a variant of a task or of METAL's own prompts; None if the name is
    none of these.
    """
    base, references, together, order = _variant(name)
    task, frame = _first_file(folders, TASKS, base), _first_file(folders, FRAMES, kind)
    own = base if base in (SIMPLE, DETAILED) else ""
    if not frame or not (task or own):
        return None
    roles = _words(read_toml(frame).get("roles", {}), frame)
    if task:
        task_roles = _words(read_toml(task), task)
        check_known(f"{task}: key", task_roles, roles)
        roles = roles | task_roles
    template = replace(
        _read_template(name, frame, kind == PAIRS), roles=roles, reason=_ORDERS[order]
    )
    return replace(template, references=bool(references), together=bool(together), description=own)


def _first_file(folders: Iterable[Path], kind: str, name: str) -> Path | None:
    paths = (folder / kind / f"{name}.toml" for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def _words(table: Any, path: Path) -> dict[str, str]:
    """Read the words of a task. Raises DataError for words that cannot be used in a sentence or on
    a marker line.
    """
    if not isinstance(table, dict):
        raise DataError(path, "roles is not a table", 'Write output = "answer" below [roles]')
    for key, role in table.items():
        if not isinstance(role, str) or not re.fullmatch(r"[^\W\d_](?:[\w ,'’-]*\w)?", role):
            raise DataError(path, f"{key} is {role!r}", 'Write a few words, e.g. output = "answer"')
    return table


def _read_template(name: str, path: Path, pairs: bool) -> Template:
    content = read_toml(path)
    check_known(
        f"{path}: key", content, ["system", "user", "reason", "roles", *_SWITCHES, REVIEWED]
    )
    system, user = content.get("system"), content.get("user")
    if not isinstance(system, str) or not isinstance(user, str):
        raise DataError(
            path, "needs the texts 'system' and 'user'", "See prompts/judge/simple.toml"
        )
    switches = {name: content.get(name, False) for name in _SWITCHES}
    for switch, value in switches.items():
        if not isinstance(value, bool):
            raise DataError(
                path,
                f"{switch} is neither true nor false",
                f"Write {switch} = true, or leave it out",
            )
    reason = content.get("reason", "after")
    if reason not in _REASONS:
        raise DataError(
            path, f"reason is {reason!r}", f"Write one of {', '.join(_REASONS)}, or leave it out"
        )
    reviewed = str(content.get(REVIEWED, ""))
    template = Template(
        name, system, user, path, reviewed=reviewed, pairs=pairs, reason=reason, **switches
    )
    check_slots(template, user + system)
    return template


def check_slots(template: Template, texts: Container[str]) -> None:
    """Raise DataError if the template lacks a slot for one of the judged texts."""
    for slot in template.slots:
        if slot not in texts:
            problem = f"lacks {{{{ {slot} }}}}"
            raise DataError(
                template.path, problem, "The message must contain the text that is judged"
            )
