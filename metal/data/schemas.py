"""JSON Schemas (draft 2020-12) of METAL's records, made from the records themselves.

A field of a record is a property of its schema, with the type of the field and what fields.toml
says about it. What a schema cannot say is checked when a dataset is read: that a rated output
exists, that a score is on its scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from metal.data.dataset import Card
from metal.data.files import read_toml
from metal.data.holdings import CRITERION_RECORD, RECORDS, VERDICTS
from metal.data.ratings import COLUMNS, FACTS
from metal.data.records import Criterion, Level, Output, Rater, Rating, Scale, Source
from metal.data.validating import BLANK, NOT_BLANK

VERSION = 1  # of the format; a change that makes valid files invalid gets the next number
DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "pattern": NOT_BLANK}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
TABLE: Schema = {"type": "object"}
TEXTS: Schema = {"type": "array", "items": TEXT}
_PLAIN: Mapping[Any, Schema] = {str: TEXT, float: NUMBER, int: COUNT, bool: FLAG}

# Columns that `metal export` adds to a rating, the last ones only if it is asked for them.
JOINED = (*(name for name in COLUMNS if name not in FACTS), "label", *VERDICTS)
JOINED += ("source_text", "text", CRITERION_RECORD)
# What METAL writes into rater cards besides the rater's own fields, or looks for there.
RATER_FACTS: Mapping[str, Schema] = {
    **dict.fromkeys(("language", "named_by", "repeats", "model", "asked", "family"), TEXT),
    **dict.fromkeys(("base_url", "structured", "prompt", "prompt_language"), TEXT),
    **dict.fromkeys(("translation_of", "by", "signature", "summary", "texts"), TEXT),
    **dict.fromkeys(("parameters", "prompt_hash", "sent", "rejected", "versions"), TABLE),
    **dict.fromkeys(("headers", "flipped", "members"), TEXTS),
    **dict.fromkeys(("panel", "negated", "descriptive"), FLAG),
    "assisted_by": {"anyOf": [NAME, {"type": "array", "items": NAME}]},
    "sample": {"type": "integer"},
    "seed": {"type": "integer"},
    "dollars_per_thousand": {"type": "number", "minimum": 0},
    "range": {
        "type": "array",
        "prefixItems": [{"type": ["number", "null"]}, {"type": ["number", "null"]}],
        "minItems": 2,
        "maxItems": 2,
    },
}
# Tables of dataset.toml besides the card's fields and the criteria.
DATASET_TABLES: Mapping[str, Schema] = {
    "languages": TEXTS,
    "counts": {"type": "object", "additionalProperties": COUNT},
    "made_by": TEXT,
    "joined": COUNT,
    "generators": {"type": "object", "additionalProperties": TABLE},
    **dict.fromkeys(("sample", "generate", "probes", "reading", RECORDS), TABLE),
}


def data_schemas() -> dict[str, Schema]:
    """The schemas of the records of a dataset, by name."""
    schemas = {
        "rating": _rating(),
        "rater": _rater(),
        "criterion": _criterion(),
        "dataset": _dataset(),
        "source": record(properties_of(Source, "source"), ("source", "language")),
        "output": record(
            properties_of(Output, "output"), ("output", "source", "generator", "language")
        ),
    }
    return {name: published(name, schema) for name, schema in schemas.items()}


def published(name: str, schema: Schema) -> Schema:
    """The schema with the head that all have: dialect, id with the version, title."""
    return {
        "$schema": DIALECT,
        "$id": f"urn:metal-eval:schema:{VERSION}:{name}",
        "version": VERSION,
        "title": name,
        "description": f"{field_texts()['records'][name]}.",
        **schema,
    }


def record(
    properties: Mapping[str, Schema], required: Iterable[str], *, further: bool = False
) -> Schema:
    """The schema of an object. further: whether it may have other properties as well."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": further,
    }


def described(properties: Mapping[str, Schema], part: str) -> dict[str, Schema]:
    """The properties with their meanings, which come from one part of fields.toml."""
    meanings = field_texts()[part]
    return {name: {"description": meanings.get(name, ""), **of} for name, of in properties.items()}


