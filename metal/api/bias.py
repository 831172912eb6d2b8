"""`metal.bias_language`: does a judge score some languages higher than others for equal quality?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from metal.api.options import Judges, Languages, Names, Option, Progress, documented, names, no_progress
from metal.api.read import load

if TYPE_CHECKING:
    from metal.api.bias_result import LanguageBias
    from metal.api.read import Data, Ratings


@documented
def bias_language(
    data: Data,
    *ratings: Ratings,
    judges: Judges = (),
    criteria: Annotated[Names, Option("Criteria; default all whose levels have an order, and scores.", "-c")] = (),
    languages: Languages = (),
    pivot: Annotated[
        str,
        Option(
            "The language that changed answers are counted against. [default: en, else the largest]", metavar="CODE"
        ),
    ] = "",
    falls: Annotated[
        Names,
        Option(
            "Criteria that an output in a wrong language or script must fail; others must not change. "
            "[default: METAL's two on language]",
            rare=True,
        ),
    ] = (),
    reference: Annotated[
        str, Option("Compare with these people only: group=expert, or rater=A1,A2.", metavar="PEOPLE")
    ] = "",
    progress: Progress | None = None,
) -> LanguageBias:
    """Say in which languages a judge is more lenient than in others for equal quality, and by how much.

    Where the same contents are there in several languages (`content` of a source, or one id in several languages), they
    are compared directly. Elsewhere people's scores stand for quality, shrunk by how reliable they are: what is left is
    a gap between the judge and these people, and a bias of the judge only if the people of the languages are equally
    severe. Regressing on people's raw means, or subtracting them, is printed beside it as naive: both raise false
    alarms where languages differ in quality.

    Also by language: how well the judge tells good from bad (slope), its top class, answers that change from the pivot
    language beyond those that change when it is asked again (`repeat=2` of `metal.judge`), and how scores change under
    each condition: instructions in the language of the text (`prompt_language` of `metal.judge`), and outputs made
    from others (columns `of` and `condition`), among them a wrong language and another script, which criteria of
    language must notice and others must not.

    `judges="people"` asks the same of people's own mean: how far they put languages apart on the same contents.

    data: a dataset folder, a table of ratings (file or DataFrame), or a dataset from `metal.read`. progress: called
    with the parts done and the parts in all.

    Returns the tables `language_bias` and `conditions`, plots and the page. Nothing is written before `save`. Raises
    UsageError where there are fewer than two languages.
    """
    from metal import __version__
    from metal.api.bias_result import LanguageBias
    from metal.auditing.language_bias import language_bias
    from metal.auditing.settings import AuditSettings
    from metal.data.pairs import one_item_per_pair
    from metal.data.text import signature_line

    inputs = load(data, ratings)
    dataset = one_item_per_pair(inputs.dataset)
    settings = AuditSettings(
        judges=names(judges), criteria=names(criteria), languages=names(languages), reference=reference
    )
    bias = language_bias(dataset, settings, pivot=pivot, falls=names(falls), progress=progress or no_progress)
    asked = {"pivot": pivot, "falls": ",".join(names(falls)), "reference": reference}
    about = {"data": dataset.identity, **{key: value for key, value in asked.items() if value}}
    signed = signature_line({"metal": __version__, **about})
    took_part = sorted(set(bias.tables["language_bias"]["judge"]))
    manifest = inputs.manifest("bias language", dataset, asked, took_part, signed).to_dict()
    return LanguageBias(dataset.card.name, manifest, dataset.criteria, dataset.raters, bias.tables, bias.warnings)
