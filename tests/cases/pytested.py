"""exchange.py by processes that tests spawn, one test after the other in one process of pytest, as suites of distributed programs do it.

    gsan-launch python pytested.py PROCESSES fork|forkserver|spawn|exec [exchange.py's arguments]     (PYTHONPATH: the examples folder)
"""
import os
import shlex
import sys

import pytest
import spawned

ASKED = "PYTESTED"  # names the environment variable with the arguments


@pytest.mark.parametrize("turn", range(3))
def test_exchange(turn):
    assert spawned.main(*shlex.split(os.environ[ASKED])) == 0


if __name__ == "__main__":
    os.environ[ASKED] = shlex.join(sys.argv[1:])
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", os.path.abspath(__file__)]))
