"""Sentences that readers stumbled over stay away, and the glossary has one entry for each word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metal.auditing.verdict import INFORMATIVE, LIKE_A_PERSON

ROOT = Path(__file__).parents[1]
PLACES = ("metal", "docs", "prompts")
KINDS = {".py", ".toml", ".md", ".html", ".js"}
# What two reviews quoted, of each quotation the part that made it hard to read.
QUOTED = """
people of a cell who agree far less
first reply that an attempt brings
Take in all of a report
What is to be written, for a board
of many scores at once, and its opposite
contents as sources, those of each generator apart
What the run says of judges that bears on
and the judges of a run, and nobody else
each part of what a judge is
empty what is not on record
that people rated and that have no ends
questions of the plan precede
blanked out, so that places stay
nobody but the people has a score
there is nobody to rank
is no day; write
ends the tasks and `extend` goes on
that were drawn before would not be
and their labels do not count
above 0 and below 0.5, half of the scale
when there is a cluster again
give its `push` again
Not to be concluded
is high on other texts
That who is not flagged
only the worst can be told
Nobody is shown to disagree
than these do among themselves
agree with colleagues clearly less
farthest below them
and surely agrees there
may answer anything alone
is enough agreement sure
sources of a language or more
than its best member cannot be said
no output that it and people rated
whose mistakes are their own
standard error and what that is at most
of its being turned round
a judge may be to be as good as one
Tasks out to people, ratings back
nothing makes these languages comparable
goes with a table of scores
a program's is made from its file
this version and its ensembles are in
who is noisy in truth
Nothing tells what a rater means
Whom to look at
Take its answers, unpaid
was given nothing
what was hit hardest
every other case by name
looks as good as a person
cases, no more than chance may give
of what one knows
what more ratings decide
Read where judge and people differ
would tell half the time
to tell 4 times in 5
may be as good as a person, but
was rarely tested
Beware of its own
it tells no more than a constant
no judge can be measured better
with such options:
and then this verb
declare the gate anew
looks on while a judge
bears a signature
model behind a name is exchanged
the second what it was
who changes them is asked
Is it what it was
Say what you have, and run
Go on with a run that was stopped
"Of the 95% interval of
"Of a verdict."
"A task takes.
Add the criterion NAME to the dataset DATA
assumed; see --directions
in words, taken as
make figures doubtful
makes figures doubtful
for all rows"
To know the score of
number of items what it is
Type what is printed
goes on with what was asked for
has no simple description; write
""".strip().splitlines()


def texts() -> dict[str, str]:
    """Every text of the product and its documents, blanks folded and string literals joined."""
    paths = [path for name in PLACES for path in sorted((ROOT / name).rglob("*"))]
    paths += [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    return {
        str(path.relative_to(ROOT)): folded(path.read_text(encoding="utf-8"))
        for path in paths
        if path.suffix in KINDS
    }


def folded(text: str) -> str:
    """One line in lower case; adjacent literals (`"a"` newline `" b"`) read as one."""
    text = re.sub(r'"\s*\n\s*f?"', "", text)
    return re.sub(r"\s+", " ", text).lower()


@pytest.fixture(scope="module")
def product() -> dict[str, str]:
    return texts()


def test_adjacent_literals_are_read_as_one() -> None:
    assert folded('say(\n    "To know "\n    f"the score")') == 'say( "to know the score")'


@pytest.mark.parametrize("needle", QUOTED)
def test_what_was_quoted_as_hard_to_read_occurs_nowhere(
    needle: str, product: dict[str, str]
) -> None:
    assert [path for path, text in product.items() if folded(needle) in text] == []


def glossary() -> list[str]:
    """The words that the glossary explains, in their order."""
    page = (ROOT / "docs/explanation/glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE)
    return [word for row in rows for word in row.split(", ") if row not in ("word", "---")]


def test_the_glossary_has_one_entry_for_each_word_and_all_verdicts() -> None:
    words = glossary()
    assert len(words) == len(set(words)) > 50
    assert {"rater", "judge", "person", "item", "output", "cell", "case", "constant"} <= {*words}
    assert {LIKE_A_PERSON, INFORMATIVE, "verdict", "share kept", "order"} <= {*words}


def test_the_glossary_is_found_from_the_pages_that_need_it() -> None:
    for page in ("docs/index.md", "docs/explanation/index.md", "docs/explanation/definitions.md"):
        assert "glossary.md)" in (ROOT / page).read_text(encoding="utf-8"), page
    assert "explanation/glossary.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
