"""What probes find, in simulated worlds: judges that are blind in one language of several, and
sound ones.

Scores are drawn as synthetic judges draw them, and go through the report's own rows and
corrections. Prints how often the blind language is named, how often anything is said against a
sound judge, and how often the interval of A holds its value, by the number of outputs a language.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import metal
from metal.auditing.settings import AuditSettings
from metal.building.probe_plan import plan_probes
from metal.building.probes import load_probes
from metal.data.dataset import with_parts
from metal.data.ratings import facts_from
from metal.data.records import Rater, Rating
from metal.questions.probe.compute import AGAINST, BLIND, probe_tables
from metal.raters.judges.fake import Behaviour, respond

TEXT = (
    "The minister of health met {} people in the town of Kisumu on day {} and promised new clinics"
    " soon. Many came."
)
LANGUAGES = ("en", "sw", "de", "fr", "it")
CRITERIA = ("fluency", "task_quality", "overall")
PROBES = (
    "swapped-output",
    "empty",
    "cut-in-half",
    "wrong-language",
    "digits-changed",
    "bold-type",
    "order-in-English",
)


def dataset(
    outputs: int, levels: int, probes: Sequence[str] = PROBES, languages: Sequence[str] = LANGUAGES
) -> metal.Dataset:
    """Probes of that many outputs in each language, on scales of so many levels."""
    rows = [
        {
            "source": f"{language}{n}",
            "language": language,
            "output_text": TEXT.format(n + 11, n),
            "rater": "A1",
        }
        | dict.fromkeys(CRITERIA, levels)
        for n in range(outputs)
        for language in languages
    ]
    scale = " < ".join(map(str, range(1, levels + 1)))
    data = metal.read(pd.DataFrame(rows), levels={"*": scale})
    return plan_probes(data, load_probes(probes), per_language=outputs).dataset


def report(data: metal.Dataset, behaviour: Behaviour, rng: np.random.Generator) -> pd.DataFrame:
    """The table of probes of a judge that behaves so."""
    falls = {
        about["condition"]: about.get("falls", []) for about in data.extra["probes"]["conditions"]
    }
    ratings = []
    for name, output in data.outputs.items():
        record: dict[str, Any] = {"language": output.language, "condition": output.condition}
        record["falls"] = falls.get(output.condition, [])
        for criterion in data.criteria.values():
            draw, chance = float(rng.uniform(1e-9, 1 - 1e-9)), float(rng.uniform())
            ratings.append(
                Rating(
                    name, criterion.name, "j", respond(behaviour, record, criterion, draw, chance)
                )
            )
    judged = with_parts(data, raters=[Rater("j", "llm")], facts=facts_from(ratings))
    return probe_tables(judged, AuditSettings(), progress=lambda done, total: None).tables["probes"]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--times", type=int, default=100)
    times = options.parse_args().times
    print(
        f"{len(LANGUAGES)} languages, {len(CRITERIA)} criteria, {len(PROBES)} changes, {times}"
        " judges of each kind"
    )
    print(
        "outputs levels  blind language named  another named  sound judge (d=1.5, d=3): anything"
        " said  A covered"
    )
    for outputs, levels in ((30, 5), (60, 3), (60, 5), (120, 5)):
        data, rng = dataset(outputs, levels), np.random.default_rng(outputs + levels)
        blind = [report(data, Behaviour("blind", "sw"), rng) for _ in range(times)]
        named = np.mean(
            [(table["says"].eq(BLIND) & table["language"].eq("sw")).any() for table in blind]
        )
        other = np.mean(
            [(table["says"].isin(AGAINST) & table["language"].ne("sw")).any() for table in blind]
        )
        sound = {
            d: [report(data, Behaviour("sensitive", d=d), rng) for _ in range(times)]
            for d in (1.5, 3.0)
        }
        said = [
            np.mean([table["says"].isin(AGAINST).any() for table in tables])
            for tables in sound.values()
        ]
        own = pd.concat(blind).query(
            "language == 'sw' and expected == 'falls' and condition != 'all certain'"
        )
        covered = ((own["a_low"] <= 0.5) & (own["a_high"] >= 0.5)).mean()
        figures = f"{named:20.2f}  {other:13.2f}  {said[0]:21.2f} {said[1]:8.2f}  {covered:20.3f}"
        print(f"{outputs:7} {levels:6}  {figures}", flush=True)
    battery(times)


BATTERY = ("order", "authority", "bandwagon", "false citation", "padded", "as a list")


def battery(times: int) -> None:
    """What sways a judge by half a level or one in Swahili, and how often a judge that nothing
    sways is cleared.
    """
    probes, languages = ["bait", "key-in-English", "key-in-its-language"], LANGUAGES[:3]
    data, rng = dataset(60, 5, probes, languages), np.random.default_rng(0)
    size = f"60 outputs in {len(languages)} languages, {len(CRITERIA)} criteria of 5 levels"
    print(f"the battery: {len(data.extra['probes']['conditions'])} changes of {size}")
    for d in (1.5, 3.0):
        said = [
            report(data, Behaviour("sensitive", d=d), rng)["says"].isin(AGAINST).any()
            for _ in range(times)
        ]
        print(
            f"nothing sways it, d = {d:g}: cleared in {1 - np.mean(said):.3f} of {times} runs",
            flush=True,
        )
    for by in BATTERY:
        for shift in (0.5, 1.0):
            named, other = [], []
            for _ in range(times // 4):
                against = report(data, Behaviour("swayed", "sw", by, shift=shift), rng).query(
                    "says in @AGAINST"
                )
                right = against["condition"].str.contains(by) & against["language"].eq("sw")
                named.append(right.any())
                other.append((~right).any())
            print(
                f"{by} +{shift:g}: named {np.mean(named):.2f}, anything else {np.mean(other):.2f}",
                flush=True,
            )
    key = [report(data, Behaviour("blind", "sw"), rng) for _ in range(times // 4)]
    named = [(table["says"].eq(BLIND) & table["language"].eq("sw")).any() for table in key]
    print(f"blind to empty replies: named {np.mean(named):.2f}")


if __name__ == "__main__":
    main()
