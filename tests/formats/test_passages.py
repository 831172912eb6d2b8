"""Passages from every kind of source: languages found in names, splits kept apart, faults with
their place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metal.data.formats import hugging_face
from metal.data.formats.passages import (
    METALS_LANGUAGES,
    Passage,
    find_passages,
    xlsum_language,
    xlsum_names,
)
from metal.data.languages import language_name
from metal.errors import DataError, MetalError, UnknownName, UsageError
from tests.saying import tells

ROWS = [
    {"id": "1", "url": "", "title": "عنوان", "summary": "ملخص", "text": "النص الأول"},
    {"id": "2", "url": "", "title": "", "summary": None, "text": "النص الثاني"},
]
TEXTS = ["النص الأول", "النص الثاني"]


def put(path: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    """A file of rows, in the format of its ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ROWS if rows is None else rows
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".txt":
        path.write_text(rows[0]["text"], encoding="utf-8")
    else:
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
        )
    return path


def named(text: str) -> list[dict[str, Any]]:
    return [{"text": text}]


def read(source: object, language: str = "ar", **options: Any) -> list[Passage]:
    passages = find_passages(str(source), language=language, **options)
    return list(passages.split(passages.resolve(language)))


def texts(source: object, language: str = "ar", **options: Any) -> list[str]:
    return [passage.text for passage in read(source, language, **options)]


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    "file",
    [
        "arabic_test.jsonl",
        "ar.parquet",
        "ar_test.parquet",
        "ar-test.jsonl",
        "ar.test.jsonl",
        "Arabic.jsonl",
        "arabic/test.parquet",
        "arabic/test/0000.parquet",
        "ar/test-00000-of-00001.parquet",
        "ar/arabic_test.jsonl",
        "ar/passages.jsonl",
    ],
)
def test_the_language_is_in_the_name(tmp_path: Path, file: str) -> None:
    put(tmp_path / file)
    put(tmp_path / "swahili_test.jsonl", named("maandishi"))
    passages = find_passages(str(tmp_path))
    assert passages.languages == ("ar", "sw")
    first, second = passages.split(passages.resolve("Arabic"))
    assert (first.id, first.title, first.summary, first.text) == (
        "1",
        "عنوان",
        "ملخص",
        "النص الأول",
    )
    assert (second.id, second.title, second.summary) == ("2", "", "")
    assert first.where == f"{tmp_path / file} row 1"
    assert [passage.text for passage in passages.split("ar")] == TEXTS  # from the start again
    assert [passage.text for passage in passages.split("sw")] == ["maandishi"]


def test_a_text_a_file(tmp_path: Path) -> None:
    put(tmp_path / "ar" / "b.txt", named("ثان"))
    (tmp_path / "ar" / "a.txt").write_bytes("\ufeffأول\r\nسطر".encode())
    put(tmp_path / "ar" / "the-test.txt", named("ثالث"))
    put(tmp_path / "ar" / "._a.txt", named("no text at all"))
    assert [(passage.id, passage.text) for passage in read(tmp_path)] == [
        ("a", "أول\r\nسطر"),
        ("b", "ثان"),
        ("the-test", "ثالث"),
    ]


def test_texts_of_a_split(tmp_path: Path) -> None:
    put(tmp_path / "ar" / "test" / "a.txt", named("of the split"))
    put(tmp_path / "ar" / "a.txt", named("of none"))
    assert texts(tmp_path) == ["of the split"]


@pytest.mark.parametrize("code", ["Arabic", "ar", "arabic"])
@pytest.mark.parametrize("file", ["any name.jsonl", "a.parquet", "arabic_train.jsonl"])
def test_a_file_with_its_language(tmp_path: Path, file: str, code: str) -> None:
    path = put(tmp_path / file)
    passages = find_passages(str(path), language=code)
    assert passages.languages == ("ar",)
    assert [passage.text for passage in passages.split(passages.resolve(code))] == TEXTS
    assert texts(put(tmp_path / "one.txt")) == TEXTS[:1]


def test_a_folder_in_one_language(tmp_path: Path) -> None:
    put(tmp_path / "b_2.jsonl", named("two"))
    put(tmp_path / "a_1.jsonl", named("one"))
    put(tmp_path / ".a.jsonl", named("hidden"))
    put(tmp_path / "README.txt", named("what this is"))
    assert texts(tmp_path) == ["one", "two"]


