"""Random programs on real GPUs, for tests/gpu/run random; as a program, the same on the emulated device or of single seeds:

    random_programs.py --build DIR --device emu|cuda [--programs N] [--broken N] [--ranks N] [--out DIR]
    random_programs.py --build DIR --device emu|cuda [--ranks N] [--small 1] [--kind free|broken] --seed N…

A program is data for three kernels that hold every instruction form (tests/gpu/random): a seed gives one that is race-free by
construction and leaves the same memory behind whatever the schedule, or, of kind `broken`, one that has lost one edge and races
in every schedule. Jobs of many programs run side by side, one per core: each program 20 times on fresh memory, checked, and
plain. Of a race-free program: no error, no end of a wait, no finding, the memory that the plain run left. A job that fails or
hangs is halved until the program is known, and the others go on. What failed is written to OUT/random/SEED.txt: the program,
and the finding or the error. `--small 1 --device emu` shows the same seed in a small shape on the emulated device."""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

KERNELS = ("play_weak", "play_reds", "play_sync")
SETTINGS = collections.namedtuple("Settings", "build device ranks small kind compiled crash drop emu_seed repeat image gpus "
                                  "place limit")
JOBS = itertools.count()
KINDS = ("free", "broken", "mixed")
PARTS = ("free", "compiled", "broken", "changed", "ranks")
FOUND = 66


# ---- one job ----------------------------------------------------------------------------------------------------------
class Outcome:
    """What a job said. results: {(seed, rank): (digest, differing repeats, waits without end)}; findings: {seed or None:
    [finding]}; why: None, or why it did not end well."""

    def __init__(self):
        self.results, self.findings, self.why, self.unchecked = {}, collections.defaultdict(list), None, 0


def tool(build, name, *arguments):
    command_line = [os.path.join(build, "bin", name), *map(str, arguments)]
    return subprocess.run(command_line, stdout=subprocess.PIPE, text=True, check=True).stdout


def image(build, device, place):
    """The kernels as the job loads them: cubins made by gsan-ptxas, all at once; on the emulated device PTX."""
    def one(name):
        text = tool(build, "gsan-random-text", "--emit", name).encode()
        path = os.path.join(place, name)
        with open(path + ".ptx", "wb") as file:
            file.write(text)
        ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
        if device == "emu":
            os.rename(path + ".ptx", path)
        else:
            subprocess.run([os.path.join(build, "bin", "gsan-ptxas"), "-arch=sm_90", path + ".ptx", "-o", path], check=True,
                           env={**os.environ, "GSAN_REAL_PTXAS": ptxas})
    with concurrent.futures.ThreadPoolExecutor(len(KERNELS)) as pool:
        list(pool.map(one, KERNELS))
    return place


def environment(s, number):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_"))}
    kept.update(MASTER_PORT=f"random-{os.getpid()}-{number}", EMU_GRACE_MS="2", EMU_DEVICES="4",
                CUDA_DEVICE_MAX_CONNECTIONS="32", EMU_SCHEDULE=kept.get("EMU_SCHEDULE", "program"))
    if s.device == "cuda" and s.ranks == 1 and s.gpus > 1:
        kept["CUDA_VISIBLE_DEVICES"] = str(number % s.gpus)
    if s.emu_seed:
        kept["EMU_SEED"] = kept["GSAN_SEED"] = str(s.emu_seed)
    if s.device == "emu":
        kept["LD_LIBRARY_PATH"] = os.path.join(s.build, "lib", "emu")
    return kept


def command(s, seeds, checked, repeat):
    program = [os.path.join(s.build, "bin", "gsan-random"), "--image", s.image, "--repeat", str(repeat), "--ranks", str(s.ranks),
               "--small", str(s.small), "--broken", str(KINDS.index(s.kind)), "--compiled", str(s.compiled if checked else 0),
               "--crash", str(s.crash), "--drop", s.drop,
               *map(str, seeds)]
    if not checked:
        return program
    launch = [os.path.join(s.build, "bin", "gsan-launch"), "-n", str(s.ranks), "--device", s.device, "--report", checked,
              "--formal", "report" if s.kind == "broken" else "ignore"]  # others may lean on barriers as the letter of PTX does not allow
    return [*launch, *(["--seed", str(s.emu_seed)] if s.emu_seed else []), *program]


