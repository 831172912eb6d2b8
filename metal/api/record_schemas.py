"""The JSON Schemas of all of METAL's records: those of a dataset, verdicts and passports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

from metal.api.schema import EEE_RECORD, EEE_SAMPLE
from metal.auditing.verdict import AS_GOOD, VERDICTS, Verdict
from metal.data.schemas import (
    COUNT,
    NAME,
    RATER_FACTS,
    TABLE,
    TEXT,
    TEXTS,
    Schema,
    data_schemas,
    described,
    or_null,
    published,
    record,
    type_of,
)
from metal.runs.kinds import kind_of, meaning
from metal.runs.passport import ALONE, BESIDE, FIGURES, NEITHER
from metal.runs.passport import VERSION as PASSPORT_VERSION
from metal.runs.run import DISQUALIFIES, IDENTITY, NOTED, WARNS
from metal.stats.interval import Bounds

FIGURE = or_null({"type": "number"})
DAY: Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
# AS_GOOD is the word of runs before version 0.2.
WORD: Schema = {"enum": [*VERDICTS, AS_GOOD]}


def schemas() -> dict[str, Schema]:
    """The schema of each record, by its name."""
    return {
        **data_schemas(),
        "verdict": published("verdict", _verdict()),
        "passport": published("passport", _passport()),
    }


def eee_schemas() -> dict[str, Schema]:
    """What METAL needs of Every Eval Ever's records, by their kind; their own schema asks for
    more.
    """
    text, obj = {"type": "string", "pattern": r"\S"}, {"type": "object"}
    result = {"evaluation_name": text, "metric_config": obj}
    results = {"type": "array", "items": _needing(result)}
    sample = dict.fromkeys(("evaluation_id", "evaluation_name", "sample_id", "model_id"), text)
    return {
        EEE_RECORD: _needing({"evaluation_id": text, "evaluation_results": results}),
        EEE_SAMPLE: _needing({**sample, "input": obj, "evaluation": obj}),
    }


def _needing(properties: Mapping[str, Schema]) -> Schema:
    """An object that has all of these properties, and any others."""
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def _verdict() -> Schema:
    """A row of the table `verdicts` of an audit, as `metal audit --json` and tables/verdicts.json
    have it.
    """
    audit = kind_of("audit")
    properties = {
        name: {"description": meaning(audit, name), **schema} for name, schema in _columns()
    }
    needed = [field.name for field in fields(Verdict) if field.default is MISSING]
    return record(properties, [*needed, "items", "sources", "signature"], further=True)


def _columns() -> Iterator[tuple[str, Schema]]:
    """The columns of a verdict, each with its type. A figure that is undefined is null."""
    hints = get_type_hints(Verdict)
    for name, value in Verdict("", "", "", "", "").row().items():
        kind = hints.get(name, Bounds)  # the ends of an interval are no fields
        if name == "verdict":
            yield name, WORD
        elif kind in (float, Bounds):
            yield name, FIGURE
        else:
            yield name, type_of(type(value))
    yield "signature", TEXT


def _passport() -> Schema:
    judges = {
        "cells": {"type": "array", "items": _cell()},
        "not_tested": TEXTS,
    }
    facts = {name: RATER_FACTS[name] for name in (*IDENTITY, "versions")}
    judge = record(
        {**described(facts, "rater"), **described(judges, "passport_judge")},
        judges,
        further=True,
    )
    properties = {
        "passport": {"const": PASSPORT_VERSION},
        **dict.fromkeys(("metal", "signature", "about_sha256"), TEXT),
        **dict.fromkeys(("issued", "expires"), DAY),
        "data": record(dict.fromkeys(("name", "identity", "digest"), TEXT), (), further=True),
        "settings": TABLE,
        "runs": {"type": "array", "items": TABLE},
        "judges": {"type": "object", "additionalProperties": judge},
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    }
    required = ("passport", "metal", "issued", "expires", "data", "judges", "sha256")
    return record(described(properties, "passport"), required, further=True)


def _cell() -> Schema:
    """What a judge may be used for in one language on one criterion."""
    figure = {"type": "array", "items": FIGURE, "minItems": 3, "maxItems": 3}
    line = {"line": TEXT, "weight": {"enum": [DISQUALIFIES, WARNS, NOTED]}, "question": TEXT}
    properties: dict[str, Any] = {
        **dict.fromkeys(("language", "criterion"), NAME),
        "verdict": WORD,
        "use": {"enum": [ALONE, BESIDE, NEITHER]},
        **dict.fromkeys(FIGURES, figure),
        **dict.fromkeys(("items", "sources"), COUNT),
        "lines": {"type": "array", "items": record(line, ("line", "weight"), further=True)},
    }
    required = ("language", "criterion", "verdict", "use")
    return record(described(properties, "passport_cell"), required, further=True)
