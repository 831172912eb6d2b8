"""Seconds and memory of `metal view` on a folder with an audit of a million ratings and 200 runs:
pages at the first and the second view, searches in 120,000 long texts, the import wizard on a table
of a million rows, a bundle.

    python -m tests.bench.app                          # ten minutes, a folder of its own
    python -m tests.bench.app --folder /tmp/shelf      # keep the folder, and take what is there
    python -m tests.bench.app --folder /tmp/shelf --runs 20 --ratings 100000

The server runs as its user runs it. Memory is the most that each process ever held (VmHWM): the
server's, and the largest of the processes that it started. Markdown.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np
import pandas as pd

from tests.bench.clock import ROOT, timed
from tests.bench.scale import tree
from tests.bench.scale_data import write_dataset

RATINGS, RUNS = 1_000_000, 200
OF_JUDGES = 10  # one run in so many is a judge's, the others are audits
LOOK = 0.02  # seconds between two looks at memory
OUTPUTS = 120_000  # of the dataset with long texts
SCRIPTS = {"en": (0x61, 0x7B), "hi": (0x905, 0x93A), "ar": (0x621, 0x64B), "zh": (0x4E00, 0x5E00)}
FORM = "application/x-www-form-urlencoded"
TABLE = "million.csv"


def metal_in(folder: Path, *arguments: str) -> None:
    """Run a command in a folder. Raises CalledProcessError."""
    command = [sys.executable, "-m", "metal", *arguments]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def fill(folder: Path, ratings: int, runs: int) -> None:
    """Write what is not there yet of the folder."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    if not (folder / "datasets" / "million").exists():
        write_dataset(folder / "datasets" / "million", ratings)
    if not (folder / "runs" / "million").exists():
        metal_in(folder, "audit", "datasets/million", "--out", "runs/million")
    if not (folder / "datasets" / "demo").exists():
        shutil.copytree(ROOT / "datasets" / "demo", folder / "datasets" / "demo")
    if not (folder / "runs" / "judged").exists():
        judge = ("-j", "fake:blind", "-p", "simple,detailed", "--out", "runs/judged", "--yes")
        metal_in(folder, "judge", "datasets/demo", *judge)
    if not (folder / "runs" / "audited").exists():
        metal_in(folder, "audit", "datasets/demo", "runs/judged", "--out", "runs/audited")
    for number in range(runs - 3):
        copy = folder / "runs" / f"run-{number:03}"
        source = "judged" if number % OF_JUDGES == 0 else "audited"
        if not copy.exists():
            shutil.copytree(folder / "runs" / source, copy)
    if not (folder / TABLE).exists():
        write_table(folder / TABLE, ratings)


