"""Where gsan-launch is, and how it is called for programs that others start."""
import os
import shlex
import shutil
import sys

ENVIRONMENT = "GSAN_LAUNCH"  # the command with its options, if gsan-launch alone will not do


def find():
    """The command as a list: gsan-launch in PATH, or built in the checkout that this file is part of."""
    built = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "bin")
    command = os.environ.get(ENVIRONMENT, "")
    try:
        program, *options = shlex.split(command) or ["gsan-launch"]
    except ValueError as error:
        sys.exit(f"gsan: {ENVIRONMENT}={command}: {error}")
    found = shutil.which(program) or shutil.which(program, path=built)
    if not found:
        sys.exit(f"gsan: {program} is not in PATH: `make build` makes gsan-launch, in build/bin; or name it by {ENVIRONMENT}")
    return [found, *options]
