"""A job on the emulated device that stores strongly to more locations than GSan has entries for, and bytes to more lines than it has
blocks of detail for (entries.c). What the host has seen complete makes room: nothing is missed, and nothing is false; but not where
another process may have the memory. Arguments: gsan-launch, the program, a form."""
import sys

from job import run


def main():
    launch, program, form = sys.argv[1:]
    job, summary, said = run(launch, program, form)
    racy = form in ("relaxed", "stale", "uncounted")
    assert job.returncode == (66 if racy else 0) and len(summary["findings"]) == racy, said
    counters = summary["coverage"]["counters"]
    assert {counters[name] > 0 for name in ("sync_table_full", "unrecorded")} == {form == "exported"}, said
    assert not counters["ambiguous_versions"], said


main()
