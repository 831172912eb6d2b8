"""METAL: whether an LLM judge can be trusted, in which language, for which question.

Every verb of the command line is a function here, with the same options: `metal audit DATASET --resamples 500` is
`metal.audit("DATASET", resamples=500)`. Functions return results, print nothing, and can be used in notebooks.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metal import errors as errors
from metal.version import __version__ as __version__

if TYPE_CHECKING:
    from metal.questions.audit.verb import audit as audit
    from metal.questions.audit.verb import design as design
    from metal.questions.audit.verb import leaderboard as leaderboard
    from metal.api.annotate import annotate_export as annotate_export
    from metal.api.annotate import annotate_import as annotate_import
    from metal.api.annotate import annotate_status as annotate_status
    from metal.api.annotate_label_studio import annotate_pull_label_studio as annotate_pull_label_studio
    from metal.api.annotate_label_studio import annotate_push_label_studio as annotate_push_label_studio
    from metal.api.annotate_mturk import annotate_pull_mturk as annotate_pull_mturk
    from metal.api.annotate_mturk import annotate_push_mturk as annotate_push_mturk
    from metal.api.asked import Generating as Generating
    from metal.api.asked import Judging as Judging
    from metal.questions.bias.verb import bias_language as bias_language
    from metal.questions.bias.verb import bias_plan as bias_plan
    from metal.questions.board.verb_parts import billboard_apply as billboard_apply
    from metal.questions.board.verb_parts import billboard_crowd as billboard_crowd
    from metal.questions.board.verb_parts import billboard_history as billboard_history
    from metal.questions.board.verb_parts import billboard_references as billboard_references
    from metal.questions.board.verb import billboard as billboard
    from metal.questions.board.verb import submit_generator as submit_generator
    from metal.questions.board.verb import submit_metric as submit_metric
    from metal.questions.board.verb import submit_withdraw as submit_withdraw
    from metal.questions.correct.verb import correct as correct
    from metal.api.criteria import criterion_new as criterion_new
    from metal.questions.dataset.verb import check as check
    from metal.questions.dataset.verb import compare as compare
    from metal.questions.dataset.verb import describe as describe
    from metal.questions.dataset.verb import export as export
    from metal.questions.audit.demo import demo as demo
    from metal.questions.design.verb_anchors import design_anchors as design_anchors
    from metal.questions.design.labels.verb import design_labels as design_labels
    from metal.questions.drift.verb_diff import diff as diff
    from metal.questions.drift.result import Diff as Diff
    from metal.questions.drift.result import Gate as Gate
    from metal.api.folders import Folder as Folder
    from metal.api.folders import ls as ls
    from metal.questions.drift.verb_gate import gate as gate
    from metal.questions.drift.verb_init import gate_init as gate_init
    from metal.questions.generate.verb import generate as generate
    from metal.questions.generate.verb import generate_async as generate_async
    from metal.api.judges import judges_list as judges_list
    from metal.api.judges import judges_test as judges_test
    from metal.api.judges import prompt_list as prompt_list
    from metal.api.judges import prompt_show as prompt_show
    from metal.api.judging import judge as judge
    from metal.api.judging import judge_async as judge_async
    from metal.api.judging import judge_cancel as judge_cancel
    from metal.questions.jury.verb import jury as jury
    from metal.questions.people.verb import monitor as monitor
    from metal.questions.people.verb import monitor_simulate as monitor_simulate
    from metal.questions.passport.verb import passport as passport
    from metal.questions.probe.verb import probe_plan as probe_plan
    from metal.questions.probe.verb import probe_report as probe_report
    from metal.questions.probe.verb import probe_run as probe_run
    from metal.questions.board.result import Billboard as Billboard
    from metal.api.read import formats as formats
    from metal.api.read import read as read
    from metal.api.replies import Replies as Replies
    from metal.api.replies import replies as replies
    from metal.api.report import open_run as open_run
    from metal.api.report import report as report
    from metal.api.results import Audit as Audit
    from metal.api.sample import sample as sample
    from metal.questions.design.labels.verb_sample import sample_labels as sample_labels
    from metal.api.score import metric_check as metric_check
    from metal.api.score import metric_list as metric_list
    from metal.api.score import score as score
    from metal.questions.select.verb import select as select
    from metal.questions.drift.verb_watch import gate_watch as gate_watch
    from metal.data.dataset import Dataset as Dataset
    from metal.data.records import Criterion as Criterion
    from metal.data.records import Estimate as Estimate
    from metal.data.records import Level as Level
    from metal.data.records import Scale as Scale
    from metal.raters.metrics.contract import Answer as Answer
    from metal.raters.metrics.contract import Item as Item
    from metal.raters.metrics.contract import Metric as Metric
    from metal.running.asking import Callbacks as Callbacks

# The imports above, which only type checkers make, are also the list by which Python finds a name on its first use.
_SOURCE = Path(__file__).read_text(encoding="utf-8")
_IMPORTED = re.findall(r"^    from (metal\S+) import (\w+) as \w+$", _SOURCE, re.MULTILINE)
_HOME = {name: module for module, name in _IMPORTED}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    value = getattr(import_module(_HOME[name]), name) if name in _HOME else _verb_of_another_package(name)
    globals()[name] = value
    return value


def _verb_of_another_package(name: str) -> Any:
    """A public function that an installed package offers as an entry point of the group `metal.verbs`."""
    from metal.data.plugins import plugins

    if name.startswith("_") or name not in (verbs := plugins("metal.verbs")):
        raise AttributeError(f"module 'metal' has no attribute {name!r}")
    return verbs[name].load()


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
