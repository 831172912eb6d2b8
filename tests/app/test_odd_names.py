"""Folders with names that no person would choose are shown safely and can be opened, or the start
page says why not.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote, unquote, urlencode, urlsplit

import pytest

from metal.app.server import View
from tests.app.test_guard import asked
from tests.app.test_managing import posted
from tests.saying import tells

NAMES = [
    *("line\nbreak", "tab\there", "bell\x07", "turned\u202etxt.exe", "isolate\u2066", "del\x7f"),
    *("a%0Ab", "x#y?z&w", " lead", 'it\'s "q"<b>', "back\\slash", "العربية", "e\u0301"),
]
NOT_UTF8 = [os.fsdecode(b"latin\xe9"), os.fsdecode(b"half\xed\xa0\x80")]
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2067\ud800-\udfff]")
PAGES = {
    "runs": ("run", "answers", "on", "manage"),
    "datasets": ("dataset", "judge", "imported", "manage"),
}


@pytest.fixture(scope="module")
def odd(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    folder = tmp_path_factory.mktemp("odd")
    for name in (*NAMES, *NOT_UTF8):
        shutil.copytree(shelf / "runs" / "audit", folder / "runs" / name)
        shutil.copytree(shelf / "datasets" / "demo", folder / "datasets" / name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        view = View.begin(folder, 0)
    yield view
    view.stop()


def addresses(view: View, text: str) -> list[str]:
    """The addresses on a page, below the token."""
    base = urlsplit(view.address).path
    links = map(unescape, re.findall(r'href="([^"]+)"', text))
    return [link.removeprefix(base).split("#")[0] for link in links if link.startswith(base)]


def test_the_start_page_lists_them_and_its_links_lead_there(odd: View) -> None:
    status, text, _ = asked(odd)
    assert status == 200
    assert not UNSAFE.search(text)
    links = addresses(odd, text)
    for name in NAMES:
        assert f"run/runs/{quote(name)}" in links
        assert f"dataset/datasets/{quote(name)}" in links
    assert tells(text, "Not listed", "4 folders", "not UTF-8", "latin\ufffd", "other names")
    assert asked(odd, "?q=latin")[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_page_of_it_opens_and_shows_nothing_harmful(odd: View, name: str) -> None:
    for place, pages in PAGES.items():
        for page in pages:
            address = f"{page}/{place}/{quote(name)}"
            status, text, _ = asked(odd, address)
            assert status == 200, (address, text[-300:])
            assert not UNSAFE.search(text), address
            for link in addresses(odd, text)[:12]:
                assert asked(odd, link)[0] in (200, 303), link


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_is_moved_and_brought_back_and_compared(odd: View, name: str) -> None:
    key = f"runs/{name}"
    ticked = [quote(key), quote(f"runs/{NAMES[-1]}")]
    if name != NAMES[-1]:
        assert asked(odd, f"compare?{urlencode({'run': ticked}, doseq=True)}")[0] == 200
    text = asked(odd)[1]
    assert unquote(next(each for each in ticked_in(text) if unquote(each) == key)) == key
    assert posted(odd, f"to-bin/{quote(key)}")[0] == 303
    assert not (odd.folder / key).exists()
    text = asked(odd, "bin")[1]
    assert not UNSAFE.search(text)
    assert posted(odd, f"restore/{quote(key)}")[0] == 303
    assert (odd.folder / key).is_dir()


def ticked_in(text: str) -> list[str]:
    return [unescape(value) for value in re.findall(r'name="run" value="([^"]*)"', text)]


def test_an_audit_of_it_is_started(odd: View) -> None:
    status, _, headers = posted(odd, f"audit/datasets/{quote(NAMES[0])}")
    assert status == 303
    job = odd._state.jobs.job(headers["location"].rpartition("/")[2])
    job.stop()
    assert job.arguments[-1] == f"datasets/{NAMES[0]}"
    text = asked(odd, f"job/{job.key}")[1]
    assert not UNSAFE.search(text)
    job.process.wait(60)