def end(processes):
    """Those that this job started, and what they started."""
    for process in processes:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass
            time.sleep(0.5 if number == signal.SIGTERM else 0)


RUNNING = set()  # what whoever ends this program, or a section, has to end: jobs left on a GPU would be in the next measurements


def stop(signum, frame):
    for process in list(RUNNING):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(128 + signum)


def execute(s, seeds, report, repeat, limit, more_environment=None):
    """Status (None: it did not end), output and errors of a job; plain without a report, and then all ranks started here."""
    env, words, out = environment(s, next(JOBS)), command(s, seeds, report, repeat), tempfile.TemporaryFile("w+")
    err = tempfile.TemporaryFile("w+")
    names = ("RANK", "LOCAL_RANK", "GSAN_RANK")
    ranks = [{}] if report else [{"WORLD_SIZE": str(s.ranks), **dict.fromkeys(names, str(rank))} for rank in range(s.ranks)]
    env.update(more_environment or {})
    processes = [subprocess.Popen(words, stdout=out, stderr=err, env={**env, **more}, start_new_session=True) for more in ranks]
    RUNNING.update(processes)
    deadline, status = time.monotonic() + limit, 0
    try:
        for process in processes:
            status = process.wait(max(0.1, deadline - time.monotonic())) or status
    except subprocess.TimeoutExpired:
        status = None
        end(processes)
        for process in processes:
            process.wait()
    RUNNING.difference_update(processes)
    texts = []
    for file in (out, err):
        file.seek(0)
        texts.append(file.read())
        file.close()
    return status, *texts


def parse(text, outcome):
    places = []
    for line in text.splitlines():
        word = line.split()
        if line.startswith("place ") and len(word) == 5:
            places.append(tuple(map(int, word[1:])))
        elif line.startswith("result ") and len(word) == 8:
            outcome.results[int(word[1]), int(word[2])] = word[3], int(word[5]), int(word[7])
    return places


def owner(finding, places):
    """The seed in whose memory it is; None: in none."""
    where = finding["allocation"] or {"rank": -1, "offset": 0}
    for seed, rank, at, size in places:
        if rank == where["rank"] and at <= where["offset"] < at + size:
            return seed
    return None


def job(s, seeds, checked=True, repeat=None):
    outcome = Outcome()
    report = tempfile.mkdtemp(prefix="report-", dir=s.place) if checked else None
    status, out, err = execute(s, seeds, report, repeat or s.repeat, s.limit)
    places = parse(out, outcome)
    if status is None:
        outcome.why = f"no end within {s.limit} s"
    elif status not in (0, FOUND if checked else 0):
        outcome.why = f"status {status}: {err[-2000:]}"
    elif {seed for seed, _ in outcome.results} != set(seeds):
        outcome.why = f"results of {len(outcome.results)} programs, not {len(seeds)}: {err[-2000:]}"
    if checked and not outcome.why:
        with open(os.path.join(report, "summary.json")) as file:
            summary = json.load(file)
        for finding in (pair for each in summary["findings"] for pair in each.get("pairs", [each])):
            outcome.findings[owner(finding, places)].append(finding)
        outcome.unchecked = summary["coverage"]["launches_unchecked"] + (summary["coverage"]["counters"]["checked"] == 0)
    if report:
        shutil.rmtree(report, ignore_errors=True)
    return outcome


