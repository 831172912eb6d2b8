"""datasets/mlqe from the reference data: numbers, ids and languages, no texts and no replies."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from metal.data.dataset import Card, Dataset, assemble, save_dataset
from metal.data.ratings import tidy_facts
from metal.data.records import Criterion, Level, Output, Rater, Scale, Source

FOLDER = Path(__file__).resolve().parents[2] / "datasets" / "mlqe"
JUDGE = "mixtral-8x7b"
BANDS = (Level(0.0, "Major problems"), Level(1.0, "Understandable"), Level(2.0, "Good"))
CARD = Card(
    "mlqe",
    title="MLQE-PE: people and Mixtral on the same translations",
    description=(
        "Machine translations of 1,052 sentences in six language pairs, each scored from 0 to 100"
        " by three people, and by Mixtral-8x7B, which saw source and reference. Numbers, ids and"
        " languages only."
    ),
    licence="CC-BY-SA-4.0",
    citation=(
        "Fomicheva et al. (2022), MLQE-PE: A Multilingual Quality Estimation and Post-Editing"
        " Dataset, LREC; Qian et al. (2024), What do Large Language Models Need for Machine"
        " Translation Evaluation?, EMNLP"
    ),
    texts=(
        "en-de:0010 is row 10, counted from 0, of llm_output_samples/EN-DE_outputs_t03-mixtral.tsv"
        " in https://github.com/surrey-nlp/LLM4MT_eval; people's scores are in"
        " https://github.com/sheffieldnlp/mlqe-pe"
    ),
)
CRITERIA = (
    Criterion(
        "translation_quality",
        Scale("ordinal", BANDS),
        abbreviation="TQ",
        label="Translation quality",
        question=(
            "How good is the translation, in three bands of its score: 0 to 50, 51 to 69, 70 to"
            " 100?"
        ),
    ),
    Criterion(
        "direct_assessment",
        Scale("interval", low=0, high=100),
        abbreviation="DA",
        label="Direct assessment",
        question="How good is the translation, from 0 (no meaning preserved) to 100 (perfect)?",
    ),
)


def made(reference: Path) -> Dataset:
    """The dataset. reference: the folder that holds mlqe-mixtral."""
    table = pd.read_csv(reference / "mlqe-mixtral" / "ratings_full.csv")
    human = table["rater_kind"] == "human"
    table["rater"] = table["rater"].str.replace("annotator", "").where(human, JUDGE)
    table["reason"] = table["score100"].isna().map({True: "no number in the reply", False: ""})
    columns = {"translation_quality": "band3", "direct_assessment": "score100"}
    tables = [
        table.assign(criterion=criterion, score=table[column])
        for criterion, column in columns.items()
    ]
    facts = pd.concat(tables)
    facts["output"] = facts["item"] + "/nmt"
    items = dict(zip(table["item"], table["language"], strict=True))
    people = [Rater(name, "human", "annotator") for name in table["rater"][human].unique()]
    judge = Rater(JUDGE, "llm", "mixtral", {"model": "Mixtral-8x7B", "prompt": "t03"})
    return assemble(
        CARD,
        CRITERIA,
        [Source(item, language) for item, language in items.items()],
        [Output(f"{item}/nmt", item, "nmt", language) for item, language in items.items()],
        [*people, judge],
        tidy_facts(facts.drop(columns="comment")),
    )


if __name__ == "__main__":
    kept = {name: (FOLDER / name).read_bytes() for name in ("README.md", "LICENSE")}
    save_dataset(made(Path(sys.argv[1])), FOLDER, force=True, files=kept)