def write_table(path: Path, rows: int) -> None:
    """A table with a rating per row: outputs one after another, each by five raters on two
    criteria, with a text of its own.
    """
    rng = np.random.default_rng(0)
    outputs = -(-rows // 10)
    number = np.repeat(np.arange(outputs), 10)[:rows]
    place = np.tile(np.arange(10), outputs)[:rows]
    raters = np.array(["Ann", "Ben", "Cho", "gpt-4o", "claude-3"])
    quality = rng.integers(1, 6, outputs)
    score = np.clip(quality[number] + rng.integers(-1, 2, rows), 1, 5)
    frame = pd.DataFrame(
        {
            "output_id": np.char.add("o", number.astype(str)),
            "language": np.array(["en", "hi", "sw", "de"])[number * 4 // outputs],
            "text": [f"The council met for the {each}th time, and agreed." for each in number],
            "rater": raters[place % 5],
            "criterion": np.array(["fluency", "adequacy"])[place // 5],
            "score": score,
        }
    )
    frame.to_csv(path, index=False)


def write_texts(folder: Path, outputs: int) -> None:
    """A dataset of outputs with texts of 40 to 120 words in four scripts, rated by two people and
    a judge.
    """
    rng = np.random.default_rng(0)
    rows = []
    for language, ends in SCRIPTS.items():
        signs = rng.integers(*ends, (8000, 8))
        words = np.array(["".join(map(chr, row[: rng.integers(2, 9)])) for row in signs], object)
        for number in range(outputs // len(SCRIPTS)):
            text = " ".join(rng.choice(words, rng.integers(40, 120)))
            scores = np.clip(rng.integers(1, 6) + rng.integers(-1, 2, 3), 1, 5)
            rows.append((f"{language}-{number}", language, text, *scores))
    names = ["output", "language", "text", "Ann_quality", "Ben_quality", "gpt-4o_quality"]
    table = folder.with_suffix(".csv")
    pd.DataFrame(rows, columns=names).to_csv(table, index=False)
    wide = ("--wide", "{rater}_{criterion}", "--kinds", "gpt-4o=llm")
    metal_in(folder.parent, "import", table.name, *wide, "--out", folder.name)
    table.unlink()


# ---------------------------------------------------------------- measuring


def peak(pid: int) -> int:
    """The most bytes that a process ever held; 0 if it ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    held = re.search(r"VmHWM:\s+(\d+) kB", status)
    return 1024 * int(held[1]) if held else 0


@dataclass
class Watch:
    """The largest process that one started since the last look, besides itself."""

    pid: int
    largest: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.ended.wait(LOOK):
            below = [*tree(self.pid)][1:]
            self.largest = max([self.largest, *map(peak, below)])

    def taken(self) -> int:
        largest, self.largest = self.largest, 0
        return largest


@dataclass(frozen=True)
class Client:
    """Who asks the app. base: its address, with the token."""

    base: str
    watch: Watch

    def ask(self, path: str, form: Mapping[str, str] | None = None) -> tuple[str, str]:
        """The page, and the address to which it sends on. Raises RuntimeError for a failure."""
        parts = urlsplit(self.base)
        assert parts.port
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=600)
        body = None if form is None else urlencode(form)
        headers = {} if form is None else {"Content-Type": FORM}
        connection.request("GET" if form is None else "POST", parts.path + path, body, headers)
        response = connection.getresponse()
        page = response.read().decode()
        connection.close()
        if response.status >= 400:
            raise RuntimeError(f"{path}: {response.status}, {page[-2000:]}")
        to = response.headers.get("Location", "").removeprefix(parts.path)
        return page, to.partition("#")[0]

    def line(self, what: str, path: str) -> str:
        """Show a page twice, print what it took, and return it."""
        self.watch.taken()
        first, answer = timed(lambda: self.ask(path))
        page: str = answer[0]
        second, _ = timed(lambda: self.ask(path))
        row(what, f"{first:.2f}", f"{second:.3f}", self.watch)
        return page


def row(what: str, first: str, second: str, watch: Watch) -> None:
    child = watch.taken()
    of_child = f"{child / 1e6:,.0f}" if child else ""
    print(
        f"| {what} | {first} | {second} | {peak(watch.pid) / 1e6:,.0f} | {of_child} |", flush=True
    )


@contextmanager
def viewing(folder: Path) -> Iterator[Client]:
    """`metal view` on a folder."""
    command = [sys.executable, "-m", "metal", "view", str(folder), "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout
    address = ""
    while not address:
        line = server.stdout.readline()
        if not line:
            raise RuntimeError("metal view does not start")
        address = next(iter(re.findall(r"http://127\.0\.0\.1:\d+/\S+", line)), "")
    watch = Watch(server.pid)
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        yield Client(address, watch)
    finally:
        watch.ended.set()
        thread.join()
        server.terminate()
        server.wait()


def pages(folder: Path) -> None:
    """Each kind of page, of the largest audit and of a small one, in a server of its own."""
    with viewing(folder) as client:
        client.line("start page", "")
        client.line("its search", "?q=hindi+audited")
        for run in ("million", "audited"):
            client.line(f"{run}: run", f"run/runs/{run}")
            listed = client.line(f"{run}: answers", f"answers/runs/{run}")
            language = re.findall(r'option value="([a-z-]+)"', listed)[0]
            client.line(f"{run}: one language", f"answers/runs/{run}?language={language}")
            output = re.findall(rf'href="[^"]*/(output/runs/{run}\?[^"]+)"', listed)[0]
            client.line(f"{run}: an output", output.replace("&amp;", "&"))
            cell = re.findall(rf'href="[^"]*/(on/runs/{run}[^"]*)"', listed)
            client.line(f"{run}: go on", (cell or [f"on/runs/{run}"])[0].replace("&amp;", "&"))
        client.line("judged: answers", "answers/runs/judged")
        client.line("dataset million", "dataset/datasets/million")
        client.line("dataset million: answers", "answers/datasets/million")


def texts(folder: Path) -> None:
    """Lists of, and searches in, a dataset with long texts."""
    if not (folder / "datasets" / "texts").exists():
        write_texts(folder / "datasets" / "texts", OUTPUTS)
    with viewing(folder) as client:
        client.line("texts: answers", "answers/datasets/texts")
        for number, searched in enumerate(("abc", "xyz qu", "e", "hi-12")):
            what = f"texts: search {number + 1}"
            client.line(what, f"answers/datasets/texts?{urlencode({'kind': 'any', 'q': searched})}")
        client.line("texts: an output", "output/datasets/texts?output=hi-12")


def wizard(folder: Path) -> None:
    """A table of a million rows: the first view, a change of each sort, the dataset."""
    with viewing(folder) as client:
        watch = client.watch
        _, address = client.ask("import", {"table": TABLE})
        client.line("wizard: first view", address)
        for what, fields in (
            ("a kind", {"kind.0": "llm"}),
            ("a direction", {"direction.0": "lower"}),
            ("a language", {"column.1": "", "language": "Hindi"}),
            ("a role", {"column.2": "comment"}),
        ):
            start = time.perf_counter()
            _, to = client.ask(address, fields)
            client.ask(to)
            row(f"wizard: {what}", f"{time.perf_counter() - start:.2f}", "", watch)
        name = f"made-{os.getpid()}"
        start = time.perf_counter()
        _, to = client.ask(address, {"do": "make", "name": name})
        while not (folder / "datasets" / name / "dataset.toml").is_file():
            page, _ = client.ask(to)
            if time.perf_counter() - start > 600 or "Not done" in page:
                raise RuntimeError(f"the dataset was not made: {page[-3000:]}")
            time.sleep(0.2)
        row("wizard: make the dataset", f"{time.perf_counter() - start:.2f}", "", watch)
        shutil.rmtree(folder / "datasets" / name)


def bundle(folder: Path, options: Sequence[str]) -> None:
    """`metal view bundle` of the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        site = Path(scratch) / "site"
        command = [sys.executable, "-m", "metal", "view", "bundle", str(folder)]
        before = os.times()
        start = time.perf_counter()
        child = subprocess.Popen([*command, "--out", str(site), *options])
        watch = Watch(child.pid)
        thread = threading.Thread(target=watch.run)
        thread.start()
        held = 0
        while child.poll() is None:
            held = max(held, peak(child.pid))
            time.sleep(LOOK)
        watch.ended.set()
        thread.join()
        if child.returncode:
            raise RuntimeError("the bundle failed")
        seconds, after = time.perf_counter() - start, os.times()
        cpu = after.children_user + after.children_system
        cpu -= before.children_user + before.children_system
        files = [path for path in site.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
    what = " ".join(["bundle", *options])
    print(f"\n{what}: {seconds:.0f} s, {cpu:.0f} s of CPU, {len(files):,} files,", end=" ")
    print(f"{size / 1e6:,.0f} MB; its process {held / 1e6:,.0f} MB,", end=" ")
    print(f"its largest child {watch.largest / 1e6:,.0f} MB")


PARTS = ("pages", "texts", "wizard", "bundle")


def main() -> None:
    """Print a table: a line a page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, help="keep the folder here, and take what is there")
    parser.add_argument("--ratings", type=int, default=RATINGS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--bundle", nargs="*", default=(), help="options of the bundle")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_STATE_HOME"] = scratch
        os.environ["PYTHONPATH"] = str(ROOT)
        folder = options.folder or Path(scratch) / "folder"
        fill(folder, options.ratings, options.runs)
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        print(f"{options.ratings:,} ratings, {options.runs} runs; load of the machine {load}\n")
        if {"pages", "texts", "wizard"} & {*options.parts}:
            print("| page | first view, s | second, s | server, MB | child, MB |")
            print("|---|---|---|---|---|")
        if "pages" in options.parts:
            pages(folder)
        if "texts" in options.parts:
            texts(folder)
        if "wizard" in options.parts:
            wizard(folder)
        if "bundle" in options.parts:
            bundle(folder, [f"--{option}" for option in options.bundle])


if __name__ == "__main__":
    main()
