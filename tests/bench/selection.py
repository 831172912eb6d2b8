"""How often the guarantee of `metal select` is broken: `python -m tests.bench.selection`.

2,000 sets of each world; the share in which the errors above the chosen threshold are more than
alpha must be at most delta. Errors are exact, by integrating over the confidences.
"""

from __future__ import annotations

import numpy as np

from metal.stats.selection import fixed_sequence

SETS, ALPHA, DELTA = 2000, 0.1, 0.1
WORLDS = {
    "confidence is right": lambda c: c,
    "too sure by a fifth": lambda c: c - 0.2 * (c - 0.5),
    "confidence says nothing, errors at 0.1005": lambda c: 0 * c + 0.8995,
    "surest answers are worst": lambda c: 0.97 - 0.15 * c,
}


def main() -> None:
    every = np.linspace(0.5, 1, 20001)
    print(f"alpha {ALPHA}, delta {DELTA}, {SETS} sets: share broken, share with a threshold")
    for world, chance in WORLDS.items():
        for items in (60, 200, 1000):
            rng, broken, chosen = np.random.default_rng([1, items]), 0, 0
            for _ in range(SETS):
                confidence = rng.uniform(0.5, 1, items)
                wrong = (rng.random(items) >= chance(confidence)).astype(float)
                made = fixed_sequence(confidence[:, None], wrong[:, None], ALPHA, DELTA)
                if made.kept:
                    chosen += 1
                    broken += bool((1 - chance(every[every >= made.value])).mean() > ALPHA)
            print(f"{world:45} {items:5} {broken / SETS:.4f} {chosen / SETS:.3f}")


if __name__ == "__main__":
    main()
