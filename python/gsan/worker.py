"""gsan-worker: what torchrun starts in Python's place (gsan.torchrun): Python, with the same arguments, under gsan-launch."""
import os
import sys

from gsan import launcher

ENVIRONMENT = "GSAN_WORKER_PYTHON"  # the interpreter that torchrun would have started


def main():
    python = os.environ.pop(ENVIRONMENT, sys.executable)
    os.environ.pop("PYTHON_EXEC", None)
    command = launcher.find()
    os.execv(command[0], [*command, "--", python, *sys.argv[1:]])
