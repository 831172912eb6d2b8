"""Speed of counting tokens against tiktoken's own batches, and the memory it takes.

    python -m tests.bench.tokens

A million texts of 100 to 160 letters in eight languages, a tenth in each round, which all count in
turn, so that what else the machine does meets all; the median round counts. tiktoken is given lists
of 20,000, as its tokens of many more would fill the memory, and the better of two numbers of
threads. The memory of ours is measured in processes of their own, over texts which nobody holds: a
thousand of them, then all.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice

import tiktoken

from metal.data.tokens import count_tokens, load_encoding
from tests.bench.clock import timed

TEXTS, KINDS, ROUNDS = 1_000_000, 4_000, 10
AT_ONCE = 20_000  # texts tiktoken is given together
TARGET = 0.8  # of tiktoken's speed

WORDS = {
    "en": (
        "the river rose during night and people left their houses before water reached bridge near"
        " market"
    ),
    "ar": "ارتفع النهر خلال الليل وغادر الناس بيوتهم قبل أن تصل المياه إلى الجسر قرب السوق القديم",
    "hi": ("रात में नदी का पानी बढ़ गया और लोग पुल के पास बाज़ार तक पहुँचने से पहले घर छोड़ कर चले गए"),
    "bn": "রাতে নদীর জল বেড়ে গেল এবং মানুষ সেতুর কাছে বাজারে পৌঁছানোর আগে ঘর ছেড়ে চলে গেল",
    "ru": "ночью река поднялась и люди покинули дома прежде чем вода дошла до моста возле рынка",
    "tr": (
        "gece boyunca nehir yükseldi ve insanlar su köprüye ulaşmadan önce evlerini terk etti çarşı"
        " yakınında"
    ),
    "sw": (
        "mto ulijaa usiku na watu wakaondoka nyumbani kabla maji hayajafika daraja karibu na soko"
    ),
    "zh": "夜里 河水 上涨 人们 在 水 到达 市场 附近 的 桥 之前 离开 了 家",
}


def kinds() -> list[str]:
    """Different texts, which are repeated with a number that makes each another."""
    rng = random.Random(0)
    found = []
    for number in range(KINDS):
        language = list(WORDS)[number % len(WORDS)]
        words, text, length = WORDS[language].split(), "", rng.randint(95, 145)
        while len(text) < length:
            text += rng.choice(words) + ("" if language == "zh" else " ")
        found.append(text)
    return found


def texts(count: int) -> Iterator[str]:
    """So many different texts, made when they are asked for."""
    different = kinds()
    return (f"{different[row % KINDS]} {row}" for row in range(count))


def ours(given: list[str], encoding: tiktoken.Encoding) -> int:
    return sum(count_tokens(given, encoding))


def theirs(given: list[str], encoding: tiktoken.Encoding, threads: int) -> int:
    parts = (given[start : start + AT_ONCE] for start in range(0, len(given), AT_ONCE))
    return sum(
        sum(map(len, encoding.encode_ordinary_batch(part, num_threads=threads))) for part in parts
    )


def compare(count: int, rounds: int) -> None:
    """Print texts a second of both, their ratio and the target."""
    encoding = load_encoding()
    cores = len(os.sched_getaffinity(0))
    choices = sorted({cores, 8})
    ours(list(texts(1000)), encoding)  # warms up
    print(f"{count:,} texts, {cores} cores, in {rounds} rounds; texts a second")
    print(
        f"{'round':<10}{'ours':>12}"
        + "".join(f"{f'batch, {threads}':>12}" for threads in choices)
        + f"{'ratio':>9}"
    )
    following, speeds, tokens = texts(count), [], 0
    for number in range(rounds):
        given = list(islice(following, count // rounds))
        runs = [timed(lambda given=given: ours(given, encoding))]
        runs += [
            timed(lambda given=given, threads=threads: theirs(given, encoding, threads))
            for threads in choices
        ]
        assert len({count for _, count in runs}) == 1, "different counts"
        tokens += runs[0][1]
        speeds.append([len(given) / took for took, _ in runs])
        report(str(number + 1), speeds[-1])
    ratio = statistics.median(mine / max(peers) for mine, *peers in speeds)
    report("median", [statistics.median(column) for column in zip(*speeds, strict=True)], ratio)
    print(
        f"{tokens / count:.0f} tokens a text; target {TARGET}:"
        f" {'reached' if ratio >= TARGET else 'missed'}"
    )


def report(name: str, speeds: list[float], ratio: float | None = None) -> None:
    ratio = ratio or speeds[0] / max(speeds[1:])
    print(
        f"{name:<10}" + "".join(f"{speed:>12,.0f}" for speed in speeds) + f"{ratio:>9.2f}",
        flush=True,
    )


def peak_of_a_count(count: int) -> float:
    """MB at the highest, in a process that only counts."""
    command = [sys.executable, "-m", "tests.bench.tokens", "--only-count", str(count)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print both comparisons."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--only-count", type=int, help="Count so many, print the peak memory in MB."
    )
    asked = parser.parse_args()
    if asked.only_count:
        sum(count_tokens(texts(asked.only_count), load_encoding()))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    few, many = peak_of_a_count(1000), peak_of_a_count(asked.texts)
    print(
        f"peak memory of a process that counts: {few:.0f} MB with 1,000 texts, {many:.0f} MB with"
        f" {asked.texts:,}"
    )
    compare(asked.texts, asked.rounds)


if __name__ == "__main__":
    main()
