"""Bring contents into more languages: list the texts to translate, and build the dataset with their
translations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from metal.data.dataset import Card, Dataset, assemble, with_parts
from metal.data.ratings import facts_from
from metal.data.records import Output, Source
from metal.errors import UsageError

SOURCE, OUTPUT = "source", "output"


def content_of(dataset: Dataset, output: Output) -> tuple[str, str]:
    """The two things that an output and its translations share: the content and the generator."""
    return dataset.sources[output.source].content or output.source, output.generator


def untranslated(dataset: Dataset, language: str, pivot: str) -> Iterator[Output]:
    """The outputs in the pivot language that have no counterpart in another language."""
    originals = [output for output in dataset.outputs.values() if not output.condition]
    have = {content_of(dataset, output) for output in originals if output.language == language}
    for output in originals:
        if output.language == pivot and content_of(dataset, output) not in have:
            yield output


def texts_to_translate(dataset: Dataset, languages: Sequence[str], pivot: str) -> Dataset:
    """The texts of outputs and of their sources that are missing in the languages. Each text
    becomes a source, and its language is a pair such as `en-eu`, as
    `metal.generate(quality="translation")` expects.
    """
    texts: dict[str, Source] = {}
    for language in languages:
        for output in untranslated(dataset, language, pivot):
            for part, name, text in (
                (SOURCE, output.source, dataset.sources[output.source].text),
                (OUTPUT, output.output, output.text),
            ):
                if text.strip():
                    key = f"{part}/{language}/{name}"
                    texts[key] = Source(key, f"{pivot}-{language}", text)
    if not texts:
        raise UsageError(
            "nothing to translate: every content is in every language, or its texts are missing"
        )
    card = Card(
        f"{dataset.card.name}-texts", licence=dataset.card.licence, citation=dataset.card.citation
    )
    return assemble(card, dataset.criteria.values(), texts.values(), [], [], facts_from([]))


def with_translations(
    dataset: Dataset, translations: Mapping[str, str], languages: Sequence[str], pivot: str
) -> tuple[Dataset, int]:
    """Add an output for each translated output, in a source of the same content; also return how
    many translations are missing.

    translations: id of `texts_to_translate` -> translated text. An output without a translation is
    left out. A source without a translation has no text.
    """
    sources, outputs, missing = dict(dataset.sources), dict(dataset.outputs), 0
    for language in languages:
        for output in untranslated(dataset, language, pivot):
            text = translations.get(f"{OUTPUT}/{language}/{output.output}", "")
            original = dataset.sources[output.source]
            source_text = translations.get(f"{SOURCE}/{language}/{original.source}", "")
            if not text.strip() or (original.text.strip() and not source_text.strip()):
                missing += 1
                continue
            content = original.content or original.source
            source = Source(f"{language}/{original.source}", language, source_text, content=content)
            sources[original.source] = replace(original, content=content)
            sources[source.source] = source
            name = f"{language}/{output.output}"
            outputs[name] = Output(name, source.source, output.generator, language, text)
    if len(outputs) == len(dataset.outputs):
        raise UsageError(
            "no translation belongs to a missing text; its ids must be those of the texts to be"
            " translated"
        )
    return with_parts(dataset, sources=sources.values(), outputs=outputs.values()), missing
