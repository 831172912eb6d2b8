"""How far each judge can be trusted, by language and criterion."""

from metal.runs.kinds import Kind

KIND = Kind(
    command="audit",
    summary="Compare judges with people, per language.",
    group="Start",
    position=2,
    function="metal.questions.audit.verb:audit",
    run="metal.questions.audit.result:Audit",
    page="metal.questions.audit.page:PAGE",
    verb="metal.cli.audit:audit",
    ending="",
    doing="auditing",
    more="""
        Everything is also written to the run folder: report.html, a page to read and to share; tables/ as CSV,
        JSON and Parquet (people, judges, verdicts, differences, class_distribution by language and overall, and METAL's
        table_3 and table_6); disagreements.parquet, every output on which judges and people differ, with the texts
        and comments; run.toml, with all settings needed to repeat the audit.

        With --require the exit code is 1 if a verdict is worse than required: like a person is
        better than informative, and informative better than undecided or people disagree. It is 2
        if no verdict fits. The run is written in either case.
    """,  # noqa: E501
    examples="""
        metal audit datasets/pariksha
        metal audit datasets/pariksha -c task_quality -l hi,ta --json | jq .verdicts
        metal audit datasets/demo runs/baselines --out runs/demo
        metal audit datasets/demo --require 'gpt-4o*:hi:*>=informative'
    """,
    files="report.html, tables/ (CSV, JSON, Parquet), disagreements.parquet, run.toml",
)
