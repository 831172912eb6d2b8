"""Which answers a judge can give without people."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="select",
    summary="Find the outputs that a judge can rate alone.",
    group="Trust",
    position=4,
    function="metal.questions.select.verb:select",
    run="metal.questions.select.run:Selection",
    page="metal.questions.select.page:PAGE",
    ending="-select",
    doing="selecting",
    examples=r"""
        metal select datasets/news runs/news-judges --alpha 0.1
        metal select datasets/news runs/news-judges \
            --cascade openai:gpt-4o-mini/simple,openai:gpt-4o/simple
    """,
)
