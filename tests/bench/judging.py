"""CPU, wall time and start of METAL's judge runner, beside what else makes judge calls, in one run.

    python -m tests.bench.judging                    # CPU and wall time, at 0 and 50 ms latency
    python -m tests.bench.judging --resume           # until a run with 100,000 answers goes on

2,000 prompts of about 5 KB in Latin and Devanagari, 64 in flight, against a local server that is
its own process, so that its CPU is nobody's. All send the same prompts. Peers get them ready made,
and have their environments in --cache; ours renders them, and journals the replies. Clocks start
after imports and 32 calls of warm-up. Of the rounds, the least CPU and the least wall time of each
count: what else the machine does can only add to them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from metal.data.dataset import load_dataset, save_dataset
from metal.raters.judges.call import ModelRequest, Reply
from metal.raters.judges.journal import Journal
from metal.running.judging import JOURNAL, JudgeRequest, judge_job
from tests.bench.clock import ROOT, serving
from tests.bench.judging_ours import JUDGE, dataset, plan_of, run_of
from tests.llm_server import LlmServer

SCRIPTS = Path(__file__).with_name("peers")
OURS, PLAIN = "metal", "openai"
IN_FLIGHT, LATENCIES_MS = 64, (0, 50)
MOST_OF_IDEAL = 1.25  # wall time at latency, of calls x latency / in flight
MOST_TO_START = 3.0  # seconds, until a resumed run sends
ANSWERED, LEFT = 100_000, 100


@dataclass(frozen=True)
class Peer:
    """A script in SCRIPTS, what its environment needs, and how much of its CPU a call ours may
    use.
    """

    script: str
    requirements: tuple[str, ...]
    target: float | None = None


PEERS = {
    PLAIN: Peer("plain_openai.py", ("openai>=3.50,<4",), 1.2),
    "langchain": Peer(
        "langchain_structured.py",
        ("langchain-core>=1.7,<2", "langchain-openai>=1.7,<2", "openai>=3.50,<4"),
        0.4,
    ),
    "litellm": Peer("litellm_acompletion.py", ("litellm>=1.100,<2",)),
    "inspect-ai": Peer("inspect_generate.py", ("inspect-ai>=0.3.280,<0.4", "openai>=3.50,<4"), 0.6),
}


@dataclass(frozen=True)
class Measured:
    """One round of one peer, as it says itself."""

    peer: str
    latency_ms: float
    calls: int
    answered: int
    wall_s: float
    cpu_s: float

    @property
    def cpu_ms(self) -> float:
        """CPU a call."""
        return 1_000 * self.cpu_s / self.calls


# ---------------------------------------------------------------- environments and processes


def environment(peer: str, cache: Path) -> Path:
    """The python of the peer's environment, cache/<peer>; made, by uv or pip, if absent, unfinished
    or outdated.
    """
    requirements = list(PEERS[peer].requirements)
    folder = cache / peer
    python = folder / "bin" / "python"
    mark = folder / "requirements.json"  # written last: without it the environment is unfinished
    wanted = json.dumps({"python": sys.version.split()[0], "requirements": requirements})
    if mark.is_file() and mark.read_text(encoding="utf-8") == wanted and python.exists():
        return python
    if folder.exists() and not (folder / "pyvenv.cfg").is_file():
        raise FileExistsError(
            f"{folder} is no virtual environment: name another --cache, or remove it"
        )
    shutil.rmtree(folder, ignore_errors=True)
    uv = shutil.which("uv")
    if uv:
        make = [uv, "venv", "--quiet", "--python", sys.executable, str(folder)]
        install = [
            uv,
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            "--python",
            str(python),
            *requirements,
        ]
    else:
        make = [sys.executable, "-m", "venv", str(folder)]
        install = [str(python), "-m", "pip", "install", "--quiet", *requirements]
    for command in (make, install):
        subprocess.run(command, check=True)
    mark.write_text(wanted, encoding="utf-8")
    return python


def version(peer: str, python: str | Path) -> str:
    """What is installed of the library the peer is about: `openai 3.52.0`."""
    names = (
        [re.split(r"[<>=]", requirement)[0] for requirement in PEERS[peer].requirements]
        if peer in PEERS
        else []
    )
    name = (
        peer if peer in names else next((name for name in names if "openai" in name), "metal-eval")
    )
    ask = "import sys, importlib.metadata as m; print(sys.argv[1], m.version(sys.argv[1]))"
    return subprocess.run(
        [python, "-c", ask, name], check=True, capture_output=True, text=True
    ).stdout.strip()


def said_by(
    command: Sequence[str | Path], home: Path, variables: Mapping[str, str], limit_s: float
) -> dict[str, Any]:
    """The last line of a process, which is JSON.

    It sees nothing of this shell's variables (keys, proxies, tracing, callbacks), in an empty
    folder (no .env).
    """
    clean = {
        "PATH": os.defpath,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        **variables,
    }
    done = subprocess.run(
        command, cwd=home, env=clean, capture_output=True, text=True, timeout=limit_s
    )
    if done.returncode:
        raise RuntimeError(f"{command[1:3]} ended with {done.returncode}:\n{done.stderr[-2_000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def once(peer: str, latency_ms: float, calls: int, cache: Path) -> Measured:
    """One round of one peer, or of ours."""
    with serving("llm_server.py", "--light", "--latency-ms", str(latency_ms)) as base_url:
        common = ["--base-url", base_url, "--in-flight", str(IN_FLIGHT)]
        if peer == OURS:
            command = [
                sys.executable,
                "-m",
                "tests.bench.judging_ours",
                *common,
                "--calls",
                str(calls),
            ]
            variables = {"PYTHONPATH": str(ROOT)}
        else:
            command = [str(environment(peer, cache)), str(SCRIPTS / PEERS[peer].script), *common]
            command += ["--prompts", str(cache / f"prompts-{calls}.jsonl")]
            variables = {}
        home = cache / "home"
        home.mkdir(parents=True, exist_ok=True)
        found = said_by(command, home, variables, 60 + calls / 50)
    return Measured(peer, latency_ms, **found)


def write_prompts(file: Path, calls: int) -> None:
    """What ours sends, as JSONL."""
    plan = plan_of(dataset(calls), "http://127.0.0.1/v1", IN_FLIGHT)
    with file.open("w", encoding="utf-8") as lines:
        for call in plan.questions(plan.models[0]):
            lines.write(json.dumps(asdict(call.message), ensure_ascii=False) + "\n")


# ---------------------------------------------------------------- CPU and wall time


def compare(peers: Sequence[str], calls: int, repeats: int, cache: Path) -> None:
    """Rounds of all, taking turns; the table of the best of each, with ratios and targets."""
    write_prompts(cache / f"prompts-{calls}.jsonl", calls)
    shown = {OURS: version(OURS, sys.executable)} | {
        peer: version(peer, environment(peer, cache)) for peer in peers
    }
    found = []
    for _ in range(repeats):
        for latency_ms in LATENCIES_MS:
            for peer in shown:
                found.append(once(peer, latency_ms, calls, cache))
                if found[-1].answered != calls:
                    raise RuntimeError(
                        f"{peer} has verdicts for {found[-1].answered} of {calls} calls"
                    )
    print(f"{calls:,} calls, {IN_FLIGHT} in flight; the least of {repeats} rounds")
    print(
        f"{'latency':>8} "
        f" {'peer':<24}{'CPU ms/call':>12}{'of openai':>11}{'wall s':>8}{'ours/peer':>11}"
        f"{'target':>8}"
    )
    for latency_ms in LATENCIES_MS:
        cpu, wall = (
            {
                peer: min(
                    getattr(one, what)
                    for one in found
                    if (one.peer, one.latency_ms) == (peer, latency_ms)
                )
                for peer in shown
            }
            for what in ("cpu_ms", "wall_s")
        )
        for peer, name in shown.items():
            target = PEERS[peer].target if peer in PEERS else None
            ratio = f"{cpu[peer] / cpu[PLAIN]:.2f}" if PLAIN in cpu else "-"
            print(
                f"{latency_ms:>5} ms  {name:<24}{cpu[peer]:>12.2f}{ratio:>11}{wall[peer]:>8.2f}"
                f"{'' if peer == OURS else f'{cpu[OURS] / cpu[peer]:.2f}':>11}"
                f"{_met(cpu[OURS] / cpu[peer], target)}"
            )
        if latency_ms:
            ideal = calls * latency_ms / 1_000 / IN_FLIGHT
            print(
                f"{latency_ms:>5} ms "
                f" {'ideal wall time':<24}{'':>23}{ideal:>8.2f}{wall[OURS] / ideal:>11.2f}"
                f"{_met(wall[OURS] / ideal, MOST_OF_IDEAL)}"
            )


def _met(ratio: float, target: float | None) -> str:
    return "" if target is None else f"{target:>8}  {'met' if ratio <= target else 'NOT met'}"


# ---------------------------------------------------------------- start


class _Canned:
    """A client that answers at once, to fill a journal without a server."""

    async def ask(self, ask: ModelRequest) -> Reply:
        text = '{"score": 2, "justification": "The summary keeps what matters and reads well."}'
        message = {"role": "assistant", "content": text, "refusal": None}
        body = {
            "id": "chatcmpl-1",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }
        await asyncio.sleep(0)
        return Reply(
            text, raw=json.dumps(body).encode(), model="gpt-4o", tokens_in=1_500, tokens_out=20
        )

    async def close(self) -> None:
        return None


def resume(repeats: int) -> None:
    """Seconds from starting `metal judge --resume` to its first request, and to its end; the least
    of the rounds.
    """
    found = []
    first: list[float] = []
    with tempfile.TemporaryDirectory() as place, LlmServer(light=True) as server:

        def answer(*_: object) -> str:
            first.append(time.perf_counter())
            return '{"score": 1, "justification": "Because."}'

        server.answer = answer
        folder, out, full = (Path(place, name) for name in ("dataset", "run", "full.jsonl"))
        outputs = (ANSWERED + LEFT) // 10  # five criteria, asked twice
        save_dataset(dataset(outputs, 5), folder)
        request = JudgeRequest((JUDGE,), ("simple",), repeat=2, base_url=f"{server.url}/v1")
        job = judge_job(request, folder, load_dataset(folder), concurrency=IN_FLIGHT)

        async def fill() -> None:
            journal = Journal(full)
            await run_of(job.plan, journal, ANSWERED, lambda _: _Canned()).go()
            await journal.close()

        asyncio.run(fill())
        for _ in range(repeats):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            job.begin(out, force=False)
            shutil.copyfile(full, out / JOURNAL)
            first.clear()
            began = time.perf_counter()
            command = [
                sys.executable,
                "-m",
                "metal",
                "judge",
                "--resume",
                str(out),
                "--concurrency",
                str(IN_FLIGHT),
            ]
            subprocess.run(
                command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
            )
            ended = time.perf_counter() - began
            if len(first) != LEFT:
                raise RuntimeError(f"{len(first)} requests instead of {LEFT}")
            found.append((first[0] - began, ended))
    start, whole = map(min, zip(*found, strict=True))
    print(
        f"`metal judge --resume`, {ANSWERED:,} of {ANSWERED + LEFT:,} answered; the least of"
        f" {repeats} rounds"
    )
    print(
        f"first request after {start:.2f} s (target {MOST_TO_START:g} s:"
        f" {_met(start, MOST_TO_START).split('  ')[-1]})"
    )
    print(f"ended, ratings written, after {whole:.2f} s")


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3, help="rounds (default: %(default)s)")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir(), "metal-bench"),
        help="environments",
    )
    parser.add_argument(
        "--peers", default=",".join(PEERS), help="those to compare with (default: %(default)s)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="the start of a resumed run instead of speed"
    )
    asked = parser.parse_args()
    peers = [peer for peer in asked.peers.split(",") if peer]
    for peer in peers:
        if peer not in PEERS:
            parser.error(f"no peer is called {peer}: there are {', '.join(PEERS)}")
    cache = asked.cache.absolute()
    cache.mkdir(parents=True, exist_ok=True)
    if asked.resume:
        resume(asked.repeats)
    else:
        compare(peers, asked.calls, asked.repeats, cache)


if __name__ == "__main__":
    main()