@pytest.mark.parametrize("other", ["train", "validation", "val", "dev"])
def test_splits_are_kept_apart(tmp_path: Path, other: str) -> None:
    """Also where the name of a split is the code of a language, or looks like that of a pair."""
    for split in ("test", other):
        put(tmp_path / "named" / f"en-{split}.jsonl", named(f"named {split}"))
        put(tmp_path / "inner" / f"en/{split}/0.jsonl", named(f"inner {split}"))
        put(tmp_path / "nameless" / f"{split}.jsonl", named(f"nameless {split}"))
        put(tmp_path / "hub" / f"data/{split}-00000-of-00001.parquet", named(f"hub {split}"))
    for split in ("test", other):
        assert texts(tmp_path / "named", "en", split=split) == [f"named {split}"]
        assert find_passages(str(tmp_path / "named"), split=split).languages == ("en",)
        assert texts(tmp_path / "inner", "en", split=split) == [f"inner {split}"]
        assert texts(tmp_path / "nameless", "en", split=split) == [f"nameless {split}"]
        assert texts(tmp_path / "hub" / "data", "en", split=split) == [f"hub {split}"]


@pytest.mark.parametrize(
    "file", ["arabic_train.jsonl", "train.jsonl", "ar/train.parquet", "ar/latest_train.jsonl"]
)
def test_only_another_split_is_there(tmp_path: Path, file: str) -> None:
    put(tmp_path / file)
    with pytest.raises(UsageError, match=r"no passages.*'test'"):
        read(tmp_path)


def test_files_with_and_without_a_language(tmp_path: Path) -> None:
    """Where one name tells its language, those that tell none are no passages."""
    put(tmp_path / "arabic_test.jsonl")
    put(tmp_path / "notes.jsonl", named("notes"))
    put(tmp_path / "README.txt", named("read me"))
    passages = find_passages(str(tmp_path))
    assert passages.languages == ("ar",)
    assert [passage.text for passage in passages.split("ar")] == TEXTS


def test_one_language_twice(tmp_path: Path) -> None:
    put(tmp_path / "ar_test.jsonl")
    put(tmp_path / "arabic_test.parquet")
    with pytest.raises(
        UsageError, match=r"both ar_test\.jsonl and arabic_test\.parquet are in 'ar'"
    ):
        find_passages(str(tmp_path))


def test_a_language_that_is_not_there(tmp_path: Path) -> None:
    put(tmp_path / "arabic_test.jsonl")
    with pytest.raises(
        UnknownName, match=f"language 'sw' is not known; known: ar. These are in {tmp_path}"
    ):
        read(tmp_path, "sw")


def test_what_goes_into_dataset_toml(tmp_path: Path) -> None:
    put(tmp_path / "ar.jsonl", [{"body": "نص"}])
    passages = find_passages(str(tmp_path), columns={"text": "body"}, split="train")
    assert passages.about == {
        "source": str(tmp_path),
        "split": "train",
        "columns": {"text": "body"},
    }
    assert (passages.licence, passages.citation) == ("", "")


# ---------------------------------------------------------------- columns


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_columns_by_other_names(tmp_path: Path, ending: str) -> None:
    rows = [{"article": "نص", "headline": "عنوان", "gist": "ملخص", "number": 0, "text": "not this"}]
    path = put(tmp_path / f"x.{ending}", rows)
    columns = {"text": "article", "title": "headline", "summary": "gist", "id": "number"}
    assert read(path, columns=columns) == [Passage("نص", "0", "عنوان", "ملخص", f"{path} row 1")]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("role", ["id", "title", "summary", "text"])
def test_a_column_that_is_missing(tmp_path: Path, ending: str, role: str) -> None:
    path = put(tmp_path / f"x.{ending}", [{"text": "نص", "other": "x"}])
    with pytest.raises(DataError) as caught:
        read(path, columns={role: "artcle"})
    assert "no column 'artcle' (columns found: text, other). Name it with `columns`" in str(
        caught.value
    )
    assert caught.value.where.startswith(str(path))


