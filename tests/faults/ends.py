"""How long the end of a job takes."""
import time

import expect
import jobs


def no_wait_at_the_end(scratch):
    """A job of a program that does nothing is over at once: of many, the quickest one shows what it has to wait for."""
    def seconds():
        begun = time.monotonic()
        jobs.launched(scratch, ["true"], ranks=1, options=["--allow-unchecked"]).ends(0)
        return time.monotonic() - begun
    quickest = min(seconds() for _ in range(20))
    expect.need(quickest < 0.09, f"{quickest:.3f} s")


def long_wait(scratch):
    """--wait of more milliseconds than an int holds: 2,147,484 s are not 0.353 s."""
    program = ["sh", "-c", '[ "$RANK" = 0 ] || sleep 2']
    for wait, early in (("2147484", False), ("8640000", False), ("1", True)):
        job = jobs.launched(scratch, program, options=["--allow-unchecked", "--wait", wait]).ends(0)
        expect.need(("was still running" in job.err) == early, str(job))
    jobs.launched(scratch, program, options=["--wait", "8640001"]).ends(2).says("not a number from 1 to 8640000")


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (no_wait_at_the_end, long_wait)})
