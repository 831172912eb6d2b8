"""`metal bias language` through a server: instructions in the language of the text, repeats, wrong
languages; RECON.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metal
from metal.data.files import bundled
from metal.errors import UsageError
from tests.llm_server import LlmServer, prompt_digest
from tests.saying import tells

OUTPUT = re.compile(
    r"----- OUTPUT (\w+) BEGINS -----\n(.*?)\n----- OUTPUT \1 ENDS -----", re.DOTALL
)


def hashed(text: str) -> int:
    return int(prompt_digest(text), 16)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder to work in, and a key that is nobody's."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def small(contents: int = 40) -> metal.Dataset:
    """The same contents in English, Spanish and Hindi with their quality in the text, each as one
    output.
    """
    rows = [
        {
            "source": f"q{content}",
            "language": language,
            "rater": "A1",
            "task_quality": content % 3,
            "source_text": f"Source {content} {language}",
            "text": f"Output {content} {language} {content % 3}",
        }
        for content in range(contents)
        for language in ("en", "es", "hi")
    ]
    return metal.read(pd.DataFrame(rows), levels={"task_quality": "0=Bad,1=Medium,2=Good"})


def test_instructions_in_the_language_of_the_text(asked: Path) -> None:
    """The judge is one lower when asked in Hindi, and changes a quarter of its answers when asked
    again.
    """
    small().save(asked / "data")
    seen: dict[str, int] = {}

    def answer(prompt: str, body: object) -> str:
        seen[prompt] = seen.get(prompt, 0) + 1
        text = OUTPUT.findall(prompt)[0][1]
        quality = int(text[-1])
        score = max(quality - 1, 0) if "मानदंड" in prompt else quality
        changed = seen[prompt] > 1 and hashed(text) % 4 == 0
        return json.dumps({"score": (score + 1) % 3 if changed else score, "justification": "x"})

    with LlmServer() as server:
        server.answer = answer
        own = {"base_url": server.openai_url, "prompt": "simple"}
        metal.judge("data", "openai-compatible:j", out="plain", repeat=2, **own)
        judged = metal.judge(
            "data", "openai-compatible:j", out="text", prompt_language="text", **own
        )
    assert any(tells(line, "no speaker", "in Hindi and Spanish") for line in judged.job.warnings)
    about = {rater.rater: rater for rater in metal.open_run("text").raters.values()}[
        "openai-compatible:j/simple-text"
    ].about
    assert (about["prompt_language"], about["translation_of"]) == (
        "text",
        "openai-compatible:j/simple",
    )
    bias = metal.bias_language("data", "plain", "text")
    rows = {row["language"]: row for row in bias.tables["conditions"].to_dict("records")}
    assert set(rows) == {"es", "hi"}  # in English it is the same prompt
    assert {row["condition"] for row in rows.values()} == {"prompt in the text's language"}
    assert (rows["es"]["says"], rows["es"]["change"]) == ("even", 0)
    lowered = sum(content % 3 > 0 for content in range(40)) / 40
    assert rows["hi"]["says"] == "changes"
    assert rows["hi"]["change"] == pytest.approx(-lowered)
    # of a scale of 2, from people it had agreed with
    assert rows["hi"]["nearer"] == pytest.approx(-lowered / 2)
    assert rows["hi"]["flip_p"] == pytest.approx(2 * 0.5 ** (lowered * 40))
    leans = bias.tables["language_bias"].set_index(["judge", "language"])
    floor = sum(hashed(f"Output {content} en {content % 3}") % 4 == 0 for content in range(40)) / 40
    assert leans.loc[("openai-compatible:j/simple", "hi"), "flips"] == 0
    assert leans.loc[("openai-compatible:j/simple", "hi"), "excess_flips"] == pytest.approx(-floor)
    html = bias.save(asked / "bias") / "report.html"
    assert f" language: {'−'}0.65 in Hindi" in html.read_text(encoding="utf-8")


def test_a_language_without_a_prompt_is_named(asked: Path) -> None:
    small().save(asked / "data")
    text = (bundled("prompts") / "criteria" / "task_quality.es.toml").read_text("utf-8")
    (asked / "criteria").mkdir()
    brief = re.sub(r'detailed = """.*?"""', "", text, flags=re.DOTALL)
    (asked / "criteria" / "task_quality.es.toml").write_text(brief, "utf-8")
    with pytest.raises(UsageError, match="has no detailed description in 'es'"):
        metal.judge("data", "openai:j", prompt_language="text", prompt_folders=".")
    frame = pd.DataFrame(
        {"source": ["a"], "language": "eu", "rater": "A1", "task_quality": 1, "text": "Testua"}
    )
    metal.read(frame, levels={"task_quality": "0=Bad,1=Medium,2=Good"}).save(asked / "basque")
    for options, files in (
        ({}, "judge/simple.eu.toml and criteria/task_quality.eu.toml"),
        ({"together": True}, "judge/simple-together.eu.toml and criteria/task_quality.eu.toml"),
        ({"prompt_language": "es", "together": True}, "judge/simple-together.es.toml"),
    ):
        with pytest.raises(UsageError, match=f"no prompt simple.* in .*: write {files} in"):
            metal.judge(
                "basque", "openai:j", **{"prompt": "simple", "prompt_language": "text", **options}
            )
    frame["language"] = "en"
    metal.read(frame, levels={"task_quality": "0=Bad,1=Medium,2=Good"}).save(asked / "english")
    with pytest.raises(UsageError, match="outputs are in English"):
        metal.judge("english", "openai:j", prompt="simple", prompt_language="text")


def test_wrong_languages_are_noticed_or_not() -> None:
    """By hand: of 20 outputs a language 15 could fall on the criterion of language, and 9 or none
    do.
    """
    rows = []
    for language in ("en", "hi"):
        for content in range(20):
            best = content >= 5
            for criterion, before, after in (
                (
                    "linguistic_acceptability",
                    2 * best,
                    0 if best and content < 14 and language == "hi" else 2 * best,
                ),
                ("task_quality", 1, 0 if content < 4 else 1),
            ):
                common = {
                    "source": f"q{content}",
                    "language": language,
                    "rater": "gpt",
                    "criterion": criterion,
                }
                rows.append({**common, "output": f"{language}{content}", "score": before})
                wrong = {
                    "output": f"{language}{content}w",
                    "of": f"{language}{content}",
                    "condition": "wrong language",
                }
                rows.append({**common, **wrong, "score": after})
    bias = metal.bias_language(metal.read(pd.DataFrame(rows), levels={"*": "0<1<2"}))
    table = bias.tables["conditions"].set_index(["criterion", "language"])
    language, content = table.loc["linguistic_acceptability"], table.loc["task_quality"]
    assert language["expected"].tolist() == ["falls", "falls"]
    assert language["noticed"].tolist() == [0, pytest.approx(9 / 15)]
    assert language.loc["hi", ["noticed_low", "noticed_high"]].tolist() == pytest.approx(
        [0.3575, 0.8018], abs=1e-4
    )
    assert content["expected"].tolist() == ["stays", "stays"]
    assert content["collateral"].tolist() == pytest.approx([0.2, 0.2])
    assert language["collateral"].isna().all()


def test_a_criterion_of_the_user_s_must_fall_only_if_named() -> None:
    rows = []
    for language in ("en", "hi"):
        for content in range(12):
            common = {
                "source": f"q{content}",
                "language": language,
                "rater": "gpt",
                "criterion": "fluency",
            }
            rows.append({**common, "output": f"{language}{content}", "score": 2})
            wrong = {
                "output": f"{language}{content}w",
                "of": f"{language}{content}",
                "condition": "other script",
            }
            rows.append({**common, **wrong, "score": content % 2})
    dataset = metal.read(pd.DataFrame(rows), levels={"*": "0<1<2"})
    assert set(metal.bias_language(dataset).tables["conditions"]["expected"]) == {""}
    table = metal.bias_language(dataset, falls="fluency").tables["conditions"]
    assert table["noticed"].tolist() == [1, 1]
    with pytest.raises(metal.errors.UnknownName, match="fluenci"):
        metal.bias_language(dataset, falls="fluenci")


def recon(folder: Path) -> metal.Dataset:
    """RECON as published: 500 responses in three languages, in Spanish and Basque with the rubric
    in English and, as outputs made from these, with the rubric in the language of the text; the
    intended score as a person's.
    """
    rows = []
    for language, name in (
        ("en", "en"),
        ("es", "io_es"),
        ("eu", "io_eu"),
        ("es", "es"),
        ("eu", "eu"),
    ):
        with gzip.open(folder / f"recon_{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for place, line in enumerate(lines):
                item = json.loads(line)
                sections = re.split(r"^###.*:\s*$", item["inputs"], flags=re.MULTILINE)
                own = name in ("es", "eu")
                rows.append(
                    {
                        "content_id": f"q{place}",
                        "source": f"{name}/{place}",
                        "output": f"{name}/{place}",
                        "language": language,
                        "source_text": "\n".join([sections[2], *sections[4:]]),
                        "text": f"{sections[3].strip()} ",
                        "of": f"io_{language}/{place}" if own else "",
                        "condition": "rubric in the language of the text" if own else "",
                        "rater": "intended",
                        "score": item["gold"],
                    }
                )
    frame = pd.DataFrame(rows)
    columns = {"content": "content_id", "source": "source", "output": "output"}
    return metal.read(
        frame, columns=columns, kinds={"intended": "human"}, levels={"*": "1<2<3<4<5"}
    )


@pytest.mark.slow
@pytest.mark.reference
def test_recon_through_a_server(asked: Path, reference: Path) -> None:
    """A judge that gives Basque one more, and in Spanish one less where the rubric is Spanish: both
    are found, and nothing else is.
    """
    dataset = recon(reference / "recon-en-es-eu")
    scores = dataset.ratings.set_index("output")["score"].to_dict()
    intended: dict[str, int] = {}
    for name, output in dataset.outputs.items():
        lean = (output.language == "eu") - (output.language == "es" and bool(output.condition))
        noise = (hashed(name) % 10 == 0) - (hashed(name) % 10 == 1)
        rubric = dataset.sources[output.source].text.strip()[-200:]
        intended[output.text.strip() + rubric] = int(min(max(scores[name] + lean + noise, 1), 5))
    source_text = re.compile(
        r"----- SOURCE (\w+) BEGINS -----\n(.*?)\n----- SOURCE \1 ENDS -----", re.DOTALL
    )

    def answer(prompt: str, body: object) -> str:
        key = (
            OUTPUT.findall(prompt)[0][1].strip() + source_text.findall(prompt)[0][1].strip()[-200:]
        )
        return json.dumps({"score": intended[key], "justification": "x"})

    dataset.save(asked / "recon")
    told = 'measure = "ordinal"\nsimple = "As the rubric in the source says."\n'
    levels = "".join(f'[[levels]]\nvalue = {value}\nlabel = "{value}"\n' for value in range(1, 6))
    (asked / "criteria").mkdir()
    (asked / "criteria" / "overall.toml").write_text(told + levels)
    with LlmServer() as server:
        server.answer = answer
        metal.judge(
            "recon",
            "openai-compatible:j",
            prompt="simple",
            out="run",
            prompt_folders=".",
            base_url=server.openai_url,
        )
    bias = metal.bias_language("recon", "run")
    table = bias.tables["language_bias"].set_index("language")
    assert table["says"].to_dict() == {"en": "even", "es": "even", "eu": "leans"}
    assert table.loc["eu", "contents"] == 500
    # a fifth has the best score already
    assert table.loc["eu", "lean"] == pytest.approx(2 / 3 * 0.8, abs=0.06)
    changes = bias.tables["conditions"].set_index("language")
    assert changes["says"].to_dict() == {"es": "changes", "eu": "even"}
    assert changes.loc["es", "change"] == pytest.approx(-0.8, abs=0.08)
    html = (bias.save(asked / "bias") / "report.html").read_text(encoding="utf-8")
    assert "openai-compatible:j/simple is most lenient in Basque (+0.5" in re.sub(
        "<[^>]+>", "", html
    )


def test_missing_conditions_are_costed_and_made(asked: Path) -> None:
    """From one language to a comparison: a model translates, the judge is asked again, and in the
    other language.
    """
    frame = pd.DataFrame(
        {"source": [f"q{place}" for place in range(12)], "language": "en", "rater": "A1"}
    )
    frame = frame.assign(
        task_quality=1, source_text="A long source text.", text=[f"Output {n}" for n in range(12)]
    )
    metal.read(frame, levels={"task_quality": "0=Bad,1=Medium,2=Good"}).save(asked / "data")
    plan = metal.bias_plan("data", judge="openai:gpt-4o-mini", languages=["en", "es"], out="texts")
    table = plan.table.set_index(["condition", "language"])
    assert plan.written == "24 texts to be translated"
    assert table.loc[("the same contents", "es"), ["state", "outputs"]].tolist() == ["missing", 12]
    assert table.loc[("asked again", "en"), "calls"] == 24
    assert 0 < table.loc[("asked again", "en"), "dollars"] < 0.1
    own = metal.bias_plan(
        "data",
        judge="openai-compatible:m1",
        base_url="http://127.0.0.1:8000/v1",
        languages=["en", "es"],
    )
    commands = own.table.loc[own.table["condition"] == "asked again", "command"]
    assert "-p detailed --base-url http://127.0.0.1:8000/v1 --repeat 2" in commands.iloc[0]
    shots = metal.bias_plan(
        "data", judge="openai:gpt-4o-mini", prompt="simple-2-shot", languages=["en", "es"]
    ).table
    assert shots.set_index("condition").loc["asked again", ["state", "calls"]].tolist() == [
        "missing",
        20,
    ]
    assert any("-p simple --examples 2 --repeat 2" in command for command in shots["command"])
    pd.DataFrame({"id": ["x"], "text": ["y"]}).to_csv(asked / "mine.csv", index=False)
    with pytest.raises(UsageError, match="no translation"):
        metal.bias_plan("data", languages=["en", "es"], translations="mine.csv", out="both")

    def answer(prompt: str, body: object) -> str:
        if "to be translated" in prompt:
            passage = re.search(r"PASSAGE \w+ BEGINS -----\n(.*?)\n-----", prompt)
            assert passage
            return json.dumps({"summary": f"{passage[1]} en español", "justification": "x"})
        return json.dumps({"score": 2 if "español" in prompt else 1, "justification": "x"})

    with LlmServer() as server:
        server.answer = answer
        own = {"base_url": server.openai_url}
        metal.generate("texts", "openai-compatible:m", quality="translation", choose="all", **own)
        made = metal.bias_plan("data", languages=["en", "es"], translations="texts", out="both")
        assert made.written == "12 outputs added"
        metal.judge(
            "both",
            "openai-compatible:j",
            prompt="simple",
            languages="en",
            repeat=2,
            out="en",
            **own,
        )
        metal.judge("both", "openai-compatible:j", prompt="simple", languages="es", out="es", **own)
        told = {"prompt": "simple", "prompt_language": "text"}
        metal.judge("both", "openai-compatible:j", languages="es", out="prompts", **told, **own)
    rows = (
        metal.bias_language("both", "en", "es", "prompts")
        .tables["language_bias"]
        .set_index(["judge", "language"])
    )
    spanish = rows.loc[("openai-compatible:j/simple", "es")]
    assert (spanish["says"], spanish["lean"]) == ("leans", pytest.approx(0.5))
    after = metal.bias_plan("both", "en", "es", "prompts").table.set_index(
        ["condition", "language"]
    )
    again = metal.bias_plan(
        "both", "es", judge="openai-compatible:j", base_url="http://127.0.0.1:1/v1"
    ).table
    # as it was asked before
    assert any("-p simple --base-url" in command for command in again["command"])
    states = {"the same contents": "es", "asked again": "en", "prompt in the text's language": "es"}
    assert {str(after.loc[key, "state"]) for key in states.items()} == {"there"}
    assert after.loc[("wrong language", "es"), "state"] == "missing"


def test_translation_noise_alone_gives_no_excess_flips() -> None:
    """A judge that errs as often in each language as when it is asked again: excess flips are 0 in
    95% of worlds.
    """
    rng, worlds, outside = np.random.default_rng(11), 30, 0
    for _ in range(worlds):
        quality = rng.integers(0, 3, 60)
        raters = [("gpt", "en"), ("gpt#2", "en"), ("gpt", "es")]
        rows = [
            {"source": f"q{place}", "language": language, "rater": rater, "score": score}
            for rater, language in raters
            for place, score in enumerate(
                np.where(rng.random(60) < 0.15, (quality + 1) % 3, quality)
            )
        ]
        dataset = metal.read(pd.DataFrame(rows), kinds={"*": "llm"}, levels={"*": "0<1<2"})
        again = replace(dataset.raters["gpt#2"], about={"repeats": "gpt", "sample": 2})
        dataset = replace(dataset, raters={**dataset.raters, "gpt#2": again})
        row = metal.bias_language(dataset).tables["language_bias"].set_index("language").loc["es"]
        assert row["flips"] > 0.05
        outside += not row["excess_flips_low"] <= 0 <= row["excess_flips_high"]
    assert outside <= worlds * (0.05 + 2 * (0.05 * 0.95 / worlds) ** 0.5)
