"""What `metal monitor` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metal.show.terminal import console as show

if TYPE_CHECKING:
    import pandas as pd

    from metal.genie.monitoring import Monitoring

SHOWN = 20


def show_monitor(tables: Mapping[str, pd.DataFrame], found: Monitoring, warnings: Sequence[str], dataset: Path) -> None:
    """Test questions, then people beside each other, then what to do next."""
    if len(found.raters):
        _show_tests(found)
    else:
        show.say("Nobody was asked a test question, so that nobody can be called noisy. To hide some among the tasks:")
        show.say(f"  metal annotate export {dataset} --to html --test-questions", wrap=False)
    _show_beside(tables["behaviour"])
    show.warn(warnings, more="warnings.txt in the run folder, and the report")
    if len(tables["exclusions"]):
        dropped = int(tables["exclusions"]["ratings"].sum())
        show.say(f"--exclude-noisy would drop {dropped:,} ratings; nothing is removed from the dataset.")


def _show_tests(found: Monitoring) -> None:
    from metal.data.text import probability
    from metal.genie.test_questions import SIDES

    rows = []
    for row in found.raters.head(SHOWN).to_dict("records"):
        right = [f"{row[f'{side}_right']:,} of {row[f'{side}_asked']:,}" for side in SIDES]
        worst = _figure(row["share_right"])
        worst += f" [{row['share_low']:.2f}, {row['share_high']:.2f}]" if worst != "-" else ""
        rows.append([row["rater"], *right, worst, probability(row["p_noisy"]), "noisy" if row["noisy"] else ""])
    more = len(found.raters) - SHOWN
    show.table(
        f"Test questions ({found.model})",
        ["rater", *SIDES, "right at worst", "P(noisy)", ""],
        rows,
        note="right at worst: on the task and side that speaks most against them, with 95% interval of their own "
        "answers; P(noisy): of the model" + (f"; {more:,} more in tables/raters.csv" if more > 0 else ""),
    )
    for name, why in found.noisy.items():
        show.say(f"{name} is noisy: {'; '.join(why)}")


def _show_beside(table: pd.DataFrame) -> None:
    from metal.genie.colleagues.behaviour import ALL_CRITERIA

    if table.empty:
        return
    whole = table[table["criterion"] == ALL_CRITERIA].sort_values("agreement_difference", na_position="last")
    rows = []
    for row in whole.head(SHOWN).to_dict("records"):
        figures = [_figure(row[key]) for key in ("agreement", "colleagues_agreement")]
        figures += [_figure(row["severity"], "+.2f"), _figure(row["label_share"], ".0%")]
        figures += [_figure(row[key]) for key in ("dawid_skene", "mace")]
        rows.append([row["rater"], row["language"], f"{row['ratings']:,}", *figures])
    more = len(whole) - SHOWN
    show.table(
        "People beside those who rated the same outputs, all criteria",
        ["rater", "", "ratings", "agrees", "theirs", "severe", "top", "DS", "MACE"],
        rows,
        note="agrees: with colleagues, on outputs with two; theirs: among themselves; top: share of the most frequent "
        "label; DS: Dawid-Skene" + (f"; {more:,} more in tables/behaviour.csv" if more > 0 else ""),
        keep=2,
    )
    out: dict[tuple[str, str], dict[str, str]] = {}
    for row in table[table["stands_out"] != ""].to_dict("records"):
        out.setdefault((row["rater"], row["language"]), {})[row["criterion"]] = row["stands_out"]
    for (rater, language), why in out.items():
        on = ALL_CRITERIA if ALL_CRITERIA in why else next(iter(why))
        others = [name for name in why if name != on]
        also = f"; also on {', '.join(others)} (tables/behaviour.csv)" if others else ""
        show.say(f"{rater} ({language}) stands out on {on}: {why[on]}{also}")
    if not out:
        show.say("Nobody stands out.")
    apart = {row["rater"]: row["not_compared"] for row in whole.to_dict("records") if row["not_compared"]}
    for rater, why in list(apart.items())[:SHOWN]:
        show.say(f"{rater} cannot be compared: {why}")


def _figure(value: float, form: str = ".2f") -> str:
    return "-" if value != value else format(value, form)
