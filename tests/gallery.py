"""Pictures of the gallery's pages: `python -m tests.gallery` makes the pages, in site/gallery as
`make docs` does, and takes the pictures anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import FLAGS, chromium
from tests.pages import ROOT, blocks

GALLERY = ROOT / "docs" / "gallery.md"
SIZE = {"width": 1200, "height": 800}
CARD = re.compile(r'href="(gallery/[^"]+)"><img src="(images/gallery/[^"]+)"')


def cards() -> list[tuple[str, str]]:
    """Each page that the gallery links, below site/, with its picture, below docs/."""
    return CARD.findall(GALLERY.read_text(encoding="utf-8"))


def make_pages() -> None:
    """Run the gallery's commands, from the root: so no page names a folder of this machine."""
    commands = "".join(block.text for block in blocks(GALLERY) if block.kind == "bash")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    subprocess.run(["bash", "-ec", commands], cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    make_pages()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        page = browser.new_page(viewport=SIZE, device_scale_factor=0.5)
        for linked, picture in cards():
            page.goto((ROOT / "site" / linked).as_uri())
            (ROOT / "docs" / picture).parent.mkdir(exist_ok=True)
            page.screenshot(path=ROOT / "docs" / picture, type="jpeg", quality=75)
        browser.close()
