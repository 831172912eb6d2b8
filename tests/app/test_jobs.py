"""Commands that the app starts."""

from __future__ import annotations

import time
from pathlib import Path

from metal.app.jobs import DONE, FAILED, STOPPED, AppJob, Jobs


def ended(job: AppJob) -> AppJob:
    job.process.wait(120)
    return job


def test_a_command_runs_in_the_folder_and_shows_what_it_prints(shelf: Path) -> None:
    jobs = Jobs(shelf)
    done = ended(jobs.start(["ls", "--", "runs"]))
    assert done.state == DONE
    assert done.command == "metal ls -- runs"
    assert "audit" in done.says
    failed = ended(jobs.start(["audit", "--", "nothing.csv"]))
    assert failed.state == FAILED
    assert "nothing.csv" in failed.says
    assert jobs.all() == [failed, done]
    jobs.close()
    assert not jobs.folder.exists()


def test_a_command_is_interrupted_as_by_ctrl_c(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    job = jobs.start(["view", "--no-open", "--port=9377"])
    while "Ctrl-C" not in job.says:  # it is at work
        assert job.process.poll() is None
        time.sleep(0.05)
    job.stop()
    assert ended(job).state in (DONE, STOPPED)
    jobs.close()
