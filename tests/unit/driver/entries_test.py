"""A job on the emulated device that stores strongly to more locations than GSan has entries for, and bytes to more lines than it has
blocks of detail for (entries.c). What the host has seen complete makes room: nothing is missed, and nothing is false. Where another process
may have the memory there is more detail, but the entries do not suffice. Arguments: gsan-launch, the program, a form."""
import sys

from job import run


def main():
    launch, program, form = sys.argv[1:]
    job, summary, said = run(launch, program, form)
    racy = form in ("relaxed", "stale", "uncounted")
    assert job.returncode == (66 if racy else 0) and len(summary["findings"]) == racy, said
    counters = summary["coverage"]["counters"]
    assert (counters["sync_table_full"] > 0) == (form == "exported") and not counters["unrecorded"], said
    assert (summary["coverage"]["tables_bytes"] > 400 << 20) == (form == "exported"), said  # it grew only there
    assert not counters["ambiguous_versions"], said


main()
