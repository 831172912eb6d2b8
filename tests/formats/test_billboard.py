"""Billboard's released scores of metrics, and MQM's of experts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from metal.data import formats
from metal.data.dataset import Dataset
from metal.data.formats.billboard import language_in
from metal.errors import MetalError
from tests.saying import tells

HEAD = "SYS,seg_id,set_id,metric,score\n"


def load(path: Path, **options: Any) -> tuple[Dataset, str]:
    draft = formats.read("billboard", path, options)
    return draft.assemble(path), "\n".join(draft.notes)


def board(
    release: Path, name: str, scores: dict[tuple[str, str], list[tuple[str, int, str]]]
) -> Path:
    """results/NAME of a release; scores: {(generator, metric): [(seg_id, set_id, score)]}."""
    folder = release / "results" / name
    folder.mkdir(parents=True)
    for (generator, metric), rows in scores.items():
        lines = [
            f"{generator},{segment},{place},{metric},{score}\n" for segment, place, score in rows
        ]
        (folder / f"{generator}||{metric}.csv").write_text(HEAD + "".join(lines))
    return folder


def texts(
    release: Path, name: str, source: dict[str, str], outputs: dict[str, dict[str, str]]
) -> None:
    for file, key, by_segment in [
        (f"source/{name}_src.jsonl", "src", source),
        *(
            (f"generators/{name}_{generator}.jsonl", "hyp", hyps)
            for generator, hyps in outputs.items()
        ),
    ]:
        path = release / "submissions" / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(
                json.dumps({"seg_id": s, "set_id": 0, key: t}) + "\n" for s, t in by_segment.items()
            )
        )


SEGMENTS = [("late", 7, "-1.5"), ("early", 2, "0.25")]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    board(
        tmp_path,
        "wmt20-zh-en",
        {
            ("Human-A", "TER"): SEGMENTS,
            ("Human-A", "BLEURT"): [("late", 7, "nan"), ("early", 2, "1e-3")],
            ("mt", "TER"): SEGMENTS[:1],
            ("mt", "ensemble"): SEGMENTS,
        },
    )
    board(tmp_path, "cnndm", {("mt", "BLEURT"): [("news", 0, "3")]})
    texts(
        tmp_path,
        "wmt20-zh-en",
        {"late": "晚", "early": "早"},
        {"mt": {"late": "late!"}, "other": {"late": "x"}},
    )
    return tmp_path


def test_a_board(release: Path) -> None:
    dataset, notes = load(release / "results" / "wmt20-zh-en")
    assert dataset.card.name == "wmt20-zh-en"
    assert list(dataset.sources) == ["early", "late"]  # in order of set_id
    assert dataset.sources["late"].text == "晚"
    assert dataset.outputs["late/mt"].text == "late!"
    assert dataset.languages == ("zh-en",)
    assert {name: rater.group for name, rater in dataset.raters.items()} == {
        "BLEURT": "metric",
        "TER": "metric",
        "ensemble": "ensemble",
    }
    assert dataset.raters["TER"].about == {"direction": "lower", "negated": True}
    assert dataset.raters["BLEURT"].about == {}
    assert dataset.extra == {"generators": {"Human-A": {"kind": "human"}}}
    table = dataset.ratings.set_index(["output", "rater"])
    assert table["score"].drop(("late/Human-A", "BLEURT")).to_dict() == {
        ("late/Human-A", "TER"): -1.5,
        ("early/Human-A", "TER"): 0.25,
        ("early/Human-A", "BLEURT"): 1e-3,
        ("late/mt", "TER"): -1.5,
        ("late/mt", "ensemble"): -1.5,
        ("early/mt", "ensemble"): 0.25,
    }
    assert math.isnan(table.loc[("late/Human-A", "BLEURT"), "score"])
    assert table.loc[("late/Human-A", "BLEURT"), "reason"] == "no score"
    assert set(table["criterion"]) == {"score"}
    for message in (
        "ensemble of Human-A, BLEURT of mt",
        "(of 2): TER of mt has 1",
        "(nan): BLEURT of Human-A",
        "no outputs of Human-A: they have no text",
        "no scores of other",
        "TER: negated in the release",
    ):
        assert message in notes


@pytest.mark.parametrize("inside", ["", "results"])
def test_a_whole_release(release: Path, inside: str) -> None:
    dataset, notes = load(release / inside)
    assert dataset.card.name == "billboard"
    assert list(dataset.sources) == ["news", "early", "late"]
    assert {name: output.language for name, output in dataset.outputs.items()}["news/mt"] == "en"
    assert dataset.languages == ("en", "zh-en")
    scores = dataset.ratings.set_index(["output", "rater"])["score"]
    assert scores["news/mt", "BLEURT"] == 3
    assert scores["early/mt", "ensemble"] == 0.25
    assert "cnndm: no submissions" in notes
    assert tells(notes, "wmt20-zh-en: 2 scores", "missing")


def test_segments_of_two_boards_must_differ(release: Path) -> None:
    board(release, "mscoco", {("mt", "BLEURT"): [("news", 0, "3")]})
    with pytest.raises(MetalError, match=r"segment 'news'.*board by itself"):
        load(release)


def test_languages_of_boards() -> None:
    languages = {"cnndm": "en", "mscoco": "en", "wmt20-en-de": "en-de"}
    for name in (*languages, "wmt20-qq-xx", "my-big-set", "xsum"):
        assert language_in(name) == languages.get(name)


def test_a_board_whose_name_says_no_language(tmp_path: Path) -> None:
    folder = board(tmp_path, "xsum", {("mt", "BLEURT"): SEGMENTS})
    with pytest.raises(MetalError, match=r"board xsum:.*`language`"):
        load(folder)
    with pytest.raises(MetalError, match="`language` 'Klingonese' is not known"):
        load(folder, language="Klingonese")
    assert load(folder, language="Turkish")[0].languages == ("tr",)
    board(tmp_path, "cnndm", {("mt", "BLEURT"): [("news", 0, "1")]})
    assert load(tmp_path, language="tr")[0].languages == ("en", "tr")
    with pytest.raises(MetalError, match=r"`language` tr:.*leave `language` out"):
        load(tmp_path / "results" / "cnndm", language="tr")


ROW = "mt,s,0,M,1\n"
FAULTS: list[tuple[str | bytes, str]] = [
    ("", "row 1: no column 'SYS'. The columns are SYS"),
    ("SYS,seg_id,set_id,metric\nmt,s,0,M\n", "row 1: no column 'score'"),
    (HEAD, "no scores in it"),
    (HEAD + ROW + "mt,\x1b[31m,1,M\n", "row 3: 4 fields.* 5[.]"),
    (HEAD + ROW + "mt,t,1,M,1,1\n", "row 3: 6 fields.* 5[.]"),
    (HEAD + ROW + "tm,t,1,M,1\n", "SYS is 'tm', .* for 'mt'"),
    (HEAD + ROW + "mt,t,1,W,1\n", "metric is 'W', .* for 'M'"),
    (HEAD + ROW + "mt,t,1,M,1\n" + ROW, "row 4: segment 's'"),
    (HEAD + ROW + "mt,,1,M,1\n", "row 3: seg_id is empty"),
    (HEAD + ROW + "mt,t,1,M,good\n", "score 'good' is.*Write nan"),
    (HEAD + ROW + "mt,t,1,M,\n", "row 3: score ''"),
    (HEAD + ROW + "mt,t,1,M,-inf\n", "row 3: score '-inf' is not a number"),
    (HEAD + ROW + "mt,t,x,M,1\n", "row 3: set_id 'x' is not a place"),
    (HEAD + ROW + "mt,t,1.5,M,1\n", "row 3: set_id '1.5' is not a place"),
    (HEAD + ROW + "mt,t,-1,M,1\n", "row 3: set_id '-1' is not a place"),
    (HEAD + ROW + "mt,t,nan,M,1\n", "row 3: set_id 'nan' is not a place"),
    (HEAD + ROW + "mt,t,1e300,M,1\n", "row 3: set_id '1e300' is not a place"),
    (HEAD + ROW + "mt,t,0,M,1\n", "row 3: segments 's' and 't' both have set_id 0"),
    (HEAD.encode() + b"mt,\xff,0,M,1\n", r"line 2: not UTF-8 \(byte 0xff\)"),
]


@pytest.mark.parametrize(("content", "message"), FAULTS)
def test_faults_of_a_file(tmp_path: Path, content: str | bytes, message: str) -> None:
    folder = board(tmp_path, "cnndm", {})
    (folder / "mt||M.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(MetalError, match=message) as raised:
        load(folder)
    assert "mt||M.csv" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_a_segment_with_two_places(tmp_path: Path) -> None:
    folder = board(tmp_path, "cnndm", {("a", "M"): [("s", 0, "1")], ("b", "M"): [("s", 1, "1")]})
    with pytest.raises(
        MetalError, match=r"b\|\|M.csv row 2: segment 's' has set_id 1, but before it had 0"
    ):
        load(folder)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(
        MetalError,
        match=r"GENERATOR\|\|METRIC\.csv.*results folder",
    ):
        load(tmp_path)
    with pytest.raises(MetalError, match="nowhere: no such folder"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"seg_id": "late"}', "no text 'hyp'"),
        ('{"seg_id": "s", "hyp": "x"}\n' * 2, "row 2: segment 's' a second time"),
    ],
)
def test_faults_of_texts(release: Path, line: str, message: str) -> None:
    (release / "submissions" / "wmt20-zh-en" / "generators" / "wmt20-zh-en_mt.jsonl").write_text(
        line
    )
    with pytest.raises(MetalError, match=message):
        load(release)


@pytest.mark.slow
@pytest.mark.reference
def test_the_real_boards(reference: Path) -> None:
    dataset, notes = load(reference / "billboard")
    assert len(dataset.ratings) == 19 * 16 * 2000 + 26 * 16 * 100
    assert all(source.text for source in dataset.sources.values())
    assert all(output.text for output in dataset.outputs.values())
    assert dataset.extra == {"generators": {"Human-H": {"kind": "human"}}}
    assert "missing" not in notes
    assert "lack" not in notes
    # One figure of either board as the files say it.
    scores = dataset.ratings.set_index(["output", "rater"])["score"]
    assert scores["xinhua-zh-01.6565::2/DeepMind.381", "TER"] == -46.55172413793103
    assert scores["404f859482d47c127868964a9a39d1a7645dd2e9/BART", "BLEURT"] == -0.37310874462127686


MQM_HEAD = "system mqm_avg_score seg_id\n"
ROWS = MQM_HEAD + "mt -5.5 10\nmt 0.0 2\nHuman-A nan 2\n"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "mqm_zhen.tsv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    "text", [ROWS, ROWS.replace(" ", "\t"), "\ufeff" + ROWS.replace("\n", "\r\n")]
)
def test_mqm(tmp_path: Path, text: str) -> None:
    written(tmp_path, text)
    draft = formats.read("mqm", tmp_path, {})
    dataset = draft.assemble(tmp_path)
    assert draft.counted_from == 1
    assert list(dataset.sources) == ["2", "10"]
    assert dataset.languages == ("zh-en",)
    (rater,) = dataset.raters.values()
    assert (rater.rater, rater.kind, rater.group) == ("MQM", "human", "expert")
    scale = dataset.criteria["mqm"].scale
    assert (scale.measure, scale.low, scale.high, dataset.criteria["mqm"].direction) == (
        "interval",
        -25,
        0,
        "higher",
    )
    table = dataset.ratings.set_index("output")
    assert table.loc["10/mt", "score"] == -5.5
    assert table.loc["2/Human-A", "reason"] == "no score"
    assert dataset.extra == {"generators": {"Human-A": {"kind": "human"}}}
    assert tells(draft.notes, "1 ratings", "without a score (nan)")


def test_another_language(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    assert formats.read("mqm", path, {"language": "en-de"}).assemble(path).languages == ("en-de",)
    with pytest.raises(MetalError, match="`language` 'xx-yy-zz' is not known"):
        formats.read("mqm", path, {"language": "xx-yy-zz"})
    unnamed = path.rename(tmp_path / "mqm_scores.tsv")
    with pytest.raises(MetalError, match=r"says no language pair.*give it with `language`"):
        formats.read("mqm", unnamed, {})


def test_scores_below_five_errors_have_no_ends(tmp_path: Path) -> None:
    path = written(tmp_path, MQM_HEAD + "mt -25.2 1\nmt 0 2\n")
    (criterion,) = formats.read("mqm", path, {}).criteria
    assert criterion.scale.ends is None
    (criterion,) = formats.read("mqm", path, {"ranges": {"mqm": (-100, 0)}}).criteria
    assert criterion.scale.ends == (-100, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: no column 'system'"),
        ("system score seg_id\nmt 0 1\n", "row 1: no column 'mqm_avg_score'. The columns are"),
        (MQM_HEAD, "no scores in it"),
        (MQM_HEAD + "mt 0 1\nmt 0\n", "row 3: 2 fields.* 3[.]"),
        (MQM_HEAD + "mt good 1\n", "row 2: score 'good' is not a number"),
        (
            MQM_HEAD + "mt 1 1\n",
            "row 2: score 1[.] MQM is 0.*below",
        ),
        (MQM_HEAD + "mt -inf 1\n", "row 2: score -inf"),
        (MQM_HEAD + "mt 0 0\n", "row 2: seg_id '0'."),
        (MQM_HEAD + "mt 0 xinhua::1\n", "row 2: seg_id 'xinhua::1'"),
        (MQM_HEAD + "mt 0 1\nmt -1 01\n", "row 3: segment 1 of 'mt' a second time"),
        (MQM_HEAD.encode() + b"\xff 0 1\n", "line 2: not UTF-8"),
    ],
)
def test_faults(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(MetalError, match=message):
        formats.read("mqm", written(tmp_path, text), {})


def test_a_folder_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(MetalError, match="0 files named mqm"):
        formats.read("mqm", tmp_path, {})


@pytest.mark.reference
def test_the_real_mqm(reference: Path) -> None:
    dataset = formats.read("mqm", reference / "mqm", {}).assemble(reference)
    assert (len(dataset.ratings), len(dataset.sources)) == (20_000, 2_000)
    assert set(dataset.extra["generators"]) == {"Human-A.0", "Human-B.0"}
