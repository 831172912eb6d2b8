"""docs/reference/open-format.md and the schemas below docs/reference/schemas/, made from the
schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import metal

INTRODUCTION = """
# The open format

METAL's data are plain records. You can write them without METAL, and read what METAL writes.
Each record has a [JSON Schema](https://json-schema.org) (draft 2020-12): {files}.
`metal schema NAME` prints it.

`metal schema validate PATH` compares a file (JSON, JSON Lines, TOML), a dataset folder or a run
folder with the schemas. It prints a line for each fault, with its place, and ends with exit code 2.
If there is no fault, it prints a line on what it has compared.

```sh
metal schema rating
metal schema validate datasets/demo
```

**Version.** The number in `$id` (`urn:metal-eval:schema:{version}:rating`) and in `version` is the
version of the format. A new optional field does not change it. A change that makes valid files
invalid gets the next number.

**Where each record is.** A [dataset folder](files.md) has a dataset card with the criteria,
`dataset.toml`, and one record per line in `sources.jsonl`, `outputs.jsonl`, `raters.jsonl` and
`ratings.jsonl`. Ratings may also be in `ratings.parquet` or `ratings.csv`, with the same fields as
columns. Verdicts are the rows of `tables/verdicts.json` in the run folder of an audit, and of
`verdicts` in what `metal audit --json` prints. A passport is the file `passport.json`.

**What a schema cannot say.** Each rating is of an output, a criterion and a rater that exist, and
its score is on the criterion's scale. A rater rates an output once on each criterion. Languages are
BCP 47 codes. `metal schema validate FOLDER` checks this as well.
"""

EVERY_EVAL_EVER = """
## Every Eval Ever

Records of [Every Eval Ever](https://evalevalai.com) (schema 0.3) say how a model did on a
benchmark, and which score each sample got. They do not say who gave the score. METAL writes them
with a sidecar that does, and reads them with one or without:

```sh
metal export datasets/demo --to every-eval-ever --out demo-eee
metal audit demo-eee --resamples 100
```

| in the folder | what it is |
|---|---|
| `data/COLLECTION/DEVELOPER/MODEL/UUID.json` | results of a generator: the mean of people's scores on each criterion in each language |
| `data/COLLECTION/DEVELOPER/MODEL/UUID_samples.jsonl` | a record for each output and criterion: source, references, text, and the mean of people's scores |
| `raters/` | the sidecar: a dataset folder with everything else |

**Out.** A record needs exactly one score. METAL takes the mean of people's scores; `is_correct` says
whether it is in the better half of the scale. Outputs that no person scored, pairs, probes, texts
by people, and criteria with three or more labels without an order are in the sidecar only;
`metal export` counts these outputs. A generator named `DEVELOPER/MODEL` keeps its name; others are
filed under `unknown/`. Texts and references of recorded outputs are in the records only; each
record has the output's id as `metal_output` in its `metadata`. `metal.read` puts both together
again, and the dataset is what it was. `metal schema validate FOLDER` checks the records (what METAL
needs of them), the sidecar, and that both fit together.

**In.** Records of other tools need no sidecar. A criterion is an `evaluation_name`, and the rater is
the metric, or the judges that `llm_scoring` names. A record with an `error` is a missing answer.
The language comes from the metadata, or from `--language`. Records that METAL wrote, without their
sidecar, are ratings by the rater `people`.

**Your own raters.** To add ratings to records of another tool, put `raters.jsonl` and
`ratings.jsonl` into a folder `raters` beside `data`. An output is called `SAMPLE_ID/MODEL_ID`
there, and `dataset.toml` has the criteria that the records lack:

```json
{"output": "gsm8k_0001/meta-llama/Llama-3.1-8B", "criterion": "helpfulness", "rater": "A1", "score": 4}
```

```toml
[criteria.helpfulness]
question = "How helpful is the answer?"
range = [1, 5]
```
"""  # noqa: E501

# A record of each kind. The tests compare them with their schemas.
EXAMPLES: Mapping[str, Any] = {
    "rating": {
        "output": "hi-1/gpt-4o",
        "criterion": "tone",
        "rater": "openai:gpt-4o/detailed",
        "score": None,
        "reason": "refused",
        "comment": "I cannot help with that.",
    },
    "rater": {
        "rater": "openai:gpt-4o/detailed",
        "kind": "llm",
        "group": "gpt",
        "model": "openai:gpt-4o",
        "prompt": "detailed",
        "prompt_hash": {"tone": "a71e03c29b5d"},
        "parameters": {"temperature": 0},
    },
    "criterion": {
        "label": "Tone",
        "question": "How polite is the text?",
        "measure": "ordinal",
        "direction": "higher",
        "levels": [
            {"value": 0, "label": "rude"},
            {"value": 1, "label": "plain"},
            {"value": 2, "label": "polite"},
        ],
    },
    "dataset": {
        "name": "letters",
        "title": "Letters to customers",
        "licence": "CC-BY-4.0",
        "languages": ["hi"],
        "criteria": {"tone": {"question": "How polite is the text?", "range": [0, 100]}},
    },
    "source": {
        "source": "hi-1",
        "language": "hi",
        "text": "मेरा पार्सल नहीं आया।",
        "references": ["हमें खेद है।"],
    },
    "output": {
        "output": "hi-1/gpt-4o",
        "source": "hi-1",
        "generator": "gpt-4o",
        "language": "hi",
        "text": "क्षमा करें, हम पता कर रहे हैं।",
    },
    "verdict": {
        "language": "hi",
        "criterion": "tone",
        "judge": "openai:gpt-4o/detailed",
        "verdict": "informative",
        "reason": "keeps 71% [58%, 84%] of a person's exact answers; ...",
        "share_kept": 0.71,
        "share_kept_low": 0.58,
        "share_kept_high": 0.84,
        "items": 120,
        "sources": 60,
        "items_needed": None,
        "signature": "metal:0.2.0|data:letters@56c6|stat:verdicts|...",
    },
    "passport": {
        "passport": 1,
        "metal": "0.2.0",
        "issued": "2026-11-29",
        "expires": "2027-05-28",
        "data": {"name": "letters", "identity": "letters@56c6", "digest": "56c6a9023135"},
        "judges": {
            "openai:gpt-4o/detailed": {
                "model": "openai:gpt-4o",
                "cells": [
                    {
                        "language": "hi",
                        "criterion": "tone",
                        "verdict": "informative",
                        "use": "beside people",
                        "share_kept": [0.71, 0.58, 0.84],
                        "items": 120,
                        "sources": 60,
                    }
                ],
                "not_tested": ["languages other than Hindi, and texts other than the audited ones"],
            }
        },
        "sha256": "c08ab1174bf60c5616a0d46605b0bcbd34ffd27799ba2865f5ec7e26929b1f7a",
    },
}


def schema_files() -> dict[str, str]:
    """Each schema as a file, by its path below docs/reference."""
    return {
        f"schemas/{name}.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in metal.schema().items()
    }


def open_format() -> Iterator[str]:
    """The parts of the page."""
    schemas = metal.schema()
    files = ", ".join(f"[{name}](schemas/{name}.json)" for name in schemas)
    yield INTRODUCTION.strip().format(files=files, version=schemas["rating"]["version"])
    for name, schema in schemas.items():
        yield f"## {name}"
        yield schema["description"]
        yield _fields(schema)
        yield from _inside(name, schema)
        yield "An example:"
        yield f"```json\n{json.dumps(EXAMPLES[name], indent=1, ensure_ascii=False)}\n```"
    yield EVERY_EVAL_EVER.strip()


def _fields(schema: Mapping[str, Any]) -> str:
    rows = [
        f"| `{name}`{'' if name in schema['required'] else ' (optional)'} | {_type(of)} |"
        f" {_cell(of['description'])} |"
        for name, of in schema["properties"].items()
    ]
    more = "\n\nFurther fields are kept as they are." if schema["additionalProperties"] else ""
    return "| field | type | what it is |\n|---|---|---|\n" + "\n".join(rows) + more


def _inside(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """The fields of records inside a record."""
    properties = schema["properties"]
    if name == "criterion":
        yield "A level:"
        yield _fields(properties["levels"]["items"])
    if name == "passport":
        judge = properties["judges"]["additionalProperties"]
        yield "What it says about a judge:"
        yield _fields(judge)
        yield "A cell:"
        yield _fields(judge["properties"]["cells"]["items"])


def _type(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    types = schema["type"]
    return " or ".join([types] if isinstance(types, str) else types)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
