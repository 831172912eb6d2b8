"""docs/reference/ is what the code says."""

from __future__ import annotations

from metal.runs.kinds import meaning
from tests.api import reference


def test_the_reference_is_of_the_code() -> None:
    """The API changes only on purpose. Then: python -m tests.api.test_reference writes the pages
    anew.
    """
    for page, text in reference.pages().items():
        assert (reference.REFERENCE / page).read_text(encoding="utf-8") == text


def test_every_column_says_what_it_is() -> None:
    columns = [
        (kind, column.name)
        for kind, run in reference.runs()
        for table in {**run.described, **run.optional}.values()
        for column in table
    ]
    assert [each for each in columns if not meaning(*each)] == []


if __name__ == "__main__":
    for name, text in reference.pages().items():
        (reference.REFERENCE / name).parent.mkdir(exist_ok=True)
        (reference.REFERENCE / name).write_text(text, encoding="utf-8")
