"""The same contents in more languages: the texts to translate, and the dataset with their
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
    """What is the same across languages: the content, and who made the output."""
    return dataset.sources[output.source].content or output.source, output.generator


def untranslated(dataset: Dataset, language: str, pivot: str) -> Iterator[Output]:
    """The outputs in the pivot language whose content is missing in another language."""
    originals = [output for output in dataset.outputs.values() if not output.condition]
    have = {content_of(dataset, output) for output in originals if output.language == language}
    for output in originals:
        if output.language == pivot and content_of(dataset, output) not in have:
            yield output


def texts_to_translate(dataset: Dataset, languages: Sequence[str], pivot: str) -> Dataset:
    """The texts of the outputs, and of their sources, that are missing in the languages: each
    becomes a source whose language is the pair (`en-eu`), the form that
    `metal.generate(quality="translation")` takes.
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
    """The dataset with an output for each translated output, in a source of the same content; and
    how many translations are missing.

    translations: the texts, by the ids of `texts_to_translate`. An output without its translation
    is left out; a source without one has no text.
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
