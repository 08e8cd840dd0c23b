"""How the end-to-end tests start jobs: under mpirun or by gsan-launch -n, C and Python forms of the examples, always on
the emulated device, each in a scratch directory of its own and with a time limit. A test module calls `main()` with its
cases; CTest runs one case per test: `python3 MODULE CASE`.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import expect

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.environ["GSAN_BIN"]
LAUNCH, REPORT = os.path.join(BIN, "gsan-launch"), os.path.join(BIN, "gsan-report")
EXAMPLES = os.path.join(SOURCE, "examples")
FOUND = 66
LIMIT = 240


def python(version="3.6"):
    return os.path.join(SOURCE, ".venv", f"triton-{version}", "bin", "python")


def c_form(name, *args):
    return [os.path.join(BIN, "examples", name), *args]


def python_form(name, *args, version="3.6"):
    return [python(version), os.path.join(EXAMPLES, name + ".py"), *args]


class Job:
    """One finished command: status, out, err, and where its report lies."""

    def __init__(self, command, scratch, environment=None, limit=LIMIT):
        self.command, self.report = command, os.path.join(scratch, "report")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=scratch,
                                   env=environment or self.environment(scratch), start_new_session=True)
        try:
            self.out, self.err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            self.out, self.err = process.communicate()
            raise expect.Unexpected(f"no end within {limit} s: {self}")
        self.status = process.returncode

    @staticmethod
    def environment(scratch):
        """The caller's, without what a surrounding job may have left, and with caches that are the test's own."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("OMPI_", "PMIX_", "PMI_", "PALS_", "SLURM_", "TORCHELASTIC_", "GSAN_", "TRITON_", "LD_", "COLUMNS"))}
        kept.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PYTHONDONTWRITEBYTECODE="1",
                    XDG_CACHE_HOME=os.path.join(scratch, "cache"), TRITON_DEFAULT_FP_FUSION="1", EMU_STRICT="1")
        return kept

    def __str__(self):
        return f"$ {' '.join(self.command)}\n{self.out}{self.err}"

    def ends(self, status):
        expect.need(self.status == status, f"status {self.status}, not {status}\n{self}")
        return self

    def says(self, *texts):
        said = " ".join(self.err.split())  # however its lines are wrapped
        for text in texts:
            expect.need(" ".join(text.split()) in said, f"stderr lacks {text!r}\n{self}")
        return self

    def summary(self, ranks=None):
        return expect.read(self.report, ranks)


def launched(scratch, program, ranks=2, options=(), **more):
    """gsan-launch -n RANKS PROGRAM"""
    return Job([LAUNCH, "-n", str(ranks), "--device", "emu", "--report", os.path.join(scratch, "report"), *options,
                *program], scratch, **more)


def mpirun(scratch, program, ranks=2, options=(), **more):
    """mpirun -np RANKS gsan-launch PROGRAM"""
    return Job(["mpirun", "--oversubscribe", "-np", str(ranks), LAUNCH, "--device", "emu", "--report",
                os.path.join(scratch, "report"), *options, *program], scratch, **more)


def plain(scratch, program, environment=None):
    """The program alone on the emulated device: what gsan-launch gives it, without checks."""
    given = Job.environment(scratch)
    driver = os.path.join(os.path.dirname(os.path.realpath(BIN)), "lib", "emu")
    given.update(LD_LIBRARY_PATH=driver, TRITON_LIBCUDA_PATH=driver, **(environment or {}))
    return Job(program, scratch, environment=given)


def main(cases):
    """cases: {name: function(scratch directory)}"""
    name = sys.argv[1]
    scratch = tempfile.mkdtemp(prefix="e2e-")
    try:
        cases[name](scratch)
    except (expect.Unexpected, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
        sys.exit(f"{name}: {type(error).__name__}: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{name}: as expected")
