"""Token counts: tiktoken's own, in order, and the tokenizer found without a network; a host is
asked once.
"""

from __future__ import annotations

import io
import os
import shutil
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import nullcontext
from http.client import IncompleteRead
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken.registry

from metal.data import tokens
from metal.data.tokens import CHUNK, PATIENCE, PIECE, count_tokens, load_encoding, reachable
from metal.errors import UnknownName, UsageError
from tests.saying import tells

FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"  # as tiktoken calls cl100k_base's
SPECIAL = "<|endoftext|><|fim_prefix|>"
BENGALI = """
বাংলাদেশের দক্ষিণাঞ্চলে গত রাতে প্রবল ঝড় বয়ে গেছে এবং অনেক ঘরবাড়ি ক্ষতিগ্রস্ত হয়েছে। স্থানীয় প্রশাসন জানিয়েছে, কয়েক
হাজার মানুষকে নিরাপদ আশ্রয়ে সরিয়ে নেওয়া হয়েছে। আবহাওয়া অফিস বলছে, আগামী দুই দিন বৃষ্টি চলতে পারে, তাই জেলেদের সমুদ্রে
যেতে নিষেধ করা হয়েছে। উদ্ধারকর্মীরা নৌকায় করে খাবার ও বিশুদ্ধ পানি পৌঁছে দিচ্ছেন।
""".strip()


@pytest.fixture(scope="module")
def encoding() -> tiktoken.Encoding:
    return load_encoding()


def carried(name: str = FILE) -> Path:
    """The copy that llama-index-core carries."""
    spec = find_spec("llama_index.core")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "_static" / "tiktoken_cache" / name


# ---------------------------------------------------------------- counting

TEXTS = [
    "",
    " ",
    "plain words",
    "नदी के किनारे",
    "שלום עולם",
    "中文\n\n中文",
    "e\u0301",
    "👩‍👩‍👧",
    "\x00\u202e\ufffe",
    SPECIAL,
]


def test_counts_are_tiktokens(encoding: tiktoken.Encoding) -> None:
    assert list(count_tokens(TEXTS, encoding)) == [
        len(encoding.encode_ordinary(text)) for text in TEXTS
    ]
    assert list(count_tokens([], encoding)) == []


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d" + "\ude00"])
def test_lone_surrogates_are_counted_as_replaced(encoding: tiktoken.Encoding, text: str) -> None:
    readable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert list(count_tokens([text], encoding)) == [len(encoding.encode_ordinary(readable))]


@pytest.mark.parametrize("threads", [1, 2, 7, None])
def test_order_is_kept_over_many_chunks(encoding: tiktoken.Encoding, threads: int | None) -> None:
    lengths = [(7 * row) % 41 for row in range(30 * CHUNK + 5)]
    texts = (" a" * length * (20 if row % CHUNK == 0 else 1) for row, length in enumerate(lengths))
    expected = [length * (20 if row % CHUNK == 0 else 1) for row, length in enumerate(lengths)]
    assert list(count_tokens(texts, encoding, threads)) == expected


def test_a_text_that_is_too_much_for_the_pattern_is_counted_in_pieces(
    encoding: tiktoken.Encoding,
) -> None:
    text = " " * 1_000_000 + "end"
    with pytest.raises(ValueError, match="Regex"):
        encoding.encode_to_numpy(text)  # encode_ordinary panics, which nothing catches

    counts = list(count_tokens(["one two", text], encoding))

    pieces = 1 + 1_000_000 // PIECE
    blanks = len(encoding.encode_ordinary(" " * PIECE)) * 1_000_000 // PIECE
    assert counts[0] == 2
    assert abs(counts[1] - (blanks + 1)) <= pieces


def test_texts_are_not_read_far_ahead(encoding: tiktoken.Encoding) -> None:
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for _ in range(100 * CHUNK):
            taken += 1
            yield "one"

    counts = count_tokens(texts(), encoding, threads=2)
    assert next(counts) == 1
    assert taken <= 6 * CHUNK
    counts.close()  # type: ignore[attr-defined]
    assert taken <= 6 * CHUNK


def test_a_fault_in_the_texts_comes_out(encoding: tiktoken.Encoding) -> None:
    def texts() -> Iterator[str]:
        yield "one"
        raise ValueError("line 2")

    with pytest.raises(ValueError, match="line 2"):
        list(count_tokens(texts(), encoding))


@pytest.mark.parametrize(("name", "expected"), [("cl100k_base", 1.21), ("o200k_base", 0.32)])
def test_the_encoding_decides_what_bengali_costs(name: str, expected: float) -> None:
    counted = next(count_tokens([BENGALI], load_encoding(name)))
    assert counted / len(BENGALI) == pytest.approx(expected, rel=0.15)


# ---------------------------------------------------------------- the tokenizer's file


class Places:
    """Every place a file is looked for in, all empty, and no network; tiktoken remembers
    nothing.
    """

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.own, self.gym = tmp_path / "cache" / "metal" / "tiktoken", tmp_path / "gym"
        self.tiktokens, self.temporary = (
            tmp_path / "tiktokens",
            tmp_path / "temporary" / "data-gym-cache",
        )
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(self.tiktokens))
        monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(self.temporary.parent))
        monkeypatch.setattr(tokens, "CARRIERS", {})
        monkeypatch.setattr(tokens, "reachable", lambda host: False)
        monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})

    def put(self, folder: Path, content: bytes | None = None) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_bytes(carried().read_bytes() if content is None else content)
        return folder / FILE


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return Places(tmp_path, monkeypatch)


