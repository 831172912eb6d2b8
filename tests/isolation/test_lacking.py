"""What a system cannot prevent is told from what it can, by the sentences about protections."""

from __future__ import annotations

from itertools import product

import pytest

from metal.raters.isolation import lacking
from metal.raters.isolation.child import _sentences
from metal.raters.isolation.limits import Disk, Limits


@pytest.mark.parametrize("disk", list(Disk))
def test_a_system_that_isolates_lacks_nothing(disk: Disk) -> None:
    assert lacking(_sentences(Limits(), disk, True, True, 6, True)) == ()


@pytest.mark.parametrize(
    ("calls", "version", "memory", "begins"),
    [
        (False, 6, True, "owners"),
        (True, 0, True, "files"),
        (True, 6, False, "memory"),
    ],
)
def test_each_protection_that_is_missing_is_noticed(
    calls: bool, version: int, memory: bool, begins: str
) -> None:
    missing = lacking(_sentences(Limits(), Disk.COUNTED, True, calls, version, memory))
    assert [each.partition(":")[0].partition(",")[0] for each in missing] == [begins]


def test_where_nothing_isolates_all_is_lacking() -> None:
    for network, version in product((False, True), (0, 4)):
        sentences = _sentences(Limits(), Disk.NONE, network, False, version, False)
        missing = " ".join(lacking(sentences))
        assert ("network" in missing) is not network
        assert ("files" in missing.replace("files are not", "")) is (version == 0)
        assert "signals" in missing
