"""torchrun --logs-specs gsan PROGRAM: the workers run under GSan. They log where torchrun has them log; the report of a job is printed
by the worker of one rank, and each start of the workers has its own. gsan-launch gets options by GSAN_LAUNCH="gsan-launch --seed 3".

torchrun makes its LogsSpecs before it asks PYTHON_EXEC for the interpreter of the workers, which is then gsan-worker.
"""
import contextlib
import io
import os
import shutil
import sys

from torch.distributed.elastic.multiprocessing.api import DefaultLogsSpecs
from torch.distributed.run import get_args_parser

from gsan import launcher, worker


def given(arguments):
    """torchrun's options, or none: this is another program, which calls torchrun's functions."""
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        return get_args_parser().parse_args(arguments)


def refuse(options):
    """What torchrun does not start by an interpreter."""
    for option in ("no_python", "run_path"):
        if getattr(options, option, False):
            sys.exit(f"gsan: --logs-specs gsan has torchrun start Python under gsan-launch, and --{option.replace('_', '-')} has it start none: "
                     "leave out one of them, or the plug-in and write gsan-launch before the program")


class LogsSpecs(DefaultLogsSpecs):
    """torchrun's own, by whose being made the workers come to run under gsan-launch."""

    def __init__(self, *arguments, **more):
        refuse(given(sys.argv[1:]))
        launcher.find()
        beside = os.path.dirname(sys.executable)
        program = shutil.which("gsan-worker", path=beside) or shutil.which("gsan-worker")
        if not program:
            sys.exit(f"gsan: gsan-worker is neither in {beside} nor in PATH, where `pip install` of the package puts it")
        os.environ[worker.ENVIRONMENT] = os.environ.get("PYTHON_EXEC", sys.executable)
        os.environ["PYTHON_EXEC"] = program
        super().__init__(*arguments, **more)
