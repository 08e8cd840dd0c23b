"""One job of random programs, judged: what the detector found and what the reference detector finds in the trace of the
same execution, per program. A site is (kernel, line); kernels are named l<place>_<program>_<launch>.
"""
import bisect
import collections
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile

BIN = os.environ.get("GSAN_BIN") or os.path.join(os.path.dirname(__file__), "..", "..", "build", "bin")
FOUND = 66
LIMIT = 300
BATCH = 16  # programs that are on the devices together,
AFRESH = 1  # and where a job must be had again in parts: such a part
JOBS = itertools.count()
# Which of two comes first is the scheduler's word against the clock of whoever looks: the same race has several names.
FAMILY = {"read-after-write": "read and write", "write-after-read": "read and write", "stale-nc-read": "read and write"}


BEHIND = ("-", 0)  # in place of a site, see tests/reference/reference.h


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

    def copies(self):
        return any(kernel.endswith(("_copy", "_set")) for kernel, _ in self.sites)

    def __str__(self):
        return f"{self.kind}: " + " / ".join(f"{kernel}:{line}" for kernel, line in self.sites)


class Verdict:
    """What the reference says of a trace: racy is a set of Race, dominated {Race: sets of pairs of sites}. One pair of each set,
    of a successor of a first access and the second access, stands for what is gone."""

    def __init__(self, lines):
        races = collections.defaultdict(list)
        for word in lines:
            first, second, *by = sites(word[2:])
            sides = first[0][1], second[0][1]
            races[Race.make(word[1], *sides)].append([{tuple(sorted((site, sides[which]))) for which, site in one_of} for one_of in by])
        self.racy = set(races)
        self.dominated = {race: sum(by, []) for race, by in races.items() if all(by)}  # in either order of its sites

    def unnamed(self, missed, found):
        """Of missed races those for which no later access stands that was found to race: of that a user is told instead. What is
        replaced by an access that is ordered before the second is gone without a word."""
        named, rest = {race.sites for race in found}, missed & self.racy
        while True:  # what stands for a race may itself be replaced
            gone = {race for race in rest if race in self.dominated and
                    all(pairs & named or goes_unsaid(pairs) for pairs in self.dominated[race])}
            if not gone:
                return rest
            named |= {race.sites for race in gone}
            rest -= gone

    def behind(self, race):
        return any(goes_unsaid(pairs) for pairs in self.dominated[race])


def sites(words):
    """[[(which, (kernel, line))]] of KERNEL LINE..., each by itself but for those that `or` joins to the one before. Which side of the
    pair they race with: 1, the second, or 0 where `second` says that they stand for that."""
    out, words = [], iter(words)
    for word in words:
        if word == "or":
            word = next(words)
        else:
            out.append([])
        which = word != "second"
        out[-1].append((int(which), (kernel_name(word if which else next(words)), int(next(words)))))
    return out


def goes_unsaid(pairs):
    return any(pair[0] == BEHIND for pair in pairs)


class Run:
    """What one job showed: found is a set of Race, broken those of it that break a rule whatever the reference says, exact the
    reference's Verdict, over that with REF_OVER, late that with REF_LATE, edges {program: {name: count}}, executions {program: what the devices
    did in each of its runs}."""

    def __init__(self, found, broken, exact, over, late, edges, counters, executions):
        self.found, self.broken, self.exact, self.over, self.late, self.edges = found, broken, exact, over, late, edges
        self.counters, self.executions = counters, executions

    def false_positives(self):
        return self.found - self.broken - self.exact.racy

    def missed(self):
        return self.exact.racy - self.found

    def unseen(self, missed):
        """Those of a copy or a set of which a detector that looks at these late need not know."""
        return {race for race in missed if race.copies() and race not in self.late.racy}


def environment(schedule, sample_seed, trace, afresh, settings):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_", "GSAN_", "EMU_", "LD_"))}
    kept.update(EMU_SCHEDULE=schedule, EMU_TRACE=trace, EMU_GRACE_MS="2", GSAN_SAMPLE_SEED=str(sample_seed),
                MASTER_PORT=f"{os.getpid()}-{next(JOBS)}") # a name where ranks meet, of this job alone
    if afresh:
        kept["EMU_AFRESH"] = "1"
    return kept | settings


