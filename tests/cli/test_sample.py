"""`metal sample` from the command line to the dataset folder: figures, texts, picture; mistakes in
one line.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from metal.data.dataset import load_dataset
from metal.data.metal_criteria import METAL_CRITERIA
from metal.data.tokens import load_encoding
from tests.cli.test_commands import metal, words
from tests.genie.people import lines

LANGUAGES = {"ar": "arabic", "tr": "turkish", "yo": "yoruba", "zh": "chinese_simplified"}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def passages(tmp_path: Path) -> Path:
    """A folder with Hindi and Swahili: in each 40 passages, of which 30 are about as long."""
    folder = tmp_path / "in"
    folder.mkdir()
    for file, word in (("hindi_test.jsonl", "नदी"), ("sw.jsonl", "mto")):
        lengths = [12] * 30 + [60, 90, 120, 150, 180, 210, 240, 270, 300, 330]
        rows = [
            {
                "id": f"{number}",
                "title": f"t{number}",
                "summary": "",
                "text": f"{word} {number} " * length,
            }
            for number, length in enumerate(lengths)
        ]
        (folder / file).write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    return folder


@pytest.fixture(scope="module")
def sampled(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampled")
    done = metal(
        "sample", "--source", reference / "passages", "-n", "20", "--out", "four", cwd=folder
    )
    assert "four: 80 of " in done.out
    assert "Next: metal generate four" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    return folder / "four"


@pytest.mark.reference
def test_the_histogram_is_that_of_the_split(sampled: Path, reference: Path) -> None:
    described = tomllib.loads((sampled / "dataset.toml").read_text(encoding="utf-8"))
    dataset = load_dataset(sampled)
    assert set(dataset.criteria) == set(METAL_CRITERIA)
    assert (len(dataset.sources), len(dataset.outputs), len(dataset.ratings)) == (80, 0, 0)
    assert described["languages"] == [*LANGUAGES]
    assert (
        described["sample"].items()
        >= {
            "encoding": "cl100k_base",
            "seed": 0,
            "per_language": 20,
        }.items()
    )
    encoding = load_encoding()
    for code, name in LANGUAGES.items():
        texts = [str(row["text"]) for row in lines(reference / "passages" / f"{name}_test.jsonl")]
        counts, edges = np.histogram([len(encoding.encode_ordinary(text)) for text in texts], 20)
        histogram = described["sample"]["histograms"][code]
        assert histogram["counts"] == counts.tolist()
        assert histogram["edges"] == edges.tolist()
        assert histogram["chosen_bin"] == counts.argmax()
        left_out = histogram["duplicates"], histogram["near_empty"]
        assert (histogram["passages"], *left_out) == (len(texts), 0, 0)


@pytest.mark.reference
def test_sources_are_passages_of_the_fullest_bin_as_they_were(
    sampled: Path, reference: Path
) -> None:
    described = tomllib.loads((sampled / "dataset.toml").read_text(encoding="utf-8"))
    encoding = load_encoding()
    sources = lines(sampled / "sources.jsonl")
    for code, name in LANGUAGES.items():
        original = {
            f"{code}/{row['id']}": row
            for row in lines(reference / "passages" / f"{name}_test.jsonl")
        }
        drawn = [source for source in sources if source["language"] == code]
        assert len({source["source"] for source in drawn}) == 20
        histogram = described["sample"]["histograms"][code]
        low, high = histogram["edges"][histogram["chosen_bin"] :][:2]
        for source in drawn:
            row = original[str(source["source"])]
            assert source["text"] == row["text"]
            assert source.get("title", "") == row["title"]
            assert source["references"] == [row["summary"]]
            assert source["tokens"] == len(encoding.encode_ordinary(str(row["text"])))
            assert low <= source["tokens"] < high


@pytest.mark.reference
def test_the_picture_names_its_languages(sampled: Path) -> None:
    tree = ElementTree.fromstring((sampled / "passage_lengths.svg").read_bytes())
    shown = " ".join(word for text in tree.iter(f"{SVG}text") for word in text.itertext())
    described = tree.find(f"{SVG}desc")
    assert described is not None
    for name in ("Arabic", "Turkish", "Yoruba", "Chinese"):
        assert re.search(rf"{name} 1\d\d passages", shown)
        assert name in (described.text or "")
    assert shown.count("20 drawn from") == 4
    bars = [bar for bar in tree.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    assert len(bars) == 4 * 20
    assert [bar.get("class") for bar in bars].count("m0") == 4


@pytest.mark.reference
def test_a_language_does_not_depend_on_the_others(sampled: Path, reference: Path) -> None:
    options = ("-l", "zh,yoruba", "-n", "20", "--out", "two")
    metal("sample", "--source", reference / "passages", *options, cwd=sampled.parent)
    two = (sampled.parent / "two" / "sources.jsonl").read_bytes().splitlines()
    four = (sampled / "sources.jsonl").read_bytes().splitlines()
    assert set(two) == {
        line for line in four if b'"language": "zh"' in line or b'"language": "yo"' in line
    }


def test_again_needs_force_and_gives_the_same_bytes(passages: Path, tmp_path: Path) -> None:
    call = ["sample", "--source", "in", "-n", "9", "--out", "out"]
    metal(*call, cwd=tmp_path)
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert "out exists" in metal(*call, "--seed", "1", cwd=tmp_path, expect=2).err
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first
    metal(*call, "--force", cwd=tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == first
    metal(*call, "--force", "--seed", "1", cwd=tmp_path)
    assert (tmp_path / "out" / "sources.jsonl").read_bytes() != first["sources.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".out.lock",
        "in",
        "out",
        "out.replaced",
    ]


def test_settings_are_kept(passages: Path, tmp_path: Path) -> None:
    (passages / "sw.jsonl").unlink()
    call = (
        "sample --source in -n 50 --allow-fewer --bins 3 --min-tokens 30 --encoding o200k_base"
        " --seed 7"
    )
    call += (
        " -c hallucinations,task_quality -c hallucinations --column title=summary --name mine"
        " --out out"
    )
    done = metal(*call.split(), cwd=tmp_path)
    assert "mine: " in done.out
    described = tomllib.loads((tmp_path / "out" / "dataset.toml").read_text(encoding="utf-8"))
    histogram = described["sample"].pop("histograms")["hi"]
    assert described["name"] == "mine"
    assert [*described["criteria"]] == ["hallucinations", "task_quality"]
    assert described["sample"] == {
        "source": "in",
        "split": "test",
        "columns": {"title": "summary"},
        "encoding": "o200k_base",
        "seed": 7,
        "per_language": 50,
        "min_tokens": 30,
    }
    assert len(histogram["counts"]) == 3
    assert histogram["passages"] == 40
    assert len(lines(tmp_path / "out" / "sources.jsonl")) == max(histogram["counts"]) < 50


def test_the_number_of_bins_that_is_named_works(tmp_path: Path) -> None:
    """Forty nearly equal texts: the fullest of twenty bins is a few tokens wide."""
    (tmp_path / "sw.jsonl").write_text(
        "".join(json.dumps({"text": "mto " * (175 + n)}) + "\n" for n in range(40))
    )
    call = ["sample", "--source", "sw.jsonl", "-l", "sw", "-n", "20", "--out", "out"]
    error = metal(*call, cwd=tmp_path, expect=2).err
    bins = re.search(r"use --bins (\d+), ask", error)
    assert bins
    done = metal(*call, "--bins", bins[1], cwd=tmp_path)
    assert "verdicts need 30 items; passages drawn: Swahili 20" in done.out
    # and it is the largest
    metal(*call, "--force", "--bins", str(int(bins[1]) + 1), cwd=tmp_path, expect=2)


def test_what_was_left_out_is_said(passages: Path, tmp_path: Path) -> None:
    (passages / "hindi_test.jsonl").unlink()
    with (passages / "sw.jsonl").open("a") as file:
        file.write(
            '{"text": "mto"}\n{"text": null}\n' + json.dumps({"text": "mto 3 " * 12 + "\n"}) + "\n"
        )
    done = metal("sample", "--source", "in", "-n", "5", "--out", "out", cwd=tmp_path)
    assert "Swahili 43 1 2 30" in words(done.out)


WRONG: list[tuple[Sequence[str], str]] = [
    (
        ["--source", "nowhere"],
        "--source is one, or xlsum, or hf:NAME",
    ),
    (["--source", "in", "-l", "yo"], "language 'yo' is not known; known: hi, sw"),
    (
        ["--source", "in", "-n", "31"],
        "hi 30 of 84 to 195 tokens",
    ),
    (["--source", "in", "-n", "41"], "tokens; ask for fewer, or pass --allow-fewer"),
    (["--source", "in", "-n", "0"], "--per-language"),
    (["--source", "in", "--split", "train", "-l", "hi"], "language 'hi' is not known; known: sw"),
    (["--source", "in", "--min-tokens", "9999"], "none of them has 9999 tokens or more"),
    (
        ["--source", "in", "--encoding", "gpt2"],
        "encoding 'gpt2' is not known; known: cl100k_base, o200k_base",
    ),
    (["--source", "in", "--column", "text"], "--columns 'text': write NAME=VALUE"),
    (
        ["--source", "in", "--column", "text=article"],
        "no column 'article' (columns found: id, title,",
    ),
    (
        ["--source", "xlsum", "-l", "sw"],
        "csebuetnlp/xlsum",
    ),
    (["--source", "hf:some/news"], "name its language with --languages"),
    (["--source", "hf:some/news", "--subset", "{language}"], "name its languages with --languages"),
    (
        ["--source", "hf:some/news", "--subset", "{language}", "-l", "xx"],
        "language 'xx' is not known",
    ),
    ([], "Missing option '--source'"),
]


@pytest.mark.usefixtures("passages")
@pytest.mark.parametrize(
    ("arguments", "message"),
    WRONG,
    ids=lambda value: " ".join(value)[-40:] if isinstance(value, list) else "",
)
def test_mistakes_are_one_line_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], message: str
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "in"))
    before = sorted(tmp_path.rglob("*"))
    assert message in metal("sample", *arguments, "--out", "out", cwd=tmp_path, expect=2).err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_is_no_dataset_is_not_replaced(passages: Path, tmp_path: Path) -> None:
    done = metal(
        "sample", "--source", "in", "-n", "5", "--out", "in", "--force", cwd=tmp_path, expect=2
    )
    assert "it is not replaced" in done.err
    assert len([*passages.iterdir()]) == 2


@pytest.mark.usefixtures("passages")
def test_a_criterion_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    """Not after an hour of counting."""
    done = metal(
        "sample", "--source", "nowhere", "-c", "tq", "--out", "out", cwd=tmp_path, expect=2
    )
    assert "criterion 'tq' is not known" in done.err