# ---- many -------------------------------------------------------------------------------------------------------------
class Tally:
    """Of race-free programs."""

    def __init__(self, out):
        self.lock, self.out = threading.Lock(), out
        self.ran, self.unchecked = 0, 0
        self.failed, self.false, self.other = {}, {}, {}  # {seed: why}

    def note(self, kind, s, seed, why):
        with self.lock:
            kind[seed] = why
            if self.out and len(kind) <= 20:
                os.makedirs(self.out, exist_ok=True)
                with open(os.path.join(self.out, f"{seed}.txt"), "a") as file:
                    file.write(f"seed {seed}, {s}\n{why}\n{program_text(s, seed) if isinstance(seed, int) else ''}")


def first_failure(s, seeds, deadline, checked):
    """The shortest row of programs that a halving finds to fail, and why."""
    outcome, s, deadline = None, s._replace(limit=min(s.limit, 40)), deadline + 60
    while len(seeds) > 1 and time.monotonic() < deadline:
        half = seeds[:len(seeds) // 2]
        first = job(s, half, checked)
        if first.why:
            seeds, outcome = half, first
            continue
        second = job(s, seeds[len(half):], checked)
        if not second.why:
            return seeds, "only together"
        seeds, outcome = seeds[len(half):], second
    return seeds, outcome.why if outcome else "so does one alone" if len(seeds) == 1 else "the time was up"


def judge_free(s, seeds, tally, deadline):
    """Programs that must be clean: those that are not are named and left out, and the others run again, since equal findings
    count as one."""
    for _ in range(6):
        if not seeds or time.monotonic() > deadline:
            return
        outcome = job(s, seeds)
        if outcome.why:
            bad, why = first_failure(s, seeds, deadline, True)
            tally.note(tally.failed, s, bad[0] if len(bad) == 1 else f"{bad[0]}-{bad[-1]}", f"{outcome.why}\n{why}")
        else:
            bad = set(outcome.findings)
            for seed, findings in outcome.findings.items():
                tally.note(tally.false, s, seed if seed is not None else "memory of no program", json.dumps(findings, indent=1))
        rest = [seed for seed in seeds if seed not in bad]
        with tally.lock:
            tally.ran += len(seeds) - len(rest)
        if len(rest) == len(seeds):
            compare(s, seeds, outcome, tally)
            with tally.lock:
                tally.ran += len(seeds)
                print(f"random programs: {tally.ran} ran, {len(tally.failed)} failed, {len(tally.false)} with findings", file=sys.stderr, flush=True)
                tally.unchecked += outcome.unchecked
            return
        seeds = rest


def compare(s, seeds, outcome, tally):
    """Notes programs whose memory differs from a plain run's, or between repeats. Others may leave what they like."""
    if s.kind != "free":
        return
    plain = job(s, seeds, False, min(s.repeat, 3))
    if plain.why:
        tally.note(tally.failed, s, f"plain {seeds[0]}-{seeds[-1]}", plain.why)
        return
    for key, (digest, differ, failed) in outcome.results.items():
        was = plain.results.get(key, ("none", 0, 0))
        if differ or failed or was != (digest, 0, 0):
            tally.note(tally.other, s, key[0], f"rank {key[1]}: digest {digest}, {differ} repeats differ, {failed} waits "
                       f"without end; plain {was}")


def parts(first, count, size):
    return [list(range(at, min(at + size, first + count))) for at in range(first, first + count, size)]


def short(found):
    words = [f"{seed}: {str(why).strip().splitlines()[-1][:80]}" for seed, why in found.items()]
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")


def free_rows(s, emulated, programs, first, size, workers, seconds, out):
    tally, deadline = Tally(out), time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda seeds: judge_free(s, seeds, tally, deadline), parts(first, programs, size)))
    shrunk(s, emulated, tally, min(deadline, time.monotonic() + 60))
    name = f"{s.ranks} rank{'s' * (s.ranks > 1)}: race-free programs{', compiled' * s.compiled}"
    yield f"{name}: ran", str(programs), str(tally.ran), s.repeat
    yield f"{name}: ended well", "ended", short(tally.failed) or "ended", s.repeat
    yield f"{name}: findings", "clean", short({k: json.loads(v)[0]["kind"] for k, v in tally.false.items()}) or "clean", s.repeat
    yield f"{name}: memory", "equal", short(tally.other) or "equal", s.repeat
    yield f"{name}: unchecked launches", "0", str(tally.unchecked), s.repeat


