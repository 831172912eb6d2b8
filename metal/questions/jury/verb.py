"""`metal.jury`: combine several judges into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from metal.api.options import (
    Languages,
    Names,
    Option,
    Progress,
    Resamples,
    Seed,
    documented,
    names,
    no_progress,
)
from metal.api.read import load
from metal.api.reading import ReadingOptions
from metal.errors import UsageError

if TYPE_CHECKING:
    from metal.api.read import Data, Ratings
    from metal.questions.jury.run import Jury


@documented
def jury(
    data: Data,
    *ratings: Ratings,
    judges: Annotated[
        Names, Option(("Members of the jury. [default: all LLM judges in the data]"), "-j")
    ] = (),
    criteria: Annotated[Names, Option("Criteria; default all.", "-c")] = (),
    languages: Languages = (),
    by: Annotated[
        Literal["majority", "mean", "weights", "dawid-skene"],
        Option(
            "How to combine the members.", choices=("majority", "mean", "weights", "dawid-skene")
        ),
    ] = "majority",
    reference: Annotated[
        str,
        Option(
            "Compare with these people: group=expert, or rater=A1,A2. [default: all]",
            metavar="PEOPLE",
        ),
    ] = "",
    name: Annotated[str, Option("Name of the jury.")] = "jury",
    resamples: Resamples = 2000,
    seed: Seed = 0,
    progress: Progress | None = None,
    **reading: Unpack[ReadingOptions],
) -> Jury:
    """Combine several judges into one, and show where it is better than the best of them.

    `majority` is the level that most members gave; if there is none, their mean if that is a level,
    else no answer. `mean` is the level nearest to their mean. `dawid-skene` is the most probable
    level, given each member's reliability. `weights` learns from people how much each member counts
    (ridge regression), in each language and criterion, and never from the sources it then judges. A
    jury with a single member gives that member's answers.

    Members that make the same mistakes add little: the table shows how many independent judges they
    are worth. The jury is compared with its best member, which is chosen on other sources than
    those on which they are compared. Where the jury is not better, use that member instead. A jury
    costs as much as its members together; `metal.select(cascade=...)` asks a second judge only
    where the first is unsure.

    Args:
        data: A dataset folder, a table of ratings (file or DataFrame), or a dataset from
            `metal.read`; `ratings` are runs of `metal.judge`.
        progress: Called with the number of parts done and of all parts.

    Returns:
        The table `jury`, the ratings and the page. Nothing is written before `save`;
        `metal.audit(DATA, RUNS, FOLDER)` compares the saved jury with its members and gives it a
        verdict of its own.

    Raises:
        UsageError: If nothing was rated, for a rule that does not suit a criterion, or if a rater
            already has the jury's name.
        UnknownName: For a judge that does not exist.

    Example:
        metal.jury("datasets/news", "runs/news-judges", by="weights").save("runs/news-jury")
    """
    from metal.auditing.cells import judges_of
    from metal.auditing.settings import AuditSettings
    from metal.data.pairs import one_item_per_pair, originals
    from metal.data.records import Rater
    from metal.data.text import signature_line
    from metal.questions.jury.compute import seated
    from metal.questions.jury.run import Jury
    from metal.stats.bootstrap import SourceBootstrap
    from metal.version import __version__

    inputs = load(data, ratings, reading)
    dataset, left_out = originals(one_item_per_pair(inputs.dataset))
    if name in inputs.dataset.raters:
        raise UsageError(f"`name` {name!r}: a rater has that name; give another")
    members = names(judges) or tuple(
        judge
        for judge in judges_of(dataset, AuditSettings())
        if dataset.raters[judge].kind == "llm" and "members" not in dataset.raters[judge].about
    )
    settings = AuditSettings(
        members, names(criteria), names(languages), reference, resamples=resamples, seed=seed
    )
    facts, table = seated(
        dataset, settings, by, name, SourceBootstrap(resamples, seed), progress or no_progress
    )
    asked = {
        "judges": list(members),
        "by": by,
        "reference": reference,
        "resamples": resamples,
        "seed": seed,
    }
    identity: dict[str, object] = {"members": list(members), "by": by}
    prices = [dataset.raters[member].about.get("dollars_per_thousand") for member in members]
    if None not in prices:
        identity["dollars_per_thousand"] = sum(float(price or 0) for price in prices)
    signed = signature_line(
        {"metal": __version__, "data": dataset.identity, **asked, "judges": "+".join(members)}
    )
    manifest = inputs.manifest("jury", dataset, asked, [name], signed).to_dict()
    raters = {name: Rater(name, "llm", "jury", identity)}
    return Jury(
        dataset.card.name, manifest, dataset.criteria, raters, {"jury": table}, left_out, facts
    )
