"""Use a Python function as a judge: it is called with texts, journaled, limited and resumed like
any model.

The function is called as `judge(source, output, criterion)`: the two texts and the Criterion. If it
has a parameter named `language` or `references` (those of the source, a list of texts), it gets
that too. For a pair, `output` is a list of the two texts as they are shown, and the score is 0 for
the first, 1 for the second, 2 for a tie. It returns a score of the criterion's scale; a score and a
justification; the text of a reply, from which the verdict is read as from a model's; or None for no
answer.

On the command line, a function is named `module:function`, which is imported as by `python -m` (the
working folder first), or by an entry point of the group `metal.judges`. Judges of other packages
are accepted unchanged (`metal.raters.judges.adapters`). METAL runs the code that you name, so name
only code that you trust.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar

from metal.data.plugins import plugins
from metal.data.present import PRESENT
from metal.data.records import Criterion
from metal.errors import UsageError
from metal.raters.judges.adapters import adapted
from metal.raters.judges.call import CallFailed, ModelRequest, Reply
from metal.raters.judges.models import Model
from metal.raters.judges.prompts import Message, Prompt
from metal.raters.judges.providers import provider_names
from metal.raters.judges.rubric import Rubric
from metal.raters.judges.templates import Template

JudgeFunction = Callable[..., Any]
GROUP = "metal.judges"
PROVIDER = "function"
RAISED = "the judge raised"


@dataclass(frozen=True)
class FunctionModel(Model):
    """A function in place of a model. model: its name and a fingerprint of its code."""

    @cached_property
    def gives_probabilities(self) -> bool:
        """False, because functions never give probabilities."""
        return False

    @property
    def identity(self) -> dict[str, Any]:
        """The function's code, because its answers depend on nothing else."""
        return {"provider": PROVIDER, "model": self.model}


@dataclass(frozen=True)
class DirectPrompt(Prompt):
    """What a function or a score head gets in place of a prompt: the texts, without any wording."""

    answer_tokens: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """Empty, because the judge is named only after the function or the model."""
        return ""

    def letters(self, criterion: str) -> None:
        """None, because functions answer with scores."""

    def digest(self, criterion: str) -> str:
        """A short hash of the scale and of whether it is flipped."""
        rubric = self.rubrics[criterion]
        scale = rubric.criterion.scale.describe() + "\0flipped" * rubric.flipped
        return blake2b(scale.encode(), digest_size=4).hexdigest()

    def write(
        self,
        criterion: str,
        language: str,
        source: str,
        *outputs: str,
        references: Sequence[str] = (),
    ) -> Message:
        """The texts as JSON; two texts of a pair as a list."""
        judged = outputs if len(outputs) > 1 else outputs[0]
        texts = {"language": language, "source": source, "output": judged}
        return Message(
            criterion, json.dumps(texts | ({"references": references} if references else {}))
        )


def direct_prompt(
    criteria: Iterable[Criterion], references: bool = False, flip: Collection[str] = ()
) -> DirectPrompt:
    """The only prompt in a run of functions or score heads. references: whether they get the
    references of the source.

    flip: criteria whose scores run in reverse.
    """
    rubrics = {
        criterion.name: Rubric(criterion, flipped=criterion.name in flip) for criterion in criteria
    }
    return DirectPrompt(Template("", "", "references" if references else "", Path()), rubrics)


def is_function(name: str) -> bool:
    """Whether a judge's name names a function: an entry point, or `module:function` of an existing
    module.
    """
    if name in plugins(GROUP):
        return True
    module, _, attribute = name.partition(":")
    parts = [*module.split("."), *attribute.split(".")]
    if module in provider_names() or not all(part.isidentifier() for part in parts):
        return False
    if (here := str(PRESENT.get().resolve())) not in sys.path:
        sys.path.insert(0, here)
    return find_spec(module.partition(".")[0]) is not None


