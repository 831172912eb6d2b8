"""`metal init`: asks, shows the commands, and runs them."""

from __future__ import annotations

from tests import DEMO
from tests.cli.forks import Metal

TABLE = "output,language,criterion,rater,kind,score\n" + "".join(
    f"o{item},hi,quality,{rater},{'llm' if rater == 'J' else 'human'},{(item + (rater == 'A3')) % 3}\n"
    for item in range(12)
    for rater in ("A1", "A2", "A3", "J")
)


def test_ratings_are_imported_and_audited(metal: Metal) -> None:
    (metal.cwd / "mine.csv").write_text(TABLE)
    done = metal("init", "--yes", typed="ratings\nmine.csv\n" + "\n" * 8)
    assert "metal import mine.csv -i --out datasets/mine\nmetal audit datasets/mine\n" in done.out
    assert (metal.cwd / "runs" / "mine" / "report.html").is_file()


def test_a_judge_is_run_only_after_a_yes(metal: Metal) -> None:
    done = metal("init", typed=f"judge\n{DEMO}\nmajority\nn\n")
    assert f"metal audit {DEMO} runs/{DEMO.name}-judges" in done.out
    assert not (metal.cwd / "runs").exists()
    metal("init", typed=f"judge\n{DEMO}\nmajority\ny\n")
    assert (metal.cwd / "runs" / DEMO.name / "report.html").is_file()


def test_a_dataset_that_is_not_there_is_asked_for_again(metal: Metal) -> None:
    done = metal("init", typed=f"judge\nnowhere\n{DEMO}\nmajority\nn\n")
    assert "'nowhere' does not exist" in done.out + done.err
    assert f"metal audit {DEMO} runs/{DEMO.name}-judges" in done.out


def test_a_dataset_is_begun_with_sample_generate_and_annotate(metal: Metal) -> None:
    done = metal("init", typed="dataset\nxlsum\nsw\nopenai:gpt-4o\nnews\nn\n")
    assert "metal sample --source xlsum --languages sw --out datasets/news\n" in done.out
    assert "metal generate datasets/news --model openai:gpt-4o\nmetal annotate export datasets/news\n" in done.out


def test_a_pipe_without_answers_gets_the_commands(metal: Metal) -> None:
    done = metal("init", expect=2)
    assert done.err.count("\n") == 1
    for command in ("metal import PATH", "metal judge DATASET", "metal sample --source"):
        assert command in done.err
