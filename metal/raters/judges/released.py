"""METAL's released prompts for judges, put together as in its authors' program
(evaluate_summary.py).

The messages and the names of languages are in utils/constants.py, the fields of an answer in
utils/utils.py, the criteria in metrics/. METAL reads these files and never runs them. LangChain
makes the instructions for the form of an answer.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from metal.data.files import read_text
from metal.errors import DataError, MissingExtra

MESSAGES = ("SYSTEM_MESSAGE", "HUMAN_MESSAGE", "code_to_name")
SLOTS = {
    "passage": "source",
    "summary": "output",
    "language": "language",
    "metric_description": "metric",
}


class ReleasedPrompt(NamedTuple):
    """The messages as Jinja2 templates. languages: language code -> its name in the messages."""

    system: str
    user: str
    languages: dict[str, str]
    path: Path


def released_prompt(folder: Path) -> ReleasedPrompt | None:
    """The prompt of a release. folder: that of the release, or its `metrics`. None for any other
    folder.

    Raises DataError if its files are not as released, MissingExtra without LangChain.
    """
    path = (folder.parent if folder.name == "metrics" else folder) / "utils" / "constants.py"
    if not path.is_file():
        return None
    constants = {}
    for statement in _statements(path):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name) and target.id in MESSAGES:
                    constants[target.id] = statement.value
    try:
        system, user, languages = (ast.literal_eval(constants[name]) for name in MESSAGES)
        own = {**SLOTS, "format_instructions": _format_instructions(path.with_name("utils.py"))}
        return ReleasedPrompt(_template(system, own), _template(user, own), dict(languages), path)
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            path, f"not as METAL released it ({error})", "Take the file from the release again"
        ) from None


def _statements(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(read_text(path)).body
    except SyntaxError as error:
        raise DataError(
            path, f"not Python ({error.msg})", "Take the file from the release again"
        ) from None


def _template(message: str, slots: dict[str, str]) -> str:
    """Turn a message with fields in braces into a Jinja2 template. The parts between fields become
    texts in expressions, so that they stay literal.
    """
    parts = []
    for text, name, _, _ in Formatter().parse(message):
        value = "" if name is None else slots[name]
        parts.append(f"{{{{ {json.dumps(text, ensure_ascii=False)} }}}}" if text else "")
        parts.append(
            f"{{{{ {value} }}}}" if value.isidentifier() else f"{{{{ {json.dumps(value)} }}}}"
        )
    return "".join(parts)


def _format_instructions(path: Path) -> str:
    """LangChain's instructions on the form of an answer, with the fields of the class Output."""
    classes = {each.name: each for each in _statements(path) if isinstance(each, ast.ClassDef)}
    try:
        from langchain_core.output_parsers import PydanticOutputParser
        from pydantic import Field, create_model
    except ImportError:
        raise MissingExtra("METAL's released prompts", "langchain") from None
    fields: dict[str, Any] = {}
    for field in classes["Output"].body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.value, ast.Call):
            kind = {"int": int, "str": str}[ast.unparse(field.annotation)]
            options = {str(word.arg): ast.literal_eval(word.value) for word in field.value.keywords}
            described = Field(description=options.pop("description"), json_schema_extra=options)
            fields[ast.unparse(field.target)] = (kind, described)
    return str(
        PydanticOutputParser(
            pydantic_object=create_model("Output", **fields)
        ).get_format_instructions()
    )
