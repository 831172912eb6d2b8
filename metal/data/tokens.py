"""Token counts with tiktoken, on all cores, and without a network if possible.

The encoding decides the figures (Bengali has 1.21 tokens per character in cl100k_base and 0.32 in
o200k_base), so another encoding is used only on request, and is recorded. Its file is read from
METAL's cache, from tiktoken's own caches, or from installed packages that carry a copy; otherwise
it is downloaded into METAL's cache. A file whose hash differs from tiktoken's is never used.
"""

from __future__ import annotations

import hashlib
import http.client
import importlib.util
import os
import socket
import tempfile
import urllib.request
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

from metal.data.files import whole_text, write_new
from metal.errors import UsageError, check_known

if TYPE_CHECKING:
    import tiktoken

ENCODING = "cl100k_base"  # GPT-4's, which METAL counts in
HOST = "openaipublic.blob.core.windows.net"

# encoding: SHA-256 of its file, as tiktoken has it
ENCODINGS = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
# Packages that carry tiktoken's files, and where.
CARRIERS = {
    "litellm": "litellm_core_utils/tokenizers",
    "llama_index.core": "_static/tiktoken_cache",
}

CHUNK = 64  # texts a thread takes at a time
PIECE = 50_000  # letters of a text that cannot be counted at once
PATIENCE = 1.0  # seconds until a host counts as out of reach


def load_encoding(name: str = ENCODING) -> tiktoken.Encoding:
    """The encoding of this name. Raises UnknownName, or UsageError if its file can neither be found
    nor downloaded.
    """
    check_known("encoding", [name], ENCODINGS)
    path = _file(name)
    import tiktoken

    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(path.parent)
    try:
        return tiktoken.get_encoding(name)
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


def cache_folder() -> Path:
    """The folder in which METAL caches tiktoken's files."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "metal" / "tiktoken"


def _file(name: str) -> Path:
    """The encoding's file, downloaded into METAL's cache if this machine has no copy."""
    url = f"https://{HOST}/encodings/{name}.tiktoken"
    # as tiktoken names it
    file_name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    path = cache_folder() / file_name
    for copy in (path, *_copies(file_name)):
        if copy.is_file() and hashlib.sha256(copy.read_bytes()).hexdigest() == ENCODINGS[name]:
            return copy
    content = _downloaded(url, name, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_new(path, content)
    return path


def _copies(file_name: str) -> Iterator[Path]:
    """Other paths that may have a copy of the file."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / file_name
    yield Path(tempfile.gettempdir()) / "data-gym-cache" / file_name
    for package, folder in CARRIERS.items():
        try:
            spec = importlib.util.find_spec(package)
        except ImportError:  # the package above it is missing
            continue
        for location in (spec.submodule_search_locations or []) if spec else []:
            yield Path(location) / folder / file_name


def _downloaded(url: str, name: str, path: Path) -> bytes:
    problem = f"{HOST} cannot be reached"
    if reachable(HOST):
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:  # noqa: S310 - the address is ours
                content: bytes = reply.read()
            if hashlib.sha256(content).hexdigest() == ENCODINGS[name]:
                return content
            problem = f"the file that {HOST} sent has another hash"
        except (URLError, OSError, http.client.HTTPException) as error:  # the last: it broke off
            problem = f"{HOST}: {error}"
    raise UsageError(
        f"the tokenizer {name} is not on this machine and {problem}. Put {url.rsplit('/', 1)[1]},"
        f" downloaded elsewhere, at {path}, or install a package that carries it (pip install"
        " llama-index-core)"
    )


def reachable(host: str) -> bool:
    """Whether `host` answers on port 443; without a network, libraries try for half a minute.

    Always true if there is a proxy, because a proxy cannot be asked.
    """
    if any(map(os.environ.get, ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"))):
        return True
    try:
        socket.create_connection((host, 443), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


# ---------------------------------------------------------------- counting


def count_tokens(
    texts: Iterable[str], encoding: tiktoken.Encoding, threads: int | None = None
) -> Iterator[int]:
    """The number of tokens of each text, in order; special tokens count as plain text.

    Only a few chunks for each thread are in memory at a time. threads: by default as many as there
    are cores.
    """
    if threads is None:
        threads = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    waiting: deque[Future[list[int]]] = deque()
    following = iter(texts)
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                while len(waiting) < 3 * threads and (chunk := list(islice(following, CHUNK))):
                    waiting.append(pool.submit(_count, chunk, encoding))
                if not waiting:
                    return
                yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _count(texts: list[str], encoding: tiktoken.Encoding) -> list[int]:
    return [count_text(text, encoding) for text in texts]


def count_text(text: str, encoding: tiktoken.Encoding) -> int:
    """The number of tokens of a text; special tokens count as plain text.

    tiktoken's pattern cannot match a run of about a million blanks; such a text is counted in
    pieces, each of which may have one token more than in the text.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = whole_text(text)
    try:
        return _length(text, encoding)
    except ValueError:  # raised by the pattern only
        return sum(
            _length(text[start : start + PIECE], encoding) for start in range(0, len(text), PIECE)
        )


def _length(text: str, encoding: tiktoken.Encoding) -> int:
    """The number of tokens. They are counted in an array, because only one thread at a time could
    build lists of numbers.
    """
    return len(encoding.encode_to_numpy(text, disallowed_special=()))
