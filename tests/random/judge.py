"""One job of random programs, judged: what the detector found and what the reference detector finds in the trace of the
same execution, per program. A site is (kernel, line); kernels are named l<place>_<program>_<launch>.
"""
import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile

BIN = os.environ.get("GSAN_BIN") or os.path.join(os.path.dirname(__file__), "..", "..", "build", "bin")
FOUND = 66
LIMIT = 300
BATCH = 16  # programs that are on the devices together
# Which of two comes first is the scheduler's word against the clock of whoever looks: the same race has several names.
FAMILY = {"read-after-write": "read and write", "write-after-read": "read and write", "stale-nc-read": "read and write"}


class Broken(Exception):
    """A job that did not run as it should: neither agreement nor disagreement."""


def kernel_name(name):
    """Without the program's place in the job."""
    return re.sub(r"^l\d+_", "", name)


class Race(collections.namedtuple("Race", "kind sites")):
    """sites: two (kernel, line), sorted."""
    __slots__ = ()

    @classmethod
    def make(cls, kind, one, other):
        return cls(FAMILY.get(kind, kind), tuple(sorted((one, other))))

    def program(self):
        return self.sites[0][0].rsplit("_", 1)[0]

    def __str__(self):
        return f"{self.kind}: " + " / ".join(f"{kernel}:{line}" for kernel, line in self.sites)


class Run:
    """What one job showed: found and racy are sets of Race, dominated {Race: pairs of sites}, one of each first access's
    last successor and the second access, edges {program: {name: count}}."""

    def __init__(self, found, racy, dominated, edges, counters, trace_hash):
        self.found, self.racy, self.dominated, self.edges = found, racy, dominated, edges
        self.counters, self.trace_hash = counters, trace_hash

    def false_positives(self):
        return self.found - self.racy

    def missed(self):
        return self.racy - self.found


def unnamed(run, missed, found):
    """Of missed races those for which no later access stands that was found to race: of that a user is told instead."""
    sites = {race.sites for race in found}
    return {race for race in missed if race not in run.dominated or not run.dominated[race] <= sites}


def environment(schedule, sample_seed, trace):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_", "GSAN_", "EMU_", "LD_"))}
    kept.update(EMU_SCHEDULE=schedule, EMU_TRACE=trace, EMU_GRACE_MS="2", GSAN_SAMPLE_SEED=str(sample_seed))
    return kept


def run(files, ranks=2, schedule="program", seed=1, sample_seed=1, repeat=1, keep=None):
    """Executes the programs in one job and returns its Run. `keep`: a folder that gets trace and reports."""
    files = [os.path.abspath(path) for path in files]  # the job runs elsewhere
    scratch = tempfile.mkdtemp(prefix="gsan-random-")
    try:
        return run_in(scratch, files, ranks, schedule, seed, sample_seed, repeat)
    finally:
        if keep:
            shutil.copytree(scratch, keep, dirs_exist_ok=True)
        shutil.rmtree(scratch, ignore_errors=True)


def run_in(scratch, files, ranks, schedule, seed, sample_seed, repeat):
    trace, report = os.path.join(scratch, "trace.txt"), os.path.join(scratch, "report")
    command = [os.path.join(BIN, "gsan-launch"), "-n", str(ranks), "--device", "emu", "--seed", str(seed), "--report", report,
               os.path.join(BIN, "litmus-run"), "--repeat", str(repeat), "--batch", str(BATCH), *files]
    try:
        job = subprocess.run(command, env=environment(schedule, sample_seed, trace), cwd=scratch, capture_output=True, text=True,
                             timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Broken(f"no end within {LIMIT} s: {' '.join(command)}")
    if job.returncode not in (0, FOUND):
        raise Broken(f"status {job.returncode}: {' '.join(command)}\n{job.stderr[-3000:]}")
    with open(os.path.join(report, "summary.json")) as file:
        summary = json.load(file)
    if summary["coverage"]["launches_unchecked"]:
        raise Broken(f"kernels ran unchecked: {summary['coverage']['kernels_unchecked'][:3]}")
    racy, dominated, edges = reference(trace)
    with open(trace, "rb") as file: # what the device did; hosts may number their copies in another order
        device = b"".join(line for line in file if line.startswith((b"mem ", b"fence ", b"bar ", b"exit ")))
    coverage = summary["coverage"]
    counters = {**coverage["counters"], "withheld": coverage["withheld"], "ordered_late": coverage["ordered_late"]}
    return Run(findings(summary), racy, dominated, edges, counters, hashlib.sha256(device).hexdigest())


def findings(summary):
    def site(side):
        return kernel_name(side["kernel"]), side["line"]
    return {Race.make(f["kind"], site(f["first"]), site(f["second"])) for f in summary["findings"]}


def reference(trace):
    job = subprocess.run([os.path.join(BIN, "random-programs"), "judge", trace], capture_output=True, text=True)
    if job.returncode:
        raise Broken(f"the reference detector: {job.stderr.strip()}")
    races, edges = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for line in job.stdout.splitlines():
        word = line.split(" ", 3) if line.startswith("edge") else line.split()
        if word[0] == "race":
            first, second, *by = [(kernel_name(kernel), int(line)) for kernel, line in zip(word[2::2], word[3::2])]
            races[Race.make(word[1], first, second)].append({tuple(sorted((site, second))) for site in by})
        elif word[0] == "edge":
            edges[kernel_name(word[2]).rsplit("_", 1)[0]][word[3]] += int(word[1])
    dominated = {race: set().union(*by) for race, by in races.items() if all(by)}  # in either order of its sites
    return set(races), dominated, edges