def broken_rows(s, programs, first, workers, share):
    """Several in a job, and those of which nothing was found once more, each in its own: equal findings count as one."""
    s, rest, failed = s._replace(kind="broken"), list(range(first, first + programs)), {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for size in (8, 1):
            jobs = [rest[at:at + size] for at in range(0, len(rest), size)]
            outcomes = list(pool.map(lambda seeds: job(s, seeds), jobs))
            failed = {seeds[0]: outcome.why for seeds, outcome in zip(jobs, outcomes) if outcome.why}
            rest = [seed for seeds, outcome in zip(jobs, outcomes) for seed in seeds if outcome.why or not outcome.findings.get(seed)]
    missed = [seed for seed in rest if seed not in failed]
    name, found = f"{s.ranks} rank{'s' * (s.ranks > 1)}: broken programs", programs - len(failed) - len(missed)
    print(f"{name}: missed {missed}")
    yield f"{name}: ended well", "ended", short(failed) or "ended", s.repeat
    yield f"{name}: {found} of {programs} found", "found", "found" if found >= share * programs else f"missed {missed}", s.repeat


# ---- is what is called race-free free of races? -----------------------------------------------------------------------
def races(s, seeds, schedule, number):
    """Seeds for which the reference detector finds a race in what the emulated device did under that schedule; of broken ones formal
    races, too."""
    with tempfile.TemporaryDirectory(dir=s.place) as folder:
        trace = os.path.join(folder, "trace")
        status, out, err = execute(s, seeds, os.path.join(folder, "report") if s.ranks > 1 else None, 1, s.limit,
                                   {"EMU_TRACE": trace, "EMU_SCHEDULE": schedule, "EMU_SEED": str(number)})
        if status not in (0, FOUND):
            raise RuntimeError(f"{schedule} {number}: status {status}: {err[-1000:]}")
        places, memory = parse(out, Outcome()), {}
        said = subprocess.run([os.path.join(s.build, "bin", "gsan-reference"), "--warps", trace], capture_output=True, text=True)
        if said.returncode > 1:
            raise RuntimeError(said.stderr)
        for line in said.stdout.splitlines():
            found = re.search(r" first (\d+) (\d+) ", line)
            if line.startswith("race ") and found and (s.kind == "broken" or not line.endswith(" formal")):
                where = {"allocation": {"rank": int(found.group(1)) // 10 ** 9, "offset": int(found.group(2))}}
                memory.setdefault(owner(where, places), line)
        return memory


def proof_rows(s, programs, first, schedules, size, workers):
    """Race-free programs have no race under any of the schedules, broken ones under each."""
    names = [(kind, seeds, ("random", "program", "pct")[n % 3], n) for n in range(1, schedules + 1) for kind in ("free", "broken")
             for seeds in parts(first, programs, size if kind == "free" else 1)] # equal races of several programs count as one
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(lambda name: races(s._replace(kind=name[0]), *name[1:]), names))
    racy = {seed: line for (kind, *_), said in zip(names, found) for seed, line in said.items() if kind == "free"}
    silent = sorted({seed for (kind, seeds, *_), said in zip(names, found) if kind == "broken"
                     for seed in seeds if seed not in said})
    name = f"{s.ranks} rank{'s' * (s.ranks > 1)}: the reference detector"
    yield f"{name} on {programs} race-free programs", "none", short(racy) or "none", schedules
    yield f"{name} on {programs} broken ones", "races", f"none in {silent}" if silent else "races", schedules


def judged(s, seeds, schedules):
    """Those of the programs for which the reference finds no race under any of the schedules. Equal races of several programs
    count as one, so that those without a named one are asked again."""
    for number in range(1, schedules + 1):
        named = True
        while named and seeds:
            named = races(s, seeds, ("random", "program", "pct")[number % 3], number)
            seeds = [seed for seed in seeds if seed not in named]
    return seeds


def mixed(s):
    return s._replace(kind="mixed", small=1)


def mixed_free(emulated, programs, first, schedules, workers):
    """Of programs changed by chance, small: those for which the reference finds no race."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return sorted(itertools.chain(*pool.map(lambda seeds: judged(mixed(emulated), seeds, schedules), parts(first, programs, 25))))


def mixed_rows(s, emulated, free, programs, schedules, size, workers, seconds, out):
    """Where the reference finds no race (mixed_free), the detector has no finding. A finding is explained if the reference finds that
    program's race under one of many more schedules."""
    s, emulated = mixed(s), mixed(emulated)
    tally, deadline = Tally(None), time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = [free[at:at + size] for at in range(0, len(free), size)]
        list(pool.map(lambda seeds: judge_free(s, seeds, tally, deadline), jobs))
        named = [seed for seed in tally.false if isinstance(seed, int)]
        rare = [seed for seed, still in zip(named, pool.map(lambda seed: judged(emulated, [seed], 60), named)) if not still]
    false = Tally(out)
    for seed, why in tally.false.items():
        if seed not in rare:
            false.note(false.false, s, seed, why)
    name = f"{s.ranks} rank{'s' * (s.ranks > 1)}: programs changed by chance"
    yield (f"{name}: race-free under {schedules} schedules: {len(free)} of {programs}", "ran",
           "ran" if tally.ran == len(free) > 0 else str(tally.ran), s.repeat)
    yield f"{name}: ended well", "ended", short(tally.failed) or "ended", s.repeat
    yield (f"{name}: findings" + f" ({len(rare)} races that few schedules show)" * bool(rare), "clean",
           short({k: json.loads(v)[0]["kind"] for k, v in false.false.items()}) or "clean", s.repeat)
    yield f"{name}: unchecked launches", "0", str(tally.unchecked), s.repeat


# ---- smaller ----------------------------------------------------------------------------------------------------------
def program_text(s, seed, drop=""):
    return tool(s.build, "gsan-random-text", "--print", seed, s.ranks, s.small, KINDS.index(s.kind), drop)


def droppable(text):
    """LAUNCH.PLACE of what no wait and no barrier hangs on: not what steers, and not what thread 0 does for its CTA."""
    found, launch = [], None
    for line in text.splitlines():
        begins = re.match(r"  launch (\d+): ", line)
        launch = begins.group(1) if begins else launch
        place = re.match(r"    +(\d+) (ld|st|red|atom|batch|sleep|exit|fence)", line)
        if place and (place.group(2) == "fence" or " tid 0..1 " not in line):
            found.append(f"{launch}.{place.group(1)}")
    return found


def shrink(s, seed, deadline, bad=lambda outcome: bool(outcome.why or outcome.findings)):
    """The program with as few operations as still show the same, halves first; None: it does not show at all."""
    def shows(drop):
        return bad(job(s._replace(drop=",".join(drop)), [seed]))
    if not shows([]):
        return None
    gone, rest = [], droppable(program_text(s, seed))
    size = max(1, len(rest) // 2)
    while size and time.monotonic() < deadline:
        at = 0
        while at < len(rest) and time.monotonic() < deadline:
            if shows(gone + rest[at:at + size]):
                gone, rest = gone + rest[at:at + size], rest[:at] + rest[at + size:]
            else:
                at += size
        size //= 2
    return ",".join(gone)


def hand_over(s, emulated, seed, deadline):
    """The smallest form of a program that failed, found on the emulated device if that shows it under one of some schedules, else
    where it failed: (settings, what was left out), or None."""
    for number in range(1, 6):
        small = emulated._replace(kind=s.kind, ranks=s.ranks, compiled=s.compiled, small=1, repeat=4, emu_seed=number)
        drop = shrink(small, seed, deadline)
        if drop is not None:
            return small, drop
    drop = shrink(s, seed, deadline)
    return None if drop is None else (s, drop)


def shrunk(s, emulated, tally, deadline):
    """Adds smaller forms of the first programs that failed to what is written of them."""
    for seed in [seed for kind in (tally.false, tally.failed) for seed in list(kind)[:2] if isinstance(seed, int)]:
        smaller = hand_over(s, emulated, seed, deadline) if tally.out else None
        if smaller:
            with open(os.path.join(tally.out, f"{seed}.txt"), "a") as file:
                file.write(f"\nshrunk on {smaller[0].device}, schedule {smaller[0].emu_seed}: --drop {smaller[1]}\n"
                           + program_text(smaller[0], seed, smaller[1]))


def self_rows(s, workers):
    """Is a program named that crashes, that does not end in time, that has a finding, that leaves other memory than plain?"""
    tally = Tally(None)
    judge_free(s._replace(crash=13), list(range(10, 15)), tally, time.monotonic() + 200)
    yield "a program that crashes", "13 of 5", f"{','.join(map(str, tally.failed))} of {tally.ran}", s.repeat
    tally = Tally(None)
    judge_free(s._replace(limit=0.05), [7, 8], tally, time.monotonic() + 200)
    yield "programs without an end", "7,8 of 2", f"{','.join(map(str, tally.failed))} of {tally.ran}", s.repeat
    tally = Tally(None)
    judge_free(s._replace(kind="broken"), [20, 21], tally, time.monotonic() + 200)
    yield "programs with findings", "20,21 of 2", f"{','.join(map(str, sorted(tally.false)))} of {tally.ran}", s.repeat
    tally, outcome = Tally(None), Outcome()
    outcome.results[30, 0] = "0", 0, 0
    compare(s, [30], outcome, tally)
    s = s._replace(kind="broken")
    drop = shrink(s, 20, time.monotonic() + 60)
    few, many = (len(droppable(program_text(s, 20, gone))) for gone in (drop or "", ""))
    smaller = few < many / 2 and job(s._replace(drop=drop), [20]).findings
    yield "a smaller program", "found", "found" if smaller else f"{few} of {many}", s.repeat
    yield "other memory", "30", ",".join(map(str, tally.other)), s.repeat


def settings(build, device, ranks, place, **more):
    given = {"small": 0, "kind": "free", "compiled": 0, "crash": 0, "drop": "", "emu_seed": 0, "repeat": 20, "gpus": 1,
             "limit": 150}
    return SETTINGS(build=build, device=device, ranks=ranks, place=place, **{**given, **more})


def section(build, gpus, out, parts, programs=7000, broken=96, compiled=64, changed=2000, ranks=2):
    """Rows of these PARTS on GPUs; all, if none is named. `ranks`: with as many GPUs, a twentieth of the programs has two ranks, or
    `ranks`: those take four times as long. What shares a GPU goes turn by turn: so many jobs that one starts while another one runs. What takes the CPUs
    alone goes beside."""
    cpus, jobs, parts = os.cpu_count() or 16, 2 * gpus, parts or PARTS
    with tempfile.TemporaryDirectory(prefix="random-") as place:
        s = settings(build, "cuda", 1, place, gpus=gpus, image=image(build, "cuda", place))
        os.mkdir(os.path.join(place, "emu"))
        emulated = s._replace(device="emu", image=image(build, "emu", os.path.join(place, "emu")))
        several = s._replace(ranks=ranks)
        with concurrent.futures.ThreadPoolExecutor(2) as beside:
            own = beside.submit(lambda: list(free_rows(s._replace(compiled=1), emulated, compiled, 0, 3, cpus // 2, 400, out))
                                if "compiled" in parts else [])
            asked = beside.submit(mixed_free, emulated, changed, 0, 3, cpus // 4) if "changed" in parts else None
            if "free" in parts:
                yield from free_rows(s, emulated, programs, 0, 500, jobs, 420, out)
            yield from own.result()
            if "broken" in parts:
                yield from broken_rows(s._replace(repeat=4), broken, 0, cpus // 2, 0.95)
            if asked:
                yield from mixed_rows(s, emulated, asked.result(), changed, 3, 100, jobs, 120, out)
        if "ranks" in parts and gpus >= ranks:
            yield from free_rows(several, emulated, programs // 20, 0, 100, cpus // 4, 120, out)
            yield from broken_rows(several._replace(repeat=4), broken // 2, 0, cpus // 4, 0.95)


def again(s, seed, smaller):
    """Runs one program again, or makes it smaller; 1 if it is as bad as that."""
    if not smaller:
        outcome = job(s, [seed])
        print(outcome.why, outcome.results, json.dumps(outcome.findings, indent=1), sep="\n")
        return bool(outcome.why or outcome.findings)
    deadline = time.monotonic() + 600
    found = hand_over(s, s, seed, deadline) if s.device == "emu" else (s, shrink(s, seed, deadline))
    shown = found and found[1] is not None
    print(f"--drop {found[1]}\n{program_text(found[0], seed, found[1])}" if shown else "it shows nothing")
    return bool(shown)


def few_rows(s, args):
    common = args.first, args.size, args.workers
    yield from free_rows(s, s, args.programs, *common, 3600, args.out)
    if args.compiled:
        yield from free_rows(s._replace(compiled=1), s, args.compiled, *common, 3600, args.out)
    if args.mixed:
        free = mixed_free(s, args.mixed, args.first, 3, args.workers)
        yield from mixed_rows(s, s, free, args.mixed, 3, args.size, args.workers, 3600, args.out)
    if args.broken:
        yield from broken_rows(s, args.broken, args.first, args.workers, args.share)


def main():
    signal.signal(signal.SIGTERM, stop)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--device", choices=["emu", "cuda"], default="emu")
    parser.add_argument("--programs", type=int, default=16)
    parser.add_argument("--broken", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.75, help="of the broken programs must be found")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--size", type=int, default=8, help="programs of a job")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--small", type=int)
    parser.add_argument("--kind", choices=KINDS, default="free")
    parser.add_argument("--seed", type=int, nargs="+")
    parser.add_argument("--proof", type=int, default=0, help="under so many schedules, ask the reference detector instead")
    parser.add_argument("--compiled", type=int, default=0, help="so many programs as kernels of their own, too")
    parser.add_argument("--mixed", type=int, default=0, help="so many programs changed by chance, judged by the reference, too")
    parser.add_argument("--shrink", action="store_true", help="the programs of --seed")
    parser.add_argument("--selftest", action="store_true", help="what fails is named")
    parser.add_argument("--out", default=None)
    args = parser.parse_args()
    args.build, small, bad = os.path.abspath(args.build), int(args.device == "emu") if args.small is None else args.small, 0
    with tempfile.TemporaryDirectory(prefix="random-") as place:
        for ranks in args.ranks:
            s = settings(args.build, args.device, ranks, place, small=small, kind=args.kind, repeat=args.repeat,
                         image=image(args.build, args.device, place))
            if args.seed:
                bad += sum(again(s, seed, args.shrink) for seed in args.seed)
                continue
            if args.selftest:
                rows = self_rows(s, args.workers)
            elif args.proof:
                rows = proof_rows(s, args.programs, args.first, args.proof, args.size, args.workers)
            else:
                rows = few_rows(s, args)
            for case, expected, got, repeats in rows:
                bad += got != expected
                print(f"{'ok  ' if got == expected else 'FAIL'} {case}: {got} x{repeats}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
