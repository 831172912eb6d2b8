"""Which raters can be relied on."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="monitor",
    summary="Find raters who stand out from the others.",
    group="People",
    function="metal.questions.people.verb:monitor",
    run="metal.questions.people.run:Monitor",
    page="metal.questions.people.page:PAGE",
    verb="metal.cli.analyses:monitor",
    ending="-people",
    doing="comparing people",
    examples="""
        metal monitor datasets/mine
        metal monitor datasets/mine runs/mine-judges --model class-learned-2
        metal monitor datasets/cnndm --reference group=crowd --json | jq .behaviour
        metal monitor --simulate
    """,
    unit="%",
)