@cache
def field_texts() -> Mapping[str, Mapping[str, str]]:
    """fields.toml: the meaning of each field, by record."""
    return read_toml(Path(__file__).with_name("fields.toml"))


def properties_of(kind: type, part: str) -> dict[str, Schema]:
    """A property for each field of a record. The files may have null for an empty field."""
    hints = get_type_hints(kind)
    types = {field.name: _of_field(hints[field.name], field) for field in fields(kind)}
    return described(types, part)


def _of_field(hint: Any, field: Field[Any]) -> Schema:
    """The schema of a field by its type; a field with a default may be null."""
    optional = field.default is not MISSING or field.default_factory is not MISSING
    if not optional and hint is str:
        return dict(NAME)
    return or_null(type_of(hint)) if optional else type_of(hint)


def type_of(hint: Any) -> Schema:
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    if get_origin(hint) in (Union, UnionType):
        [kind] = (each for each in get_args(hint) if each is not NoneType)
        return or_null(type_of(kind))
    if get_origin(hint) is tuple:
        return {"type": "array", "items": type_of(get_args(hint)[0])}
    raise TypeError(f"no JSON type for {hint}")


def or_null(schema: Schema) -> Schema:
    """The schema, or null."""
    if schema["type"] == "boolean" or isinstance(schema["type"], list):
        return schema
    return {**schema, "type": [schema["type"], "null"]}


def _rating() -> Schema:
    properties = properties_of(Rating, "rating")
    kind = type_of(get_type_hints(Rater)["kind"])
    joined = {name: kind if name == "kind" else TEXT for name in JOINED}
    properties["confidence"] |= {"minimum": 0, "maximum": 1}
    return {
        **record({**properties, **described(joined, "rating")}, FACTS[:4]),
        "if": {"properties": {"score": {"type": "null"}}, "required": ["score"]},
        "then": {"properties": {"reason": NAME}, "required": ["reason"]},
        "else": {"properties": {"reason": {"type": "string", "pattern": BLANK}}},
    }


def _rater() -> Schema:
    hints = get_type_hints(Rater)
    own = {"rater": NAME, "kind": type_of(hints["kind"]), "group": or_null(TEXT)}
    facts = {**RATER_FACTS, "direction": type_of(get_type_hints(Criterion)["direction"])}
    return record(described({**own, **facts}, "rater"), ("rater", "kind"), further=True)


def _criterion() -> Schema:
    hints = {**get_type_hints(Criterion), **get_type_hints(Scale)}
    level = {field.name: type_of(get_type_hints(Level)[field.name]) for field in fields(Level)}
    level["label"] = NAME
    levels = record(described(level, "level"), ("value", "label"))
    lists = {
        "levels": {"type": "array", "items": levels, "minItems": 2},
        "range": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2},
    }
    properties = {name: lists.get(name) or type_of(hints[name]) for name in criterion_keys()}
    return {
        **record(described(properties, "criterion"), ()),
        "if": {
            "properties": {"measure": {"enum": ["nominal", "ordinal"]}},
            "required": ["measure"],
        },
        "then": {"required": ["levels"]},
        "not": {"required": ["levels", "range"]},
    }


def criterion_keys() -> tuple[str, ...]:
    """The keys of a criterion in its file: its own fields, and those of its scale; `low` and `high`
    are its `range`.
    """
    own = [field.name for field in fields(Criterion) if field.name not in ("name", "scale")]
    of_scale = [field.name for field in fields(Scale) if field.name not in ("low", "high")]
    return (*own, *of_scale, "range")


def _dataset() -> Schema:
    card = {field.name: TEXT for field in fields(Card)} | {"name": NAME}
    criteria = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"$ref": "#/$defs/criterion"},
    }
    properties = {**card, "criteria": criteria, **DATASET_TABLES}
    return {
        **record(described(properties, "dataset"), ("name", "criteria"), further=True),
        "$defs": {"criterion": _criterion()},
    }
