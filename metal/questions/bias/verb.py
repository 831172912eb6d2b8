"""`metal.bias_language`: whether a judge scores some languages higher than others for equal
quality; `metal.bias_plan`: the data still needed to tell.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from metal.api.options import (
    BaseUrl,
    Force,
    Names,
    Option,
    Progress,
    PromptFolders,
    StrPath,
    documented,
    documented_by,
    names,
    no_progress,
    settings_of,
)
from metal.api.read import as_dataset, load
from metal.api.reading import ReadingOptions
from metal.auditing.settings import AuditSettings
from metal.data.languages import check_language
from metal.data.text import in_list
from metal.errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from metal.api.read import Data, Ratings
    from metal.data.dataset import Dataset
    from metal.questions.bias.condition_plan import ConditionPlan
    from metal.questions.bias.run import LanguageBias


@documented_by(AuditSettings)
def bias_language(
    data: Data,
    *ratings: Ratings,
    judges: Names = (),
    criteria: Annotated[
        Names, Option("Criteria. [default: all with ordered levels or scores]", "-c")
    ] = (),
    languages: Names = (),
    pivot: Annotated[
        str,
        Option(
            "Language to count changed answers against. [default: en, else the largest]",
            metavar="CODE",
        ),
    ] = "",
    falls: Annotated[
        Names,
        Option(
            "Criteria on which an output in the wrong language or script must lose; scores on "
            "others must not change. [default: METAL's two on language]",
            rare=True,
        ),
    ] = (),
    reference: Annotated[
        str,
        Option("Compare with these people only: group=expert, or rater=A1,A2.", metavar="PEOPLE"),
    ] = "",
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> LanguageBias:
    """Find languages in which a judge is more lenient than in others for equal quality, and by how
    much.

    If languages share contents (`content` of a source, or one id in several languages), the judge
    is compared on these contents. If not, people's scores stand in for quality, shrunk by their
    reliability. The result is then a gap between the judge and these people; it is a bias of the
    judge only if the people of all languages are equally severe. Two naive methods are shown for
    comparison (regressing on people's raw means, subtracting them): both raise false alarms where
    languages differ in quality.

    If the panels of all languages rated some contents in common (anchors, `metal.design_anchors`),
    their differences in severity are taken into account, so the result is a bias of the judge.

    Other figures per language: how well the judge tells good from bad (slope), how often it gives
    the best class, and answers that change from the pivot language more often than when it is asked
    again (`repeat=2` of `metal.judge`). Further figures show how scores change under each
    condition: instructions in the language of the text (`prompt_language` of `metal.judge`), and
    outputs made by changing others (columns `of` and `condition`). A wrong language or script must
    change scores on criteria of language, and on no others.

    The table `severity` has the severity of each person relative to those who rated the same
    outputs in that language, by a many-facet Rasch model. People who share no outputs, such as
    those of two languages, are never compared.

    `judges="people"` examines the people's own mean instead of a judge: how far it differs between
    languages on the same contents.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`; `ratings` are run folders whose ratings are added.
        progress: Called with the number of parts done and of all parts.

    Returns:
        The tables `language_bias`, `conditions`, `severity` and `anchors`, plots and the page.
        Where the gap could be people's, `anchors` says how many contents all panels would have to
        rate to find out. Nothing is written before `save`.

    Raises:
        UsageError: If there are fewer than two languages.

    Example:
        metal.bias_language("runs/news-judges-pairs", "runs/news-judges").language_bias
    """
    import pandas as pd

    from metal.data.people import people_named
    from metal.questions.bias.between_languages import BESIDE
    from metal.questions.bias.compute import language_bias
    from metal.questions.bias.conditions import pivot_of
    from metal.questions.bias.run import LanguageBias
    from metal.questions.design.anchors import ANCHORS, HALF_WIDTH, anchor_contents, anchor_rows

    settings = settings_of(AuditSettings, locals())
    inputs = load(data, ratings, reading)
    dataset = inputs.dataset
    bias = language_bias(
        dataset, settings, pivot=pivot, falls=names(falls), progress=progress or no_progress
    )
    needed = []
    if (bias.tables["language_bias"]["by"] == BESIDE).any():
        codes = settings.languages or dataset.languages
        people, shared = people_named(dataset, reference), len(anchor_contents(dataset, codes))
        needed = [
            *anchor_rows(
                dataset, people, codes, pivot_of(dataset, codes, pivot), HALF_WIDTH, shared
            )
        ]
    with_anchors = replace(
        bias, tables={**bias.tables, "anchors": pd.DataFrame(needed, columns=list(ANCHORS))}
    )
    asked = {"pivot": pivot, "falls": ",".join(names(falls)), "reference": reference}
    return inputs.result(
        LanguageBias, dataset, asked, with_anchors, with_anchors.tables["language_bias"]["judge"]
    )


@dataclass(frozen=True, repr=False)
class BiasPlan:
    """What `metal.bias_plan` found missing.

    table: a row for each condition and language. written: what was written to `out`. notes: the
    reasons why some conditions cannot be created yet.
    """

    table: pd.DataFrame
    written: str = ""
    out: Path | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<{(self.table['state'] == 'missing').sum()} of {len(self.table)} conditions missing>"
        )

    def _repr_html_(self) -> str:
        html: str = self.table.to_html(index=False)
        return html


@documented
def bias_plan(
    data: StrPath,
    *ratings: Ratings,
    judge: Annotated[
        Names, Option("Judge to plan for and to price, e.g. openai:gpt-4o-mini.", "-j")
    ] = (),
    prompt: Annotated[
        str, Option("Its prompt. [default: the one used before, else detailed]", "-p")
    ] = "",
    criteria: Annotated[Names, Option("Criteria; default all.", "-c")] = (),
    languages: Annotated[
        Names,
        Option(
            "Languages to compare, which may be new ones. [default: those of the data]",
            "-l",
        ),
    ] = (),
    pivot: Annotated[
        str, Option("Language to translate from. [default: en, else the largest]")
    ] = "",
    out: Annotated[
        StrPath | None,
        Option(
            "Dataset folder to write: the texts to translate or, with `translations`, the"
            " translated data."
        ),
    ] = None,
    translations: Annotated[
        StrPath | None,
        Option(
            "The folder `out` after `metal.generate` has translated it, or your own table with "
            "columns id and text."
        ),
    ] = None,
    base_url: BaseUrl = "",
    prompt_folders: PromptFolders = (),
    force: Force = False,
) -> BiasPlan:
    """List the conditions that `metal.bias_language` still lacks, their cost, and the commands that
    create them.

    The conditions are the same contents in every language, the judge asked again in the pivot
    (without it, a judge that changes its answers by itself looks biased), instructions in the
    language of the text, and outputs in a wrong language or script. Calls and cost come from a dry
    run with `judge`.

    Contents that a language lacks have to be translated, both outputs and sources. Translations
    come from data that have them, from your own table, or from a model. `out` gets the texts to
    translate, `metal.generate(out, quality="translation")` has a model translate them, and
    `translations` writes the dataset with the new outputs.

    Args:
        data: A dataset folder; `ratings` are run folders whose ratings are added.

    Returns:
        The table of conditions; nothing is asked.

    Raises:
        UsageError: For options that do not fit each other or the data.
        DataError: For the first fault in the data.

    Example:
        plan = metal.bias_plan("datasets/news", "runs/news-judges", pivot="en")
    """
    import pandas as pd

    from metal.building.translating import texts_to_translate, with_translations
    from metal.data.dataset import save_dataset
    from metal.questions.bias.condition_plan import condition_plans
    from metal.questions.bias.conditions import pivot_of

    inputs = load(data, ratings)
    dataset = inputs.dataset
    codes = names(languages) or dataset.languages
    for code in codes:
        check_language(code, "`languages`")
    pivot = pivot_of(dataset, dataset.languages, pivot)
    prompt = prompt or _asked_with(dataset, names(judge))
    examples = 0
    if shots := re.fullmatch(r"(.+)-(\d+)-shot", prompt):
        prompt, examples = shots[1], int(shots[2])
    written, path = "", Path(data)
    if translations is not None:
        if out is None:
            raise UsageError("give `out`, the dataset folder that is written with the translations")
        dataset, missing = with_translations(
            inputs.dataset, _translated(Path(translations)), codes, pivot
        )
        save_dataset(dataset, out, force=force, maker="bias plan")
        path = Path(out)
        written = f"{len(dataset.outputs) - len(inputs.dataset.outputs):,} outputs added"
        if missing:
            written += f", {missing:,} left out because they have no translation"
    elif out is not None:
        texts = texts_to_translate(dataset, [code for code in codes if code != pivot], pivot)
        save_dataset(texts, out, force=force, maker="bias plan")
        written = f"{len(texts.sources):,} texts to be translated"
    options: dict[str, Any] = {"criteria": criteria, "prompt": prompt, "examples": examples}
    options |= {"base_url": base_url, "prompt_folders": prompt_folders}
    rows, notes = [], []
    for plan in condition_plans(dataset, codes, pivot):
        for language in plan.outputs:
            row, note = _planned(plan, language, path, names(judge), options)
            rows.append(row)
            if note:
                notes.append(note)
    columns = ["condition", "language", "state", "outputs", "calls", "dollars", "command"]
    return BiasPlan(
        pd.DataFrame(rows, columns=columns),
        written,
        Path(out) if out is not None else None,
        tuple(notes),
    )


def _asked_with(dataset: Dataset, judges: Sequence[str]) -> str:
    """The English prompt with which one of the judges was asked before, else `detailed`."""
    for rater in dataset.raters.values():
        prompt = rater.about.get("prompt")
        wanted = rater.rater in [f"{model}/{prompt}" for model in judges]
        if prompt and wanted and "translation_of" not in rater.about:
            return str(prompt)
    return "detailed"


def _planned(
    plan: ConditionPlan, language: str, data: Path, judges: Sequence[str], options: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """The row of a condition in a language, and the reason if the condition cannot be created."""
    row = {
        "condition": plan.condition,
        "language": language,
        "state": "there",
        "outputs": plan.outputs[language],
        "calls": math.nan,
        "dollars": math.nan,
        "command": "",
    }
    if language not in plan.missing:
        return row, ""
    row |= {"state": "missing", "command": _command(plan, data, judges, options)}
    if judges and plan.judging:
        try:
            row |= _cost(data, judges, {"languages": language, **plan.judging, **options})
        except UsageError as error:  # no texts, or no prompt in the language
            row["state"] = "cannot"
            return row, f"{plan.condition}, {language}: {error}"
    return row, ""


def _command(
    plan: ConditionPlan, data: Path, judges: Sequence[str], options: Mapping[str, Any]
) -> str:
    """The command that creates the condition in all languages that lack it."""
    asked = options["prompt"]
    if options["criteria"]:
        asked += f" -c {','.join(names(options['criteria']))}"
    if options["examples"]:
        asked += f" --examples {options['examples']}"
    if options["base_url"]:
        asked += f" --base-url {shlex.quote(options['base_url'])}"
    judge = shlex.quote(in_list(judges)) if judges else "JUDGE"
    return plan.command.format(data=data, judge=judge, prompt=asked)


def _translated(path: Path) -> dict[str, str]:
    """The translations in a generated dataset folder, or in a table."""
    from metal.data.tables.files import read_frame

    if (path / "dataset.toml").is_file():
        return {output.source: output.text for output in as_dataset(path).outputs.values()}
    frame = read_frame(path)
    if not {"id", "text"} <= set(frame):
        raise DataError(
            path,
            "no columns called id and text",
            "Name the columns id and text; id is that of the text that was translated",
        )
    filled = frame[frame["text"].notna()]
    return dict(zip(filled["id"].astype(str), filled["text"].astype(str), strict=True))


def _cost(data: Path, judges: Sequence[str], how: Mapping[str, Any]) -> dict[str, float]:
    """The calls and dollars that judging takes, by a dry run; NaN dollars if a price is unknown."""
    from metal.api.judging import judge
    from metal.running.asking import Callbacks

    estimates = judge(
        data, judges, dry_run=True, out=data / "no-run", callbacks=Callbacks(), **how
    ).outcome.estimates
    dollars = [math.nan if estimate.cost is None else estimate.cost for estimate in estimates]
    return {"calls": float(sum(estimate.calls for estimate in estimates)), "dollars": sum(dollars)}