def test_a_column_that_ends(tmp_path: Path) -> None:
    path = put(tmp_path / "x.jsonl", [{"text": "نص"}, {"txt": "نص"}])
    with pytest.raises(DataError, match=r"x\.jsonl row 2: no column 'text' \(columns found: txt\)"):
        read(path)


def test_a_role_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="role 'txt' is not known; did you mean 'text'"):
        find_passages(str(tmp_path), columns={"txt": "article"})


@pytest.mark.parametrize("wrong", [5, 0.5, True, ["a", "b"], {"a": "b"}])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_text_that_is_none(tmp_path: Path, wrong: object, ending: str) -> None:
    path = put(tmp_path / f"x.{ending}", [{"text": wrong}])
    with pytest.raises(DataError, match=r"row 1: text is not a text\. Each row is one passage"):
        read(path)


def test_no_text_is_an_empty_passage(tmp_path: Path) -> None:
    """It is counted among the near-empty ones."""
    assert texts(put(tmp_path / "x.jsonl", [{"text": None}, {"text": ""}, {"text": "نص"}])) == [
        "",
        "",
        "نص",
    ]


def test_an_id_that_is_a_number_and_a_summary_that_is_a_list(tmp_path: Path) -> None:
    numbered = put(tmp_path / "x.jsonl", [{"id": 0, "text": "a"}, {"id": 7, "text": "b"}])
    assert [passage.id for passage in read(numbered)] == ["0", "7"]
    with pytest.raises(DataError, match="row 1: summary is not a text"):
        read(put(tmp_path / "x.jsonl", [{"text": "a", "summary": ["one", "two"]}]))


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("file", ["ar_test.jsonl", "ar/a.txt"])
def test_not_utf8_with_its_line(tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b'{"text": "a"}\n{"text": "\xe9t\xe9"}\n')
    with pytest.raises(DataError, match=rf"{path.name} line 2: not UTF-8 \(byte 0xe9\)"):
        read(tmp_path)


def test_a_parquet_text_that_is_not_utf8(tmp_path: Path) -> None:
    offsets, letters = pa.py_buffer(b"\0\0\0\0\3\0\0\0"), pa.py_buffer(b"\xe9t\xe9")
    column = pa.StringArray.from_buffers(1, offsets, letters)
    pq.write_table(pa.table({"text": column}), tmp_path / "ar.parquet")
    with pytest.raises(DataError, match=r"ar\.parquet:.*\(byte 0xe9\)"):
        read(tmp_path)


@pytest.mark.parametrize("damage", ["empty", "no parquet", "cut", "broken inside"])
def test_damaged_parquet(tmp_path: Path, damage: str) -> None:
    path = put(tmp_path / "ar.parquet", [{"text": f"text {row}" * 50} for row in range(2000)])
    intact = path.read_bytes()
    content = {
        "empty": b"",
        "no parquet": b"PK" * 100,
        "cut": intact[: len(intact) // 2],
        "broken inside": intact[:4] + b"\xff" * 2000 + intact[2004:],
    }[damage]
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"ar\.parquet: not readable as Parquet"):
        read(tmp_path)


def test_a_line_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "ar.jsonl").write_text('{"text": "a"}\n{"text": \n')
    with pytest.raises(DataError, match=r"ar\.jsonl line 2: not JSON"):
        read(tmp_path)


def test_empty_files_have_no_passages(tmp_path: Path) -> None:
    (tmp_path / "ar.jsonl").write_text("\n")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "sw.parquet")
    assert texts(tmp_path) == []
    assert texts(tmp_path, "sw") == []