def run(files, ranks=2, schedule="program", seed=1, sample_seed=1, repeat=1, keep=None, afresh=False, settings=None):
    """Executes the programs in one job and returns its Run. `keep`: a folder that gets trace and reports. afresh: AFRESH
    programs at a time, each such part as in every other job of the same seed. settings: more of its environment."""
    files = [os.path.abspath(path) for path in files]  # the job runs elsewhere
    scratch = tempfile.mkdtemp(prefix="gsan-random-")
    try:
        return run_in(scratch, files, ranks, schedule, seed, sample_seed, repeat, afresh, settings or {})
    finally:
        if keep:
            shutil.copytree(scratch, keep, dirs_exist_ok=True)
        shutil.rmtree(scratch, ignore_errors=True)


def run_in(scratch, files, ranks, schedule, seed, sample_seed, repeat, afresh, settings):
    trace, report = os.path.join(scratch, "trace.txt"), os.path.join(scratch, "report")
    copies = any(map(has_copies, files))
    command = [os.path.join(BIN, "gsan-launch"), "-n", str(ranks), "--device", "emu", "--seed", str(seed),
               "--report", report, os.path.join(BIN, "litmus-run"), *(["--places", "1"] if copies else []), "--repeat", str(repeat),
               "--batch", str(AFRESH if afresh else BATCH), *files]
    try:
        job = subprocess.run(command, env=environment(schedule, sample_seed, trace, afresh, settings), cwd=scratch, capture_output=True, text=True,
                             timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Broken(f"no end within {LIMIT} s: {' '.join(command)}")
    if job.returncode not in (0, FOUND):
        raise Broken(f"status {job.returncode}: {' '.join(command)}\n{beside_findings(job.stderr)}")
    with open(os.path.join(report, "summary.json")) as file:
        summary = json.load(file)
    if summary["coverage"]["launches_unchecked"]:
        raise Broken(f"kernels ran unchecked: {summary['coverage']['kernels_unchecked'][:3]}")
    names = name_ranges(trace, job.stdout) if copies else {}
    exact, over, late, edges = reference(trace, copies)
    found, broken = findings(summary, names)
    if found - broken - exact.racy:
        broken |= between_threads(trace)
    coverage = summary["coverage"]
    counters = {**coverage["counters"], "withheld": coverage["withheld"], "ordered_late": coverage["ordered_late"]}
    return Run(found, broken, exact, over, late, edges, counters, executions(trace) if afresh else {})


def has_copies(path):
    with open(path) as file:
        return any(line.startswith(("copy ", "set ")) for line in file)


def beside_findings(text):
    """What a job said on stderr, without the findings, which are paragraphs."""
    return "\n\n".join(part for part in text.split("\n\n") if not part.startswith("gsan: finding "))[-3000:]


def executions(trace):
    """{program: digests of what the devices did for it, one of each of its runs}, without its place in the job: numbers of
    launches and memories, and where in these its part lies."""
    kernel, runs, lines, digests = {}, collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
    with open(trace) as file:
        for line in file:
            word = line.split()
            if word[0] == "launch":
                name = kernel_name(word[9])
                kernel[word[1]] = name, (name.rsplit("_", 1)[0], runs[name])
                runs[name] += 1
            elif word[0] in ("mem", "fence", "phase", "exit"):
                word[1], run = kernel[word[1]]
                lines[run].append(word)
    for (program, _), words in lines.items():
        digests[program].append(digest(words))
    return digests


def digest(lines):
    """`mem L CTA THREAD LINE OP SEM SCOPE MEM OFFSET ...`: docs/emulated-device.md."""
    low = {}
    for word in lines:
        if word[0] == "mem":
            low[word[8]] = min(low.get(word[8], 1 << 62), int(word[9]))
    number = {memory: str(n) for n, memory in enumerate(sorted(low, key=int))}
    for word in lines:
        if word[0] == "mem":
            word[9], word[8] = str(int(word[9]) - low[word[8]]), number[word[8]]
    return hashlib.sha256("\n".join(map(" ".join, lines)).encode()).hexdigest()


def name_ranges(trace, said):
    """Says in the trace whose each copy and each set is, by what it touches: of each rank the first memory that the job sets is what
    programs use, each a part of it (`place` lines of litmus-run). Returns the programs' names."""
    names, begin, whose, size, memory = {}, collections.defaultdict(list), collections.defaultdict(list), {}, {}
    for number, name, _, rank, _, at, _, total in (line.split()[1:] for line in said.splitlines() if line.startswith("place ")):
        names[int(number)], size[rank] = name, int(total)
        begin[rank].append(int(at))
        whose[rank].append(name)
    with open(trace) as file:
        lines = file.readlines()
    with open(trace, "w") as file:
        for line in lines:
            file.write(line)
            if line.startswith("range "):
                word = line.split()
                sides = [(word[at + 1], int(word[at + 2])) for at in range(8, len(word), 4)]
                if word[8:9] != ["st"]:
                    continue
                memory.setdefault(word[3], word[9])
                rank = {memory: rank for rank, memory in memory.items()}
                for at, offset in sides:
                    if size.get(rank.get(at)):
                        part = bisect.bisect_right(begin[rank[at]], offset % size[rank[at]]) - 1
                        file.write(f"name {word[1]} {whose[rank[at]][part]}_{'copy' if len(sides) > 1 else 'set'}\n")
                        break
    return names


def findings(summary, names):
    """All, and those that no order mends: what a kernel reads with ld.global.nc it may not write at all (PTX ISA, ld). The
    reference, for which a CTA is one thread, has those of one CTA only if the write came first."""
    def site(side):
        program = re.fullmatch(r"range_(\d+)", side["function"] or "")
        if program:  # tests/litmus/ranges.h
            return f"{names[int(program[1])]}_{'set' if side['op'] == 'memset' else 'copy'}", 0
        return kernel_name(side["kernel"]), side["line"]
    found = [(Race.make(kind, site(f["first"]), site(f["second"])), f) for finding in summary["findings"] for f in finding.get("pairs", [finding])
             for kind in (f["kind"], *f.get("also", ()))]
    broken = {race for race, f in found if f["kind"] == "stale-nc-read" and
              [f["first"][name] for name in ("rank", "launch")] == [f["second"][name] for name in ("rank", "launch")]}
    return {race for race, _ in found}, broken


def between_threads(trace):
    """Races if each thread counts for itself, as it does in PTX, not its CTA. An access is checked where its run ends: another
    warp of its CTA may have released meanwhile, and whoever acquired that seems not to be behind it. Where warps are switched
    inside the detector's calls, one may be checked before its CTA has learnt what another warp's operation, which is done,
    observed. The two race all the same."""
    job = subprocess.run([os.path.join(BIN, "gsan-reference"), "--threads", trace], capture_output=True, text=True)
    if job.returncode > 1:
        raise Broken(f"the reference detector: {job.stderr.strip()}")
    words = [line.split() for line in job.stdout.splitlines()]
    return {Race.make(w[1], (kernel_name(w[2]), int(w[3])), (kernel_name(w[5]), int(w[6]))) for w in words if w[0] == "race"}


def reference(trace, copies):
    job = subprocess.run([os.path.join(BIN, "random-programs"), "judge", *(["copies"] if copies else []), trace], capture_output=True, text=True)
    if job.returncode:
        raise Broken(f"the reference detector: {job.stderr.strip()}")
    races, edges = {"race": [], "over": [], "late": []}, collections.defaultdict(collections.Counter)
    for line in job.stdout.splitlines():
        if line.startswith("edge"):
            _, count, kernel, name = line.split(" ", 3)
            edges[kernel_name(kernel).rsplit("_", 1)[0]][name] += int(count)
        else:
            races[line.split()[0]].append(line.split())
    return *(Verdict(races[name]) for name in ("race", "over", "late")), edges
