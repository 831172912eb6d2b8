"""How long WMT23's official table takes, of two language pairs, beside mt-metrics-eval's own time.

    METAL_REFERENCE=... python -m tests.bench.official

mt-metrics-eval (commit 68a481a) took 270 s for the same values without tests (k = 0); METAL's time
includes reading the folder and PERM-BOTH with 1,023 exchanges for every two metrics of every task.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import metal

THEIRS = 270.0  # seconds, without tests


def main() -> None:
    folder = Path(os.environ["METAL_REFERENCE"]) / "wmt23-metrics"
    begun = time.perf_counter()
    dataset = metal.read(folder)
    read = time.perf_counter()
    table = metal.billboard_layout(dataset, layout="wmt23").tables["ranking"]
    done = time.perf_counter()
    print(f"read {read - begun:.1f} s, table of {len(table)} metrics {done - read:.1f} s,")
    print(f"together {done - begun:.1f} s: {THEIRS / (done - begun):.0f} times as fast")


if __name__ == "__main__":
    main()
