"""METAL: whether an LLM judge can be trusted, in which language, for which question.

Every verb of the command line is a function here, with the same options: `metal audit DATASET
--resamples 500` is `metal.audit("DATASET", resamples=500)`. Functions return results, print
nothing, and can be used in notebooks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metal import errors as errors
from metal.version import __version__ as __version__

if TYPE_CHECKING:
    from metal.api.annotate import annotate_export as annotate_export
    from metal.api.annotate import annotate_import as annotate_import
    from metal.api.annotate import annotate_status as annotate_status
    from metal.api.annotate_label_studio import (
        annotate_pull_label_studio as annotate_pull_label_studio,
    )
    from metal.api.annotate_label_studio import (
        annotate_push_label_studio as annotate_push_label_studio,
    )
    from metal.api.annotate_mturk import annotate_pull_mturk as annotate_pull_mturk
    from metal.api.annotate_mturk import annotate_push_mturk as annotate_push_mturk
    from metal.api.asked import Judging as Judging
    from metal.api.criteria import criterion_new as criterion_new
    from metal.api.export import export as export
    from metal.api.folders import Folder as Folder
    from metal.api.folders import ls as ls
    from metal.api.judges import judges_list as judges_list
    from metal.api.judges import judges_test as judges_test
    from metal.api.judges import prompt_list as prompt_list
    from metal.api.judges import prompt_show as prompt_show
    from metal.api.judging import judge as judge
    from metal.api.judging import judge_async as judge_async
    from metal.api.judging import judge_cancel as judge_cancel
    from metal.api.read import formats as formats
    from metal.api.read import read as read
    from metal.api.replies import Replies as Replies
    from metal.api.replies import replies as replies
    from metal.api.report import open_run as open_run
    from metal.api.report import report as report
    from metal.api.sample import sample as sample
    from metal.api.schema import Validated as Validated
    from metal.api.schema import schema as schema
    from metal.api.schema import schema_validate as schema_validate
    from metal.api.score import metric_check as metric_check
    from metal.api.score import metric_list as metric_list
    from metal.api.score import score as score
    from metal.app.bundle import Bundle as Bundle
    from metal.app.bundle import view_bundle as view_bundle
    from metal.app.server import View as View
    from metal.app.verb import view as view
    from metal.data.dataset import Dataset as Dataset
    from metal.data.records import Criterion as Criterion
    from metal.data.records import Estimate as Estimate
    from metal.data.records import Level as Level
    from metal.data.records import Scale as Scale
    from metal.questions.adjudicate.run import Adjudicated as Adjudicated
    from metal.questions.adjudicate.verb import adjudicate_plan as adjudicate_plan
    from metal.questions.adjudicate.verb_report import adjudicate_report as adjudicate_report
    from metal.questions.audit.demo import demo as demo
    from metal.questions.audit.result import Audit as Audit
    from metal.questions.audit.verb import audit as audit
    from metal.questions.bias.run import LanguageBias as LanguageBias
    from metal.questions.bias.verb import bias_language as bias_language
    from metal.questions.bias.verb import bias_plan as bias_plan
    from metal.questions.board.run import Billboard as Billboard
    from metal.questions.board.verb import billboard as billboard
    from metal.questions.board.verb import submit_generator as submit_generator
    from metal.questions.board.verb import submit_metric as submit_metric
    from metal.questions.board.verb import submit_withdraw as submit_withdraw
    from metal.questions.board.verb_parts import billboard_apply as billboard_apply
    from metal.questions.board.verb_parts import billboard_crowd as billboard_crowd
    from metal.questions.board.verb_parts import billboard_history as billboard_history
    from metal.questions.board.verb_parts import billboard_references as billboard_references
    from metal.questions.correct.run import CorrectedScores as CorrectedScores
    from metal.questions.correct.verb import correct as correct
    from metal.questions.dataset.verb import check as check
    from metal.questions.dataset.verb import compare as compare
    from metal.questions.dataset.verb import describe as describe
    from metal.questions.design.labels.run import LabelPlan as LabelPlan
    from metal.questions.design.labels.verb import design_labels as design_labels
    from metal.questions.design.labels.verb_sample import sample_labels as sample_labels
    from metal.questions.design.run import Design as Design
    from metal.questions.design.verb import design as design
    from metal.questions.design.verb_anchors import design_anchors as design_anchors
    from metal.questions.drift.run import Diff as Diff
    from metal.questions.drift.run import Gate as Gate
    from metal.questions.drift.verb_diff import diff as diff
    from metal.questions.drift.verb_gate import gate as gate
    from metal.questions.drift.verb_init import gate_init as gate_init
    from metal.questions.drift.verb_watch import gate_watch as gate_watch
    from metal.questions.generate.run import GeneratedTexts as GeneratedTexts
    from metal.questions.generate.run import Generating as Generating
    from metal.questions.generate.verb import generate as generate
    from metal.questions.generate.verb import generate_async as generate_async
    from metal.questions.jury.run import Jury as Jury
    from metal.questions.jury.verb import jury as jury
    from metal.questions.leaderboard.run import Leaderboard as Leaderboard
    from metal.questions.leaderboard.verb import leaderboard as leaderboard
    from metal.questions.official.run import OfficialTable as OfficialTable
    from metal.questions.official.verb import billboard_layout as billboard_layout
    from metal.questions.passport.run import Passport as Passport
    from metal.questions.passport.verb import passport as passport
    from metal.questions.people.run import Monitor as Monitor
    from metal.questions.people.verb import monitor as monitor
    from metal.questions.people.verb import monitor_simulate as monitor_simulate
    from metal.questions.probe.run import ProbeReport as ProbeReport
    from metal.questions.probe.verb import probe_plan as probe_plan
    from metal.questions.probe.verb import probe_report as probe_report
    from metal.questions.probe.verb import probe_run as probe_run
    from metal.questions.select.run import Selection as Selection
    from metal.questions.select.verb import select as select
    from metal.questions.verify.run import Verified as Verified
    from metal.questions.verify.verb import verify as verify
    from metal.raters.metrics.contract import Answer as Answer
    from metal.raters.metrics.contract import Item as Item
    from metal.raters.metrics.contract import Metric as Metric
    from metal.running.asking import Callbacks as Callbacks
    from metal.serving.server import Served as Served
    from metal.serving.studies import Study as Study
    from metal.serving.verb import serve as serve
    from metal.serving.verb import serve_backup as serve_backup
    from metal.serving.verb import serve_restore as serve_restore
    from metal.serving.verb import serve_token as serve_token
    from metal.serving.verb import study_ls as study_ls
    from metal.serving.verb import study_new as study_new

# Where the names above are that no kind of run brings (metal.runs.kinds); each is imported on its
# first use.
_HOMES = {
    "metal.api.annotate": ("annotate_export", "annotate_import", "annotate_status"),
    "metal.api.annotate_label_studio": ("annotate_pull_label_studio", "annotate_push_label_studio"),
    "metal.api.annotate_mturk": ("annotate_pull_mturk", "annotate_push_mturk"),
    "metal.api.asked": ("Judging",),
    "metal.api.criteria": ("criterion_new",),
    "metal.api.export": ("export",),
    "metal.api.folders": ("Folder", "ls"),
    "metal.api.judges": ("judges_list", "judges_test", "prompt_list", "prompt_show"),
    "metal.api.judging": ("judge", "judge_async", "judge_cancel"),
    "metal.api.read": ("formats", "read"),
    "metal.api.replies": ("Replies", "replies"),
    "metal.api.report": ("open_run", "report"),
    "metal.api.sample": ("sample",),
    "metal.api.schema": ("Validated", "schema", "schema_validate"),
    "metal.api.score": ("metric_check", "metric_list", "score"),
    "metal.app.bundle": ("Bundle", "view_bundle"),
    "metal.app.server": ("View",),
    "metal.app.verb": ("view",),
    "metal.data.dataset": ("Dataset",),
    "metal.data.records": ("Criterion", "Estimate", "Level", "Scale"),
    "metal.questions.adjudicate.verb": ("adjudicate_plan",),
    "metal.questions.audit.demo": ("demo",),
    "metal.questions.bias.verb": ("bias_plan",),
    "metal.questions.board.verb": ("submit_generator", "submit_metric", "submit_withdraw"),
    "metal.questions.board.verb_parts": (
        "billboard_apply",
        "billboard_crowd",
        "billboard_history",
        "billboard_references",
    ),
    "metal.questions.dataset.verb": ("check", "compare", "describe"),
    "metal.questions.design.labels.verb_sample": ("sample_labels",),
    "metal.questions.design.verb_anchors": ("design_anchors",),
    "metal.questions.drift.verb_init": ("gate_init",),
    "metal.questions.drift.verb_watch": ("gate_watch",),
    "metal.questions.generate.run": ("Generating",),
    "metal.questions.generate.verb": ("generate_async",),
    "metal.questions.people.verb": ("monitor_simulate",),
    "metal.questions.probe.verb": ("probe_plan", "probe_run"),
    "metal.raters.metrics.contract": ("Answer", "Item", "Metric"),
    "metal.running.asking": ("Callbacks",),
    "metal.serving.server": ("Served",),
    "metal.serving.studies": ("Study",),
    "metal.serving.verb": (
        "serve",
        "serve_backup",
        "serve_restore",
        "serve_token",
        "study_ls",
        "study_new",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*_HOME, *_of_kinds()]
    value = getattr(import_module(_HOME[name]), name) if name in _HOME else _offered(name)
    globals()[name] = value
    return value


def _of_kinds() -> dict[str, str]:
    """The function and the class of every kind of run, and where each is, by the kind's name."""
    from metal.runs.kinds import kinds

    places = [target for kind in kinds().values() for target in (kind.function, kind.run)]
    return {target.partition(":")[2]: target for target in places}


def _offered(name: str) -> Any:
    """What a kind of run adds to `metal`, or a function that an installed package offers
    (`metal.verbs`).
    """
    from metal.data.plugins import plugins
    from metal.runs.kinds import load

    if not name.startswith("_"):
        if name in (places := _of_kinds()):
            return load(places[name])
        if name in (verbs := plugins("metal.verbs")):
            return verbs[name].load()
    raise AttributeError(f"module 'metal' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, without what this file imports for itself."""
    from metal.data.plugins import plugins

    return sorted({*_HOME, *_of_kinds(), *plugins("metal.verbs"), "errors", "__version__"})