@pytest.fixture
def read_from(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders in which tiktoken was told to look."""
    asked: list[str] = []
    get_encoding = tiktoken.get_encoding

    def noting(name: str) -> tiktoken.Encoding:
        asked.append(os.environ["TIKTOKEN_CACHE_DIR"])
        return get_encoding(name)

    monkeypatch.setattr(tiktoken, "get_encoding", noting)
    return asked


@pytest.mark.parametrize("place", ["own", "tiktokens", "gym", "temporary"])
def test_a_copy_is_found(
    places: Places, monkeypatch: pytest.MonkeyPatch, read_from: list[str], place: str
) -> None:
    folder = getattr(places, place)
    if place == "gym":  # the older variable of tiktoken
        monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(folder))
    places.put(folder)
    assert load_encoding().encode("hello") == [15339]
    assert read_from == [str(folder)]


def test_a_copy_in_a_package(
    places: Places, monkeypatch: pytest.MonkeyPatch, read_from: list[str]
) -> None:
    carriers = {"no_such_package.core": "x", "llama_index.core": "_static/tiktoken_cache"}
    monkeypatch.setattr(tokens, "CARRIERS", carriers)
    assert load_encoding().name == "cl100k_base"
    assert read_from == [str(carried().parent)]


def test_a_copy_serves_where_the_cache_cannot_be_written(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = places.put(places.tiktokens)
    monkeypatch.setenv("XDG_CACHE_HOME", str(copy))  # a file, where no folder can be made
    assert load_encoding().name == "cl100k_base"


def test_copies_with_another_hash_are_passed_over_and_left_alone(
    places: Places, read_from: list[str]
) -> None:
    wrong = [places.put(folder, b"IQ== 0\n") for folder in (places.own, places.tiktokens)]
    places.put(places.temporary)
    load_encoding()
    assert read_from == [str(places.temporary)]
    assert [path.read_bytes() for path in wrong] == [b"IQ== 0\n"] * 2


def test_nowhere_is_one_line_that_says_what_to_do(places: Places) -> None:
    wrong = places.put(places.tiktokens, b"IQ== 0\n")
    with pytest.raises(UsageError) as caught:
        load_encoding()
    message = str(caught.value)
    assert "\n" not in message
    assert tells(message, "cl100k_base", "openaipublic.blob.core.windows.net")
    assert tells(message, "Put cl100k_base.tiktoken", " at " + str(places.own / FILE))
    assert wrong.exists()
    assert not places.own.exists()


@pytest.mark.parametrize("before", ["elsewhere", None])
def test_the_variable_is_as_it_was(
    places: Places, monkeypatch: pytest.MonkeyPatch, before: str | None, read_from: list[str]
) -> None:
    places.put(places.own)
    if before is None:
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    else:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", before)
    load_encoding()
    assert os.environ.get("TIKTOKEN_CACHE_DIR") == before
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        load_encoding()
    assert os.environ.get("TIKTOKEN_CACHE_DIR") == before


def test_an_unknown_encoding() -> None:
    with pytest.raises(UnknownName, match="did you mean 'cl100k_base'"):
        load_encoding("cl100k")


# ---------------------------------------------------------------- download


class Server:
    """In the place of tiktoken's, which can be reached: sends `content`, or breaks off."""

    content = b""
    breaks_off = False

    def read(self) -> bytes:
        if self.breaks_off:
            raise IncompleteRead(self.content, 396)
        return self.content


@pytest.fixture
def server(places: Places, monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(tokens, "reachable", lambda host: True)
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: nullcontext(server))
    return server


def test_a_download_is_kept(
    server: Server, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.content = carried().read_bytes()
    load_encoding()
    assert (places.own / FILE).read_bytes() == server.content
    monkeypatch.setattr(
        tokens, "reachable", lambda host: pytest.fail("looked for what is in the cache")
    )
    load_encoding()


@pytest.mark.parametrize(
    ("breaks_off", "message"), [(False, "sent has another hash"), (True, "IncompleteRead")]
)
def test_a_damaged_download_is_not_kept(
    server: Server, places: Places, breaks_off: bool, message: str
) -> None:
    server.content, server.breaks_off = b"what", breaks_off
    with pytest.raises(UsageError, match=message):
        load_encoding()
    assert not places.own.exists()


def test_a_damaged_cache_is_downloaded_again(server: Server, places: Places) -> None:
    places.put(places.own, b"half of it")
    shutil.copy(carried(), places.own / "other")
    server.content = carried().read_bytes()
    load_encoding()
    assert (places.own / FILE).read_bytes() == server.content
    # no half file beside it
    assert sorted(path.name for path in places.own.iterdir()) == sorted([FILE, "other"])


PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@pytest.mark.parametrize("answer", ["yes", "no", *PROXIES])
def test_a_host_is_asked_once_and_never_behind_a_proxy(
    monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    asked: list[Any] = []
    connection = io.BytesIO()

    def connect(address: tuple[str, int], timeout: float) -> io.BytesIO:
        asked.append((address, timeout))
        if answer != "yes":
            raise socket.gaierror(-3, "no name server")
        return connection

    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    if answer in PROXIES:
        monkeypatch.setenv(answer, "http://proxy:3128")
    monkeypatch.setattr(socket, "create_connection", connect)
    assert reachable("example.org") == (answer != "no")
    assert asked == ([] if answer in PROXIES else [(("example.org", 443), PATIENCE)])
    assert connection.closed == (answer == "yes")
