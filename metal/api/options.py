"""The meaning of public functions' parameters, declared once; the command line is made from these
declarations.

A public function annotates each parameter with `Annotated[type, Option("help")]`, or with one of
the annotations in this module, which several functions share.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ParamSpec,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
)

from metal.data.option import JUDGES, LANGUAGES, check_value, option_in, options_in
from metal.data.option import ExcludeNoisy as ExcludeNoisy
from metal.data.option import Option as Option
from metal.data.option import Permutations as Permutations
from metal.data.option import Resamples as Resamples
from metal.data.option import Seed as Seed
from metal.data.progress import Progress as Progress
from metal.data.progress import no_progress as no_progress
from metal.data.text import divided
from metal.errors import check_known

StrPath: TypeAlias = str | Path
# Names: a text with commas between them, or a sequence of texts.
Names: TypeAlias = str | Sequence[str]
Pairs: TypeAlias = Mapping[str, str]
# ByCriterion: a value of all criteria, or {criterion, with *: value}; texts as `by_criterion` reads
# them.
ByCriterion: TypeAlias = Any
# A judge of one's own: (source, output, criterion) -> a score, a score and a justification, or a
# reply's text.
JudgeFunction: TypeAlias = Callable[..., Any]


Function = TypeVar("Function", bound=Callable[..., Any])
Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")
# where a function keeps what `options_of` says of it
OPTIONS = "__options__"


def options_of(function: Callable[..., Any]) -> dict[str, tuple[Any, Option, Any]]:
    """The type, Option and default of each parameter, in the order of the signature; parameters
    without an Option are left out.
    """
    return getattr(function, OPTIONS, None) or _options_of(function, ())


def _options_of(
    function: Callable[..., Any], records: Sequence[type]
) -> dict[str, tuple[Any, Option, Any]]:
    """Like `options_of`.

    records: classes of settings; a parameter that is one of their fields needs no Option of its
    own.
    """
    namespace = inspect.getmodule(function).__dict__
    options = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, namespace)  # noqa: S307  the function's own annotation
            except NameError:  # a type that is imported for type checkers only
                if annotation.startswith("Annotated"):
                    raise
                continue
        kind, option = option_in(annotation)
        for record in records:
            of_field = options_in(record).get(name)
            if of_field and parameter.default != getattr(record, name):
                raise TypeError(
                    f"{function.__name__}: `{name}` is {parameter.default!r} here and"
                    f" {getattr(record, name)!r} in {record.__name__}"
                )
            option = option or (of_field and of_field[1])
        if option is not None:
            options[name] = kind, option, parameter.default
    return options


def shared_options_of(function: Callable[..., Any]) -> dict[str, tuple[Any, Option, Any]]:
    """Like `options_of`, for the shared `**reading: Unpack[ReadingOptions]`; empty if a function
    does not take these.
    """
    options: dict[str, tuple[Any, Option, Any]] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            continue
        declared = getattr(parameter.annotation, "declared", parameter.annotation)
        [shared] = get_args(eval(declared, inspect.getmodule(function).__dict__))  # noqa: S307  as above
        for name, annotation in get_type_hints(shared, include_extras=True).items():
            kind, option = get_args(annotation)
            default: Any = () if kind == Names else None
            if kind is str:
                default = ""
            options[name] = kind, option, default
    return options


def names(value: Names | None) -> tuple[str, ...]:
    """Names without repetitions; a string is split at its commas outside double quotes.

    >>> names('"Smith, J",gpt-4o'), names(["Smith, J", "gpt-4o"])
    (('Smith, J', 'gpt-4o'), ('Smith, J', 'gpt-4o'))
    """
    if value is None:
        return ()
    parts = divided(value) if isinstance(value, str) else list(map(str, value))
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def settings_of(kind: type[Value], parameters: Mapping[str, Any], **other: Any) -> Value:
    """Build a verb's settings (a dataclass) from its parameters, which are its `locals()` at the
    start.

    Texts that list names are split; `other` values are used as they are.
    """
    own = [field for field in fields(kind) if field.name in parameters]  # type: ignore[arg-type]
    types = get_type_hints(kind)
    lists = {field.name for field in own if types[field.name] == tuple[str, ...]}
    values = {
        field.name: names(parameters[field.name]) if field.name in lists else parameters[field.name]
        for field in own
    }
    return kind(**values | other)


def by_criterion(value: Any) -> dict[str, Any]:
    """{criterion: value}, with the key `*` for a value that holds for all criteria. Each text may
    be CRITERION=VALUE; several values of one criterion are joined by commas.

    >>> by_criterion("lower"), by_criterion(["tone=0=Bad,1=Good", "0=No,1=Yes"])
    ({'*': 'lower'}, {'tone': '0=Bad,1=Good', '*': '0=No,1=Yes'})
    """
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        return {} if value is None else {"*": value}
    values: dict[str, Any] = {}
    for text in filter(None, texts):
        name, equals, rest = text.partition("=")
        of_one = equals and not name.strip().lstrip("+-").replace(".", "").isdigit()
        criterion, value = (name.strip(), rest.strip()) if of_one else ("*", text.strip())
        values[criterion] = f"{values[criterion]},{value}" if criterion in values else value
    return values


def documented(function: Function) -> Function:
    """Decorator: add the function's options to the Args of its docstring, and check them before it
    runs.

    The signature gets plain types.
    """
    return documented_by()(function)


def documented_by(*records: type) -> Callable[[Function], Function]:
    """Like `documented`.

    records: classes of settings; a parameter that is one of their fields takes its Option from
    there.
    """
    return functools.partial(_documented, records=records)


def _documented(function: Function, records: tuple[type, ...]) -> Function:
    own, shared = _options_of(function, records), shared_options_of(function)
    texts = {name: option.help for name, (_, option, _) in own.items() if option.help}
    if function.__name__ == "read":
        texts |= {name: option.help for name, (_, option, _) in shared.items()}
    elif shared:
        texts[", ".join(shared)] = "How a table is read: the options of `metal.read`."
    checked = _checked(function, own, shared)
    checked.__doc__ = with_arguments(inspect.getdoc(function) or "", texts)
    return checked


def with_arguments(docstring: str, texts: Mapping[str, str]) -> str:
    """Insert the options' meanings into `Args` of the docstring, before `Returns`.

    >>> print(with_arguments("Do.\\n\\nReturns:\\n    It.", {"force": "Replace it."}))
    Do.
    <BLANKLINE>
    Args:
        force: Replace it.
    <BLANKLINE>
    Returns:
        It.
    """
    text, heading, rest = docstring.partition("\n\nReturns:\n")
    if texts and "\n\nArgs:\n" not in text:
        text += "\n\nArgs:"
    for name, meaning in texts.items():
        line = f"\n    {name}: "
        text = text.replace(line, f"{line}{meaning} ") if line in text else text + line + meaning
    return text + heading + rest


def _checked(
    function: Function,
    own: Mapping[str, tuple[Any, Option, Any]],
    shared: Mapping[str, tuple[Any, Option, Any]],
) -> Function:
    """Wrap a function so that its options are checked first.

    A value that an option may not have is refused before anything is read. The error for an unknown
    name suggests the nearest known one.
    """
    signature = inspect.signature(function)
    places, declared = list(signature.parameters), {**own, **shared}

    @functools.wraps(function)
    def checked(*positional: Any, **named: Any) -> Any:
        if shared:
            check_known("option", named, [*places, *shared])
        for name, value in [*zip(places, positional, strict=False), *named.items()]:
            if name in declared:
                kind, option, _ = declared[name]
                check_value(name, kind, option, value)
        return function(*positional, **named)

    shown = [
        each.replace(annotation=Plain.of(own[name][0] if name in own else each.annotation))
        for name, each in signature.parameters.items()
    ]
    returned = Plain.of(signature.return_annotation)
    vars(checked)[OPTIONS] = own
    vars(checked)["__signature__"] = signature.replace(parameters=shown, return_annotation=returned)
    return cast(Function, checked)


class Plain(str):
    """A type as `help` shows it: without modules, quotation marks and METAL's internal names.

    Attributes:
        declared: The annotation as the function has it.
    """

    declared: Any

    @classmethod
    def of(cls, annotation: Any) -> Plain:
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        text = _OPTIONAL.sub(r"\1 | None", _UNPACKED.sub("Any", _MODULES.sub("", text)))
        plain = cls(_OWN_NAMES.sub(lambda name: _SPELT_OUT[name[0]], text))
        plain.declared = annotation
        return plain

    __repr__ = str.__str__


_SPELT_OUT = {
    "StrPath": "str | Path",
    "Names": "str | Sequence[str]",
    "Pairs": "Mapping[str, str]",
    "Data": "str | Path | Dataset | DataFrame",
    "Ratings": "str | Path | RatingsRun",
    "Progress": "Callable[[int, int], None]",
    "Say": "Callable[[str], None]",
    "Confirm": "Callable[[str], bool]",
}
_OWN_NAMES = re.compile(rf"\b({'|'.join(_SPELT_OUT)})\b")
_MODULES = re.compile(r"\b(collections\.abc|typing|pathlib(\._local)?|pd|metal\.\w+\.\w+)\.")
_UNPACKED = re.compile(r"Unpack\[\w+\]")
_OPTIONAL = re.compile(r"Optional\[(.*)\]")


def synchronous(
    function: Callable[Parameters, Coroutine[Any, Any, Value]], name: str
) -> Callable[Parameters, Value]:
    """Turn a coroutine function into a plain function, which also works inside a running event
    loop.
    """

    @functools.wraps(function)
    def run(*positional: Parameters.args, **named: Parameters.kwargs) -> Value:
        from metal.running.asking import run_to_end

        return run_to_end(function(*positional, **named))

    run.__name__ = run.__qualname__ = name
    awaited = f"= await metal.{function.__name__}("
    run.__doc__ = (function.__doc__ or "").replace(awaited, f"= metal.{name}(")
    return run


Judges = Annotated[Names, JUDGES]
Languages = Annotated[Names, LANGUAGES]
Decimal = Annotated[
    str,
    Option(
        "Decimal mark, comma or point. [default: detected]",
        metavar=",|.",
        rare=True,
    ),
]
WordOrders = Annotated[
    StrPath | None,
    Option("TOML file that lists answers in words, worst to best.", metavar="FILE", rare=True),
]
TestQuestions = Annotated[
    str,
    Option(
        "Hide questions whose answers are known: P% positive, N% negative. [without a value:"
        " 5%+5%]",
        metavar="[=P%+N%]",
        bare="5%+5%",
        check="metal.genie.gold_questions:Shares.read",
        rare=True,
    ),
]
Question = Annotated[
    str,
    Option(
        'The question for judges, e.g. "Does the answer help?"; for one criterion.', metavar="TEXT"
    ),
]
DryRun = Annotated[
    bool, Option("Show calls, tokens, cost, time and the first prompt; send nothing.")
]
MaxCost = Annotated[
    float | None,
    Option(
        "Stop before the whole run costs more; also holds when it is resumed.",
        metavar="USD",
        least=0,
    ),
]
Limit = Annotated[
    int | None,
    Option("Make at most N calls; resume for the rest.", metavar="N", least=1, rare=True),
]
Reuse = Annotated[
    Sequence[StrPath], Option("Reuse answers from this run at no cost.", metavar="RUN", rare=True)
]
PromptFolders = Annotated[
    Sequence[StrPath],
    Option("Folders with your own prompts.", metavar="DIR", aliases=("--prompts",), rare=True),
]
BaseUrl = Annotated[
    str, Option("URL of the server for openai-compatible: and vllm-...: models.", metavar="URL")
]
Concurrency = Annotated[
    int | None, Option("Calls in flight. [default: 16]", metavar="N", least=1, most=1000, rare=True)
]
Reask = Annotated[
    int,
    Option("How often to repeat a call whose reply has no answer.", least=0, most=5, rare=True),
]
Resume = Annotated[StrPath | None, Option("Continue an interrupted run.", metavar="RUN")]
Force = Annotated[
    bool,
    Option("Replace an earlier result in `out`; it is kept as NAME.replaced.", rare=True),
]
