"""Audit a table of ratings: which judge agrees with the people, in which language, on which
question.

python examples/audit_your_table.py ratings.csv
"""

from __future__ import annotations

import sys

import pandas as pd

import metal


def main(path: str) -> None:
    """The table has one row per rating: doc, language, criterion, annotator, rating."""
    data = metal.read(
        pd.read_csv(path),
        columns={"source": "doc", "rater": "annotator", "score": "rating"},
        kinds={"gpt*": "llm"},
    )
    for line in data.report:
        print("note:", line)
    audit = metal.audit(data, resamples=1000)
    print(audit.verdicts[["judge", "language", "criterion", "verdict"]].to_string(index=False))
    for judge, language, criterion in audit.judges[["judge", "language", "criterion"]].itertuples(
        index=False
    ):
        kappa = audit[judge, language, criterion].kappa
        shown = (
            kappa.reason
            if kappa.value is None
            else f"{kappa.value:.2f} [{kappa.low}, {kappa.high}], n = {kappa.n}"
        )
        print(f"{judge} on {criterion} in {language}: kappa {shown}")
    audit.save("runs/mine", force=True)


if __name__ == "__main__":
    main(sys.argv[1])
