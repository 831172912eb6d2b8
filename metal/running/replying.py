"""The questions that judges were asked about an output, and their replies, from a run's journal.

The messages are built again.

The journal has no messages, because these follow from prompts and texts. They are built in the same
way as for the run. A message counts as the one that was sent if its key is in the journal, or if
the hashes of its prompt and texts equal those of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from metal.data.dataset import Dataset
from metal.data.stored_texts import with_texts_in_file
from metal.errors import MetalError
from metal.raters.judges.collect import failure_reason
from metal.raters.judges.journal import FILE as JOURNAL
from metal.raters.judges.journal_lines import JournalLines
from metal.raters.judges.models import Model
from metal.raters.judges.plan import JudgingQuestion
from metal.running.job import read_request
from metal.running.judging import JudgeJob, JudgeRequest, judge_job
from metal.runs.judges_run import texts_digest


@dataclass(frozen=True)
class ReplyRecord:
    """One answer to a call, or the reason why there is none.

    ask: counts how often the call was made. message: what the provider said.

    text: the text of the reply. reply: the whole reply as received. dollars: its cost; None without
    a price. seconds: its latency; None in a batch. version: the provider's name for the model's
    version. reused: whether it was taken from another run.

    read_from: the spans of the text that decided the score, or that kept it from having one; empty
    if there are none, or if the question cannot be built again.
    """

    ask: int
    at: str
    text: str = ""
    ending: str = ""
    failure: str = ""
    message: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    dollars: float | None = None
    seconds: float | None = None
    version: str = ""
    reused: bool = False
    reply: Any = None
    read_from: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class AskedCall:
    """A call to a judge about an output.

    criteria: the criterion, or those asked together. sample: the number of a repeated call.

    system, user: the messages as they were sent; None if they cannot be built again.
    about_messages: why not, or how far they were checked.
    """

    run: str
    judge: str
    output: str
    criteria: tuple[str, ...]
    sample: int = 1
    system: str | None = None
    user: str | None = None
    about_messages: str = ""
    answers: tuple[ReplyRecord, ...] = ()
    ratings: tuple[Mapping[str, Any], ...] = field(default=())


class JournaledRun:
    """A judges' run whose calls are looked up. Keep it for the next output: only the first look-up
    reads the journal and builds the run's job.

    dataset: the run's dataset; None if it is no longer there.
    """

    def __init__(self, run: Path, dataset: Dataset | None) -> None:
        self.run, self.dataset = run, dataset
        self.request, self.settings = read_request(run, "judge", JudgeRequest)
        self._journal = JournalLines(run / JOURNAL)

    @cached_property
    def _built(self) -> tuple[JudgeJob | None, str]:
        """The run's job, or the reason why it cannot be built again."""
        if self.dataset is None:
            return None, f"the dataset {self.settings['dataset']} is no longer there"
        try:
            job = judge_job(self.request, Path(self.settings["dataset"]), self.dataset)
        except MetalError as error:
            return None, str(error)
        job.plan = replace(job.plan, outputs=[*with_texts_in_file(job.plan.outputs)])
        return job, ""

    @cached_property
    def _texts(self) -> str:
        """The hash of the dataset's texts."""
        return texts_digest(self.dataset) if self.dataset else ""

    @cached_property
    def _digests(self) -> dict[str, str]:
        """The hash of each prompt."""
        job, _ = self._built
        return job.digests() if job else {}

    def calls(self, output: str) -> Iterator[AskedCall]:
        """The calls about an output that the journal has, in the order in which the run
        makes them.
        """
        first_records: dict[str, dict[str, Any]] = {}
        answers: dict[str, list[dict[str, Any]]] = {}
        for record in self._journal.records(output):
            first_records.setdefault(record["key"], record)
            answers.setdefault(record["key"], []).append(record)
        questions = self._questions(output)
        same = {question.key for question, _ in questions.values()}
        for (judge, prompt, criteria, sample), (question, model) in questions.items():
            # also of a second name of the model, which is asked nothing twice
            if question.key in answers:
                call = AskedCall(str(self.run), _judge(judge, prompt), output, criteria, sample)
                yield self._whole(
                    call,
                    question.key,
                    question,
                    [_answered(each, model) for each in answers[question.key]],
                )
        for key, record in first_records.items():
            if key not in same:
                criteria = record["criteria"] if "criteria" in record else [record["criterion"]]
                asked_as = record["judge"], record["prompt"], tuple(criteria), record["sample"]
                asked, of = questions.get(asked_as, (None, None))
                call = AskedCall(str(self.run), _judge(*asked_as[:2]), output, *asked_as[2:])
                yield self._whole(call, key, asked, [_answered(each, of) for each in answers[key]])

    def _questions(self, output: str) -> dict[tuple[Any, ...], tuple[JudgingQuestion, Model]]:
        """The questions about an output as the run asked them: (judge, prompt, criteria, sample) ->
        question, model.
        """
        job, _ = self._built
        questions = {}
        if job:
            # a dictionary of all of them would take more memory than the look-up takes time
            of_id = [each for each in job.plan.outputs if each.output == output]
            plan = replace(job.plan, outputs=of_id)
            for model in plan.models:
                for question in plan.questions(model):
                    asked_as = model.name, question.prompt.name, question.criteria, question.sample
                    questions[asked_as] = question, model
        return questions

    def _whole(
        self,
        call: AskedCall,
        key: str,
        question: JudgingQuestion | None,
        answers: list[ReplyRecord],
    ) -> AskedCall:
        """The call with its answers, and with its messages if they are shown to be those that were
        sent.
        """
        call = replace(call, answers=tuple(answers))
        job, why = self._built
        if job is None or self.dataset is None:
            return replace(call, about_messages=f"cannot be built again: {why}")
        if question is None:
            return replace(
                call, about_messages="cannot be built again: the run no longer asks this question"
            )
        message = question.message
        marked = [
            answer
            if answer.failure
            else replace(answer, read_from=question.passages(answer.text, answer.ending))
            for answer in answers
        ]
        built = replace(call, system=message.system, user=message.user, answers=tuple(marked))
        if question.key == key:
            return built
        if self.settings.get("texts") != self._texts:
            return replace(
                call,
                about_messages=(
                    "cannot be built again: texts of the dataset have changed since then"
                ),
            )
        before, now = self.settings.get("prompt_hashes", {}), self._digests
        for criterion in call.criteria:
            name = f"{question.prompt.name} {criterion}"
            if before.get(name) != now.get(name):
                changed = f"prompt {name} was {before.get(name)} then and is {now.get(name)} now"
                return replace(call, about_messages=f"cannot be built again: {changed}")
        return replace(
            built,
            about_messages=(
                "found by the hashes of prompt and texts; the model's address or settings are"
                " different now"
            ),
        )


def _judge(model: str, prompt: str) -> str:
    return f"{model}/{prompt}" if prompt else model


def _answered(record: Mapping[str, Any], model: Model | None) -> ReplyRecord:
    ask, at, reused = record.get("ask", 1), str(record.get("at", "")), bool(record.get("reused"))
    if "text" not in record:
        body, message = str(record.get("body", "")), str(record.get("said", ""))
        return ReplyRecord(
            ask, at, body, failure=failure_reason(record), message=message, reused=reused
        )
    tokens_in, tokens_out = record["tokens"]
    price = model.price if model else None
    if model and "batch" in record:
        price = model.batch_price or price
    dollars = None
    if price and tokens_in is not None and tokens_out is not None:
        dollars = price.cost(tokens_in, tokens_out)
    version = f"{record['model']} {record['fingerprint']}".strip()
    return ReplyRecord(
        ask, at, record["text"], record["ending"], "", "", tokens_in, tokens_out, dollars,
        record["seconds"], version, reused, record.get("reply"),
    )  # fmt: skip
