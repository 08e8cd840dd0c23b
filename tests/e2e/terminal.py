"""A job of some seconds on a terminal: the line that says how far it is follows the counters."""
import re
import sys

import expect
import jobs

SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
LINE = re.compile(r"\n\033\[Kgsan: (?:up to )?(\d+) findings? so far, checked (\d+) launch(?:es)?, (\d+) access(?:es)? ")  # \n: of \r


def progress(scratch):
    command = [jobs.LAUNCH, "-n", "2", "--device", "emu", "--report", f"{scratch}/report", *jobs.c_form("message_passing", "--order", "relaxed", "--iterations", "6")]
    environment = {**jobs.Job.environment(scratch), "TERM": "xterm"}
    job = jobs.Job([sys.executable, "-c", SPAWN, *command], scratch, environment).ends(jobs.FOUND)
    said = [tuple(map(int, found)) for found in LINE.findall(job.out)]
    expect.need(len(said) >= 2 and said == sorted(set(said)) and said[-1][0] >= 1, f"{said}\n{job}")
    coverage = job.summary(ranks=2)["coverage"]
    expect.need(said[-1][1] <= coverage["launches_checked"] and said[-1][2] <= coverage["counters"]["checked"], f"{said}: {coverage}")
    expect.need(job.out.count("so far") == len(said), f"another form\n{job}")


if __name__ == "__main__":
    jobs.main({"progress": progress})
