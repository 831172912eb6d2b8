"""Probes: changes of an output with a known effect on scores. `contract` defines them; this module
loads them.
"""

from __future__ import annotations

from collections.abc import Iterable

from metal.building.probes.contract import BAIT, CERTAIN, INVARIANT, KINDS, Probe
from metal.data.plugins import load_plugin, plugins
from metal.errors import UsageError, check_known

GROUP = "metal.probes"
USUAL = (CERTAIN, INVARIANT, BAIT)  # graded ones count only where people rated the changed outputs


def load_probes(names: Iterable[str] = ()) -> tuple[Probe, ...]:
    """Load the probes with these names or of these kinds, each once. Without names, load the probes
    of the usual kinds.

    Raises UnknownName, and UsageError if another package offers something that is not a probe.
    """
    asked = list(names) or list(USUAL)
    check_known("probe", asked, [*KINDS, *plugins(GROUP)])
    loaded = [load_plugin(GROUP, "probe", name) for name in plugins(GROUP)]
    for name, probe in zip(plugins(GROUP), loaded, strict=True):
        if not isinstance(probe, Probe) or probe.kind not in KINDS:
            raise UsageError(
                f"probe {name} ({plugins(GROUP)[name].value}) is not a Probe of kind"
                f" {', '.join(KINDS)}"
            )
    chosen: dict[Probe, None] = {}
    for name in asked:
        chosen |= dict.fromkeys(probe for probe in loaded if name in (probe.name, probe.kind))
    return tuple(chosen)