# ---------------------------------------------------------------- requests that cannot be


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("nowhere", {}, "or xlsum, or hf:NAME"),
        ("", {}, "`source` is empty"),
        ("empty", {"language": "ar"}, "the split 'test' there"),
        ("a.jsonl", {}, "one with `languages`"),
        ("a.jsonl", {"language": "klingonese"}, "language 'klingonese' is not known"),
        ("a.csv", {"language": "ar"}, "passages are read from .jsonl, .parquet, .txt"),
        ("a.jsonl", {"language": "ar", "subset": "x"}, "`subset` x: only hf:NAME"),
        (
            "a.jsonl",
            {"language": "ar", "revision": "x"},
            "`revision` x: only xlsum",
        ),
        ("xlsum", {"subset": "x"}, "`subset` x: only hf:NAME"),
        ("hf:a/b", {}, "with `languages`, e.g. `"),
        ("hf:", {"language": "ar"}, "write hf:NAME"),
    ],
)
def test_requests_that_cannot_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    options: dict[str, str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    put(tmp_path / "a.jsonl")
    (tmp_path / "a.csv").write_text("text\na\n")
    with pytest.raises(MetalError) as caught:
        find_passages(source, **options)  # type: ignore[arg-type]
    assert message in str(caught.value)


# ---------------------------------------------------------------- languages


def test_xlsum_has_45_languages_by_code_and_by_name() -> None:
    assert len(xlsum_names()) == 45
    for code, name in xlsum_names().items():
        assert xlsum_language(code) == code
        assert xlsum_language(name) == code
        assert xlsum_language(name.upper()) == code
        if "-" not in code:  # the others' names are shown with their code
            assert xlsum_language(language_name(code)) == code
    assert set(METALS_LANGUAGES) <= set(xlsum_names())


MEANT = {
    "zh": ["zh", "zh-CN", "zh-Hans", "Simplified Chinese"],
    "zh-Hant": ["zh-Hant", "zh-TW", "zh-HK"],
    "sr": ["sr", "sr-Cyrl"],
    "sr-Latn": ["sr-Latn"],
    "pt": ["pt-BR"],
    "ar": ["ar-EG"],
    "en": ["EN"],
    "fa": ["Farsi"],
    "bn": ["Bangla"],
}


@pytest.mark.parametrize(
    ("asked", "code"), [(name, code) for code, names in MEANT.items() for name in names]
)
def test_a_language_is_found_as_it_is_meant(tmp_path: Path, asked: str, code: str) -> None:
    assert xlsum_language(asked) == code
    for name in (
        "chinese_simplified",
        "chinese_traditional",
        "serbian_cyrillic",
        "serbian_latin",
        "english",
    ):
        put(tmp_path / f"{name}_test.jsonl")
    for name in ("pt", "ar", "fa", "bn"):
        put(tmp_path / f"{name}.jsonl")
    assert find_passages(str(tmp_path)).resolve(asked) == code


@pytest.mark.parametrize(
    "asked", ["xx", "", "de", "zh-en", "pa-Arab", "az-Cyrl", "und", "mul", "klingon", "../ar"]
)
def test_languages_that_xlsum_has_not(asked: str) -> None:
    with pytest.raises(UnknownName, match="XL-Sum has 45 languages"):
        xlsum_language(asked)


def test_a_language_that_could_be_either_of_two(tmp_path: Path) -> None:
    put(tmp_path / "pt-BR.jsonl")
    put(tmp_path / "pt-PT.jsonl")
    passages = find_passages(str(tmp_path))
    assert passages.resolve("pt-BR") == "pt-BR"
    with pytest.raises(UnknownName, match="did you mean 'pt-"):
        passages.resolve("pt")


# ---------------------------------------------------------------- through `datasets`


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What `datasets.load_dataset` was asked for; it answers with ROWS."""
    import datasets

    calls: list[tuple[Any, ...]] = []

    def load_dataset(
        name: str, subset: str | None, *, split: str, revision: str | None
    ) -> list[Mapping[str, Any]]:
        calls.append((name, subset, split, revision))
        return ROWS

    monkeypatch.setattr(hugging_face, "hub_answers", lambda: True)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls


def test_xlsum_is_asked_for_by_its_names(asked: list[tuple[Any, ...]]) -> None:
    passages = find_passages("xlsum", split="validation")
    assert passages.languages == ("en", "fr", "zh", "hi", "ar", "bn", "ru", "tr", "ja", "sw")
    assert [passage.text for passage in passages.split(passages.resolve("zh-TW"))] == TEXTS
    assert asked == [
        ("csebuetnlp/xlsum", "chinese_traditional", "validation", "refs/convert/parquet")
    ]
    assert passages.about == {
        "source": "xlsum",
        "split": "validation",
        "name": "csebuetnlp/xlsum",
        "revision": "refs/convert/parquet",
    }
    assert "CC BY-NC-SA 4.0" in passages.licence
    assert "Hasan" in passages.citation
    assert (
        next(find_passages("xlsum", revision="abc").split("ar")).where == "XL-Sum arabic test row 1"
    )
    assert asked[1] == ("csebuetnlp/xlsum", "arabic", "test", "abc")


def test_any_dataset_is_asked_for(asked: list[tuple[Any, ...]]) -> None:
    assert (
        texts("hf:some/news", "English", subset="3.0.0", revision="v1", columns={"text": "text"})
        == TEXTS
    )
    assert texts("hf:some/news", "sw", subset="news-{language}") == TEXTS
    assert texts("hf:some/news", "sw") == TEXTS
    assert asked == [
        ("some/news", "3.0.0", "test", "v1"),
        ("some/news", "news-sw", "test", None),
        ("some/news", None, "test", None),
    ]


def test_what_the_library_says_is_one_line(
    asked: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    def fails(*arguments: object, **options: object) -> None:
        raise ValueError("no such thing\nwith\nmore lines")

    monkeypatch.setattr(datasets, "load_dataset", fails)
    with pytest.raises(UsageError) as caught:
        read("hf:some/news", "en")
    assert str(caught.value).startswith("some/news test: no such thing; or give a folder")
    assert "\n" not in str(caught.value)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hugging_face, "hub_answers", lambda: False)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")


@pytest.mark.usefixtures("offline")
def test_offline_and_not_in_the_cache() -> None:
    with pytest.raises(UsageError) as caught:
        read("xlsum")
    assert tells(str(caught.value), "huggingface.co", "csebuetnlp/xlsum", "give a folder")


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("csebuetnlp/xlsum", "csebuetnlp___xlsum"),
        ("Some/NewsTexts", "Some___news_texts"),
        ("squad", "squad"),
    ],
)
@pytest.mark.usefixtures("offline")
def test_offline_but_in_the_cache(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    folder: str,
    asked: list[tuple[Any, ...]],
) -> None:
    monkeypatch.setattr(hugging_face, "hub_answers", lambda: False)
    (tmp_path / "cache" / folder).mkdir(parents=True)
    assert texts(f"hf:{name}") == TEXTS
    assert os.environ["HF_HUB_OFFLINE"] == "1"  # the library need not try for half a minute


def test_offline_the_library_is_not_even_imported(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from metal.errors import UsageError\n"
        "from metal.data.formats.passages import find_passages\n"
        "try:\n    list(find_passages('xlsum').split('ar'))\n"
        "except UsageError:\n    print('refused', 'datasets' in sys.modules)\n"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == "refused False", done.stderr


@pytest.fixture
def cached_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What `datasets` writes goes to a folder of the test."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        hugging_face, "hub_answers", lambda: pytest.fail("a local path needs no hub")
    )


@pytest.mark.usefixtures("cached_here")
def test_folders_that_datasets_saved(tmp_path: Path) -> None:
    import datasets

    rows = datasets.Dataset.from_list(ROWS)
    rows.save_to_disk(str(tmp_path / "one"))
    other = datasets.Dataset.from_list(named("of another split"))
    datasets.DatasetDict({"test": rows, "train": other}).save_to_disk(str(tmp_path / "splits"))
    assert texts(f"hf:{tmp_path / 'one'}") == TEXTS
    assert texts(f"hf:{tmp_path / 'splits'}") == TEXTS
    assert texts(f"hf:{tmp_path / 'splits'}", split="train") == ["of another split"]
    with pytest.raises(
        UsageError, match=r"no split 'dev' in it; choose one with `split` \(test, train\)"
    ):
        read(f"hf:{tmp_path / 'splits'}", split="dev")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.usefixtures("cached_here")
def test_folders_of_files_through_datasets(tmp_path: Path, ending: str) -> None:
    put(tmp_path / "files" / f"test.{ending}")
    put(tmp_path / "files" / f"train.{ending}", [*ROWS, *ROWS])
    assert texts(f"hf:{tmp_path / 'files'}") == TEXTS
    assert texts(f"hf:{tmp_path / 'files'}", split="train") == TEXTS * 2


@pytest.mark.usefixtures("cached_here")
def test_a_local_folder_that_datasets_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(UsageError, match=r"nothing test: .*; or give a folder"):
        read(f"hf:{tmp_path / 'nothing'}")