def named_function(name: str) -> JudgeFunction:
    """Import the judge with a name that `is_function` accepts. Raises UsageError if it cannot be
    imported.
    """
    value = plugins(GROUP)[name].value if name in plugins(GROUP) else name
    module, _, attribute = value.partition(":")
    try:
        judge = attrgetter(attribute)(import_module(module))
    except AttributeError as error:
        raise UsageError(
            f"judge {name}: {error}; name a function in it, or a model, e.g. langchain:{value}"
        ) from None
    except Exception as error:  # a module can raise anything
        raise UsageError(
            f"judge {name}: {module} cannot be imported: {type(error).__name__}: {error}"[:300]
        ) from error
    return adapted(judge)


def _program(name: str) -> bytes:
    """The contents of the file that defines a named judge, because its answers depend on them;
    empty if there is no file.
    """
    value = plugins(GROUP)[name].value if name in plugins(GROUP) else name
    file = getattr(sys.modules.get(value.partition(":")[0]), "__file__", None)
    return Path(file).read_bytes() if file and file.endswith(".py") else b""


def function_model(name: str, function: JudgeFunction, concurrency: int | None = None) -> Model:
    """Make a model from a function. A changed function is another judge, with its own answers.

    concurrency: calls at a time; by default one for a plain function, 16 for a coroutine function.
    Raises UsageError if the function cannot be called with a source, an output and a criterion.
    """
    try:
        inspect.signature(function).bind("", "", None, **dict.fromkeys(_extras(function)))
    except TypeError as error:
        raise UsageError(
            f"judge {name}: {error}; a judge is a function of the source's text, the output's text"
            " and the criterion"
        ) from None
    at_once = concurrency or (16 if inspect.iscoroutinefunction(function) else 1)
    code = blake2b(_program(name) or _code(function), digest_size=4).hexdigest()
    return FunctionModel(
        name, PROVIDER, f"{name}@{code}", parameters={}, structured="none", concurrency=at_once
    )


def _extras(function: JudgeFunction) -> list[str]:
    """The names of the extra parameters that the function takes, besides the texts and the
    criterion.
    """
    return [
        name
        for name in ("language", "references")
        if name in inspect.signature(function).parameters
    ]


def takes_references(function: JudgeFunction) -> bool:
    """Whether the function gets the references of the source; synthetic judges do not."""
    return "references" in _extras(function)


def _code(function: JudgeFunction) -> bytes:
    """The function's code as bytes, the same in every process."""
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)

    def written(code: CodeType) -> str:  # code within code has its address in its repr
        constants = [
            written(each) if isinstance(each, CodeType) else each for each in code.co_consts
        ]
        return repr((code.co_code, constants, code.co_names))

    return (written(code) if code else repr(type(function))).encode("utf-8", "surrogatepass")


class FunctionClient:
    """A function in place of a connection to a model. tokens: how many tokens a call takes, if
    known.
    """

    def __init__(
        self, function: JudgeFunction, criteria: Mapping[str, Criterion], tokens: int | None = None
    ) -> None:
        self._function, self._criteria, self._tokens = function, criteria, tokens
        self._extras = _extras(function)

    async def close(self) -> None:
        """Do nothing, because nothing is open."""

    async def ask(self, ask: ModelRequest) -> Reply:
        """Call the function once. Raises CallFailed if the function raises an error."""
        texts = json.loads(ask.message.user)
        extras = {name: texts.get(name, []) for name in self._extras}
        call = partial(
            self._function,
            texts["source"],
            texts["output"],
            self._criteria[ask.message.system],
            **extras,
        )
        try:
            answer = (
                call()
                if inspect.iscoroutinefunction(self._function)
                else await asyncio.to_thread(call)
            )
            if inspect.isawaitable(answer):
                await asyncio.sleep(0)  # it may never wait, and then nobody would see the progress
                answer = await answer
        except Exception as error:
            raise CallFailed(RAISED, f"{type(error).__name__}: {error}"[:300]) from error
        text = _as_reply(answer)
        return Reply(
            text, raw=json.dumps(text).encode(), tokens_in=self._tokens, tokens_out=self._tokens
        )


def _as_reply(answer: Any) -> str:
    """Turn the function's result into the text of a reply."""
    if answer is None:
        return ""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping):
        return json.dumps(dict(answer), default=str)
    score, justification = (
        answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, "")
    )
    return json.dumps(
        {"score": None if score is None else float(score), "justification": str(justification)}
    )
