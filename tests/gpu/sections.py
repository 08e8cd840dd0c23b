"""The sections of tests/gpu/run. Each is a function that yields rows (case, expected, got, repeats); a row whose `got`
is not its `expected` fails the section. Run through tests/gpu/run, which sets the environment."""
import concurrent.futures
import datetime
import importlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import expect  # noqa: E402
import random_programs  # noqa: E402
from random_programs import RUNNING, stop  # noqa: E402

BUILD, OUT = os.environ["GSAN_BUILD"], os.environ["OUT"]
LAUNCH = os.path.join(BUILD, "bin", "gsan-launch")
EXAMPLES = os.path.join(ROOT, "examples")
PYTHON = sys.executable
FOUND, UNCHECKED, LIMIT = 66, 67, 280
BROKEN = {"relaxed": ["--order", "relaxed"], "gpu": ["--scope", "gpu"], "before": ["--flag", "before"]}
MESSAGE_SITES = ("payload-store", "payload-load")


def example(name):
    return os.path.join(EXAMPLES, name + ".py")


class Result:
    def __init__(self, status, out, err, report, seconds):
        self.status, self.out, self.err, self.report, self.seconds = status, out, err, report, seconds


def run(command, environment=None, limit=LIMIT):
    """One job with a time limit, hung ones killed with all they started; status None: it hung."""
    report = tempfile.mkdtemp(prefix="gpu-report-")
    command = [part.replace("{report}", report) for part in command]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                               env={**os.environ, **(environment or {})}, start_new_session=True)
    RUNNING.add(process)
    try:
        out, err = process.communicate(timeout=limit)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 15)
        time.sleep(2)
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        out, err = process.communicate()
        status = None
    RUNNING.discard(process)
    return Result(status, out, err, report, time.monotonic() - start)


def gsan(ranks=1):
    return [LAUNCH, *(["-n", str(ranks)] if ranks > 1 else []), "--device", "cuda", "--report", "{report}"]


def mpirun(*program, ranks=2):
    return ["mpirun", "-np", str(ranks), "--bind-to", "none", *gsan(), *program]


def torchrun(*program, ranks=2):
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--no-python", "--nproc-per-node", str(ranks), *gsan(), *program]


def launched(*program, ranks=2):
    return [*gsan(ranks), *program]


def judge(result, racy, ranks):
    """What a job turned out to be, in one word or in the words of what was wrong. racy: (source, sites, ranks) or None."""
    if result.status is None:
        return "hang"
    try:
        summary = expect.read(result.report, ranks)
        if racy:
            expect.race(summary, *racy)
            return "found" if result.status else "found, but status 0"
        expect.clean(summary)
        return "clean" if result.status == 0 else f"clean, but status {result.status}"
    except (expect.Unexpected, OSError, KeyError, ValueError) as error:
        return f"status {result.status}: {error}"


def show(name, result):
    """All that a job said which did not go as expected: the first line of it may be the cause."""
    sys.stderr.write(f"---- {name}: status {result.status}, stdout\n{result.out}\n---- stderr\n{result.err}\n")


def outcome(results, racy, ranks):
    """One word for repeats that agree."""
    said = sorted({judge(result, racy, ranks) for result in results})
    for result in results:
        if judge(result, racy, ranks) not in ("found", "clean"):
            show("job", result)
            break
    return "; ".join(said)


def digests(text):
    return sorted(line for line in text.splitlines() if line.startswith("result "))


# ---- sections ---------------------------------------------------------------------------------------------------
def smoke():
    """One GPU: stock kernels give equal results plain and checked; the one-GPU examples."""
    program = [PYTHON, os.path.join(ROOT, "tests", "gpu", "kernels.py")]
    plain, checked = run(program), run([*gsan(), *program])
    same = plain.status == 0 and digests(plain.out) and digests(plain.out) == digests(checked.out)
    yield "kernels: results", "equal", "equal" if same else f"{plain.out}{plain.err} / {checked.out}{checked.err[-2000:]}", 1
    yield "kernels: races", "clean", outcome([checked], None, 1), 1
    pairs = {"counter_lock": (["--order", "relaxed"], ("counter-load", "counter-store")),
             "neighbours": (["--layout", "overlapping"], ("element-store", "element-store"))}
    for name, (broken, sites) in pairs.items():
        source = example(name)
        for form, options, racy in (("correct", [], None), ("racy", broken, (source, sites, (0, 0)))):
            results = [run([*gsan(), PYTHON, source, "--iterations", "5", *options]) for _ in range(2)]
            yield f"{name}: {form}", "found" if racy else "clean", outcome(results, racy, 1), len(results)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def peers(launcher):
    """Two GPUs: each form of the message, twenty messages in one process, two fresh starts."""
    source = example("message_passing")
    plain = run(["mpirun", "-np", "2", "--bind-to", "none", "sh", "-c",
                 "export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=2 LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK "
                 f"MASTER_ADDR=127.0.0.1 MASTER_PORT={free_port()}; exec {PYTHON} {source} --iterations 20"])
    if plain.status != 0:
        show("plain", plain)
    yield "message_passing: plain", "0", str(plain.status), 1
    for via in ("atomic", "asm"):
        for form, options in {"correct": [], **BROKEN}.items():
            racy = (source, MESSAGE_SITES, (0, 1)) if options else None
            program = [PYTHON, source, "--iterations", "20", "--via", via, *options]
            results = [run(launcher(*program)) for _ in range(2)]
            yield f"message_passing: {form}, {via}", "found" if racy else "clean", outcome(results, racy, 2), 2
            if not racy:
                words = [line for line in plain.out.splitlines() if "messages" in line]
                same = all(words and words == [line for line in r.out.splitlines() if "messages" in line] for r in results)
                yield f"message_passing: {form}, {via}, results", "equal", "equal" if same else results[0].out, 2


def peers_mpirun():
    yield from peers(mpirun)


def peers_torchrun():
    yield from peers(torchrun)


def plugin():
    """torchrun --logs-specs gsan with torch itself, on GPUs and emulated: two and four ranks, the log files, starts again; and tests/python/stub
    has torch's interface."""
    prefix, logs = tempfile.mkdtemp(prefix="gpu-plugin-"), tempfile.mkdtemp(prefix="gpu-logs-")
    source = shutil.copytree(os.path.join(ROOT, "python"), os.path.join(prefix, "source"))
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--prefix", prefix, source], check=True)
    site = next(path for path, folders, _ in os.walk(prefix) if "gsan" in folders and path.endswith("-packages"))
    environment = {"PYTHONPATH": f"{site}:{EXAMPLES}", "PATH": f"{prefix}/bin:{os.environ['PATH']}"}

    def job(device, ranks, *more):
        shutil.rmtree(logs)
        return run(["env", f"GSAN_LAUNCH={LAUNCH} --device {device} --report {{report}}", PYTHON, "-m", "torch.distributed.run", "--standalone",
                    "--logs-specs", "gsan", "--nproc-per-node", str(ranks), "--redirects", "3", "--log-dir", logs, *more], environment)

    interface = ("import inspect, sys, dataclasses as d; from torch.distributed.elastic.multiprocessing import api as a; "
                 "print(*inspect.signature(a.DefaultLogsSpecs).parameters, *inspect.signature(a.DefaultLogsSpecs.reify).parameters, "
                 "*[f.name for f in d.fields(a.LogsDest)][:5])")
    said = [subprocess.run([PYTHON, "-c", interface], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}).stdout
            for path in ("", os.path.join(ROOT, "tests", "python", "stub"))]
    yield "interface", "equal", "equal" if said[0] == said[1] and said[0] else f"{said}", 1
    worker, message = os.path.join(ROOT, "tests", "python", "worker.py"), example("message_passing")
    for device, ranks in (("cuda", 2), ("emu", 2), ("emu", 4)):
        for form, relaxed in (("correct", []), ("racy", ["--relaxed", "0"])):
            result, racy = job(device, ranks, worker, *relaxed), (message, MESSAGE_SITES, (0, 1)) if relaxed else None
            yield f"{form}, {device}, {ranks} ranks", "found" if racy else "clean", outcome([result], racy, ranks), 1
            files = sorted(name for _, _, names in os.walk(logs) for name in names if name.startswith("std"))
            yield f"{form}, {device}, {ranks} ranks: log files", str(2 * ranks), str(len(files)), 1
        result = job(device, ranks, "--max-restarts", "2", worker, "--fail", "0", "--relaxed", "1")
        first = judge(Result(0, "", "", result.report, 0), None, ranks)
        again = judge(Result(1, "", "", os.path.join(result.report, "attempt-1"), 0), (message, MESSAGE_SITES, (0, 1)), ranks)
        if (first, again, result.status) != ("clean", "found", 0):
            show("started again", result)
        yield f"started again, {device}, {ranks} ranks", "clean, found, 0", f"{first}, {again}, {result.status}", 1


def triton39():
    """Two GPUs with the Triton that scripts/gpu-pack --triton made small, before the machine's own on the path."""
    place = os.path.join(tempfile.gettempdir(), "triton39")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    subprocess.run(["tar", "-xJf", os.path.join(ROOT, ".gpu", "triton39.tar.xz"), "-C", place], check=True)
    environment = {"PYTHONPATH": place, "TRITON_DEFAULT_FP_FUSION": "1"}
    version = subprocess.run([PYTHON, "-c", "import triton; print(triton.__version__)"], env={**os.environ, **environment},
                             stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    yield "version", "3.9.0", version, 1
    source = example("message_passing")
    for via in ("atomic", "poll"):
        for form, options in {"correct": [], **BROKEN}.items():
            racy = (source, MESSAGE_SITES, (0, 1)) if options else None
            program = [PYTHON, source, "--iterations", "20", "--via", via, *options]
            results = [run(mpirun(*program), environment)]
            yield f"message_passing: {form}, {via}", "found" if racy else "clean", outcome(results, racy, 2), 1


def residency():
    """A grid barrier among as many CTAs as the plain kernel can have resident: it ends, plain and checked."""
    program = [PYTHON, os.path.join(ROOT, "tests", "gpu", "residency.py")]
    plain = run(program)
    yield "plain", "0", str(plain.status), 1
    grids = re.findall(r"^grid (\S+) (\d+)$", plain.out, re.M)
    yield "kernels", "4", str(len(grids)), 1
    results = [run([*gsan(), *program, *(f"{name}={programs}" for name, programs in grids)]) for _ in range(2)]
    yield "checked: ends, races", "clean", outcome(results, None, 1), 2
    same = all(digests(result.out) == digests(plain.out) for result in results)
    yield "checked: results", "equal", "equal" if same else results[0].out + results[0].err[-2000:], 2


def opcodes():
    """The vectors of tests/gpu/opcodes, recorded here and left in $OUT for a look and a commit."""
    script = os.path.join(ROOT, "tests", "gpu", "opcodes", "record")
    result = run(["bash", script, os.path.join(OUT, "vectors.txt")])
    yield "recorded", "0", str(result.status) if result.status == 0 else f"{result.status}: {result.err[-2000:]}", 1


def bench(*options, program="bench", output="speed.json"):
    """A program of bench/, plain and checked (bench.py, if no other is named); its rows go to $OUT/speed.json, or another file there."""
    result = run([PYTHON, os.path.join(ROOT, "bench", program + ".py"), *options, "--launch", LAUNCH, "--commit", commit(),
                  "--output", os.path.join(OUT, output)])
    print(result.out)
    yield " ".join([program, *options]), "0", str(result.status) if result.status == 0 else f"{result.status}: {result.out}{result.err[-3000:]}", 1


def programs():
    """bench/programs.py; its rows go to $OUT/programs.json."""
    yield from bench(program="programs", output="programs.json")


def linked():
    """bench.py with more kernels, whole and linked clones beside each other; its rows go to $OUT/speed-linked.json."""
    yield from bench("--linked", output="speed-linked.json")


def capture():
    """Kernels whose first launch lies in a stream capture: whatever works plain works checked, in all modes."""
    program = os.path.join(BUILD, "bin", "gsan-capture")
    plain, checked = run([program]), run([*gsan(), "--allow-unchecked", program])
    lines = {line.split(": ")[0]: line.split(": ", 1)[1] for line in checked.out.splitlines() if ": " in line}
    worked = [line.split(": ")[0] for line in plain.out.splitlines() if line.endswith(": ok")]
    must = [case for case in worked if case.split()[1] in ("before", "second", "library")]
    yield "plain: cases that work", "18", str(len(must)) if len(must) == 18 else plain.out + plain.err, 1
    for case in worked:
        yield case, "ok", lines.get(case, f"{checked.status}: {checked.err[-1500:]}"), 1
    yield "status", "0", str(checked.status) if checked.status == 0 else f"{checked.status}: {checked.err[-2000:]}", 1


def limits(*cases):
    """A job with 10^8 CTAs, one with 10^7 launches, one with 10^6 for which nobody waits, one with 70,000 sets likewise, one with 10^6 releases by one CTA, one that fills
    the device 100 times, or those of these (limits.py): then a race is found, its twin clean, and no launch was unchecked."""
    for case in cases or ("ctas=100000000", "launches=10000000", "unwaited=1000000", "sets=70000", "releases=1000000", "fills=100"):
        result = run([PYTHON, os.path.join(ROOT, "tests", "gpu", "limits.py"), LAUNCH, os.path.join(BUILD, "bin", "gsan-limits"), "cuda", case])
        print(result.out.strip())
        yield case, "found", "found" if result.status == 0 else f"{result.status}: {result.out}{result.err[-2000:]}", 1


def litmus(only=None):
    """Litmus programs, 100 repeats in one process each: what is racy is found in 99 of 100 repeats that show the outcome, what is
    correct never. Programs whose outcome never shows count as neither. One GPU, then two ranks on one GPU and on two; only: programs
    of so many ranks alone."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "litmus"))
    import gpu  # noqa: E402
    program = os.path.join(BUILD, "bin", "litmus-run")
    for row in gpu.section(BUILD, lambda ranks, arguments: run([*gsan(ranks), program, *arguments]), int(device().split()[0]), only=only):
        print(f"{row[0]}: {row[2]}")  # in full: the names of programs are many
        yield row


def cases(*names, only=None):
    """The programs of tests/cases, or those of these names: correct forms 20 times clean (of Triton's tutorials four times), each broken one
    found, if only as a formal race; two ranks with gloo and with NCCL, on two GPUs if there are two. only: those of several ranks, with so many. Eight jobs at once, of four ranks
    four; the first of each compiles for the others."""
    place = os.path.join(ROOT, "tests", "cases")
    sys.path.insert(0, place)
    from cases import TUTORIALS, native, started  # noqa: E402
    gpus, jobs = int(device().split()[0]), []
    for name, (program, arguments, ranks, racy) in native(only or 2).items():
        if (only and ranks < only) or (names and name not in names):
            continue
        for backend in ("gloo", "nccl") if ranks > 1 else ("",):
            environment = {"PYTHONPATH": EXAMPLES, "GSAN_CACHE_DIR": os.path.join(tempfile.gettempdir(), f"cases-{name}"),
                           "EXAMPLE_BACKEND": backend}
            if ranks <= gpus: # symmetric memory and NCCL refuse ranks that share a GPU
                command = [*gsan(started(program, ranks)), "--formal", "fail", PYTHON, os.path.join(place, program), *arguments]
                jobs.append((f"{name} {backend}".strip(), command, environment, racy))
    with concurrent.futures.ThreadPoolExecutor(4 if only else 8) as pool:
        first = list(pool.map(lambda job: run(job[1], job[2], 200), jobs))
        more = [[pool.submit(run, job[1], job[2], 60) for _ in range(2 if job[3] else 3 if job[0] in TUTORIALS else 19)] for job in jobs]
        for job, one, others in zip(jobs, first, more):
            results = [one, *(other.result() for other in others)]
            got = sorted({"hang" if r.status is None else {0: "clean", FOUND: "found"}.get(r.status, f"status {r.status}") for r in results})
            wanted = FOUND if job[3] else 0
            for bad in [r for r in results if r.status != wanted][:1]:
                show(job[0], bad)
            yield job[0], "found" if job[3] else "clean", "; ".join(got), len(results)


def random_section(*parts):
    """7,000 random programs, 20 times each on fresh memory, checked and plain, on one GPU, with two GPUs a twentieth as many with two
    ranks: race-free ones end well, have no finding, and leave the memory that the plain run leaves; of those that have lost an edge,
    nearly all are found. PARTS of random_programs.py, or all. What failed: $OUT/random/SEED.txt. random_programs.py runs single seeds
    again, on the emulated device, too."""
    yield from random_programs.section(BUILD, int(device().split()[0]), os.path.join(OUT, "random"), parts)


def idioms(*names, ranks=2):
    """tests/idioms, or those of these names, with 132 CTAs of 256 threads, fewer where all want one word, in one process each: what
    is correct is clean and right, 20 times; of each mutant, 4 times, a race is found, and every sentence names the changed line. One
    GPU; all-reduces and LL protocols several."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "idioms"))
    import idioms as those  # noqa: E402
    program = os.path.join(BUILD, "bin", "idioms-run")
    yield from those.section(lambda ranks, launcher, arguments: run([*gsan(ranks), *launcher, program, *arguments]),
                             int(device().split()[0]), names, ranks)


def warps():
    """The pairs of tests/warps, whose twins lack a barrier inside a CTA."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "warps"))
    import detect  # noqa: E402
    program = os.path.join(BUILD, "bin", "warps-run")
    names = subprocess.run([program, "--names"], capture_output=True, text=True, check=True).stdout.split()
    yield from detect.section(lambda arguments: run([*gsan(), program, *arguments]), names)


def fat_program(place, virtual, code, mode, variables):
    """Rows of fat.cu as gsan-nvcc makes it in one form."""
    program = os.path.join(place, f"{virtual}-{len(code)}-{mode}-{variables}")
    made = run([os.path.join(BUILD, "bin", "gsan-nvcc"), f"-DVARIABLES={variables}", f"--compress-mode={mode}", "-gencode", f"arch=compute_{virtual},code={code}",
                os.path.join(ROOT, "tests", "gpu", "fat.cu"), "-o", program])
    for form, expected in (("correct", []), ("racy", ["flagged", "stored"] + ["variable"] * variables)):
        result = run([*gsan(), program, form])
        with open(os.path.join(result.report, "summary.json")) as file:
            summary = json.load(file)
        kernels = sorted({re.search("stored|flagged|variable", finding["second"]["kernel"])[0] for finding in expect.pairs(summary)})
        good = made.status == 0 and result.status == (FOUND if expected else 0) and not summary["coverage"]["launches_unchecked"]
        yield (f"{code}, {mode}{', variables' if variables else ''}: {form}", " ".join(expected),
               " ".join(kernels) if good else f"{made.err}{result.status} {result.err[-2000:]}", 1)


def fat_objects(place, options):
    """Rows of tests/nvcc/linked, which is of two objects: plain, and ten times each correct and racy."""
    program = os.path.join(place, re.sub(r"\W+", "-", "two" + "".join(options)))  # nvcc takes a comma in a name for one of its own
    sources = os.path.join(ROOT, "tests", "nvcc", "linked")
    made = run([os.path.join(BUILD, "bin", "gsan-nvcc"), "-rdc=true", *options, *(os.path.join(sources, name) for name in ("first.cu", "second.cu")), "-o", program])
    plain = run([program, "correct"])
    yield f"two objects, {' '.join(options)}: plain", "0", str(plain.status) if made.status == 0 else made.err, 1
    for form, status in (("correct", 0), ("racy", FOUND)):
        results = [run([*gsan(), program, form]) for _ in range(10)]
        ended = ends_of(results, form, status)
        if form == "correct" and any(sorted(r.out.split("\n")) != sorted(plain.out.split("\n")) for r in results):
            ended += "; something else was printed"
        yield f"two objects, {' '.join(options)}: {form}", "found" if status else "clean", ended, len(results)


def fat():
    """Programs of the CUDA runtime as gsan-nvcc makes them, which adds PTX where there is machine code alone: the kernels of their fat
    binaries are checked, however these are packed, or linked."""
    both = [("90", "[sm_90,compute_90]", mode, variables) for mode in ("none", "speed", "size") for variables in (0, 1)]
    alone = [("90", "compute_90", "size", 1), ("80", "compute_80", "speed", 1), ("90", "sm_90", "none", 1), ("80", "sm_90", "size", 0)]
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda form: list(fat_program(place, *form)), both + alone):
            yield from rows
        for rows in pool.map(lambda options: list(fat_objects(place, options)), (
                ["-arch=sm_90"], ["-gencode", "arch=compute_80,code=sm_90"], ["-gencode", "arch=compute_90,code=compute_90"])):
            yield from rows


def ipc(gpus=1):
    """A tensor that goes through queues of torch.multiprocessing, to a process on the same GPU or on each of the others, plain and checked."""
    source = os.path.join(ROOT, "tests", "gpu", "ipc.py")
    plain = run([PYTHON, source, "correct", str(gpus)])
    yield "queue: plain", "0", str(plain.status) if plain.status == 0 else f"{plain.status}: {plain.err[-2000:]}", 1
    stored = expect.site_lines(source)["produce"]
    for form, status in (("correct", 0), ("racy", FOUND)):
        results = [run([*gsan(), PYTHON, source, form, str(gpus)]) for _ in range(3)]
        got = ends_of(results, form, status)
        for result in results if status else []:
            sides = [(f["first"], f["second"]) for f in expect.pairs(expect.read(result.report, 1))]
            others = {other["participant"] for pair in sides for side, other in (pair, pair[::-1]) if side["line"] == stored and other["line"] != stored}
            got += "" if len(others) == max(1, gpus - 1) else f", with {len(others)} receivers"
        yield f"queue: {form}", "found" if status else "clean", got, len(results)


def ends_of(results, name, status):
    """How jobs ended, in one word if they agree."""
    for result in results:
        if result.status != status:
            show(name, result)
    return "; ".join(sorted({"hang" if r.status is None else {0: "clean", FOUND: "found", UNCHECKED: "unchecked"}.get(r.status, f"{r.status}: {r.err[-1500:]}") for r in results}))


def forms_of(program, names=()):
    """The forms of tests/PROGRAM/PROGRAM.py, or those of these names, ten times each, correct and without their edge; at once, but for those ALONE."""
    sys.path[:0] = [os.path.join(ROOT, "tests", program), os.path.join(ROOT, "tests", "e2e")]
    os.environ["GSAN_BIN"] = os.path.join(BUILD, "bin")
    forms, pool, program = importlib.import_module(program), concurrent.futures.ThreadPoolExecutor(10), os.path.join(BUILD, "bin", program)
    for name in names or (*forms.FORMS, *getattr(forms, "ON_GPUS", ())):
        for options, status in (([], 0), (["racy"], FOUND)):
            if options and name in getattr(forms, "MAY_MISS", ()):
                continue
            results = list((map if name in getattr(forms, "ALONE", ()) else pool.map)(run, [[*gsan(), program, name, *options]] * 10))
            yield f"{name}{' without its edge' if options else ''}", "found" if options else "clean", ends_of(results, name, status), len(results)


def cost_of(program, name):
    """A program that says what calls cost, plain and checked: its lines go to $OUT/NAME."""
    rows = []
    for checked in (False, True):
        result = run([*(gsan() if checked else []), os.path.join(BUILD, "bin", program)])
        rows += [{"checked": checked, **json.loads(line)} for line in result.out.splitlines() if line.startswith("{")]
        yield f"{program}, {'checked' if checked else 'plain'}", "0", str(result.status), 1
    with open(os.path.join(OUT, name), "w") as file:
        json.dump({"rows": rows, "device": device(), "commit": commit(), "date": datetime.date.today().isoformat()}, file, indent=1)


def graphs(*names):
    """Graphs: the forms of tests/graphs; torch's, captured and made by torch.compile; and what they cost, $OUT/graphs.json. Or those forms
    that are named."""
    yield from forms_of("graphs", names)
    if names:
        return
    for form in ("graph", "compile"):
        for racy in (False, True):
            program = os.path.join(ROOT, "tests", "gpu", "captured.py")
            results = [run([*gsan(), PYTHON, program, form, *["racy"] * racy]) for _ in range(2)]
            yield f"torch: {form}{', racy' if racy else ''}", "found" if racy else "clean", ends_of(results, form, FOUND if racy else 0), len(results)
    yield from cost_of("gsan-graph-cost", "graphs.json")


def values(*names):
    """Values that streams write and wait for: the forms of tests/values."""
    yield from forms_of("values", names)


def streams(*names):
    """Two launches in two streams: the forms of tests/streams, and those whose functions wait for what is launched behind them. Or those that are named."""
    yield from forms_of("streams", names)


def pdl(*names):
    """Programmatic dependent launch: the forms of tests/pdl."""
    yield from forms_of("pdl", names)


def hostmem(*names):
    """Memory that hosts use, too: the forms of tests/hostmem."""
    yield from forms_of("hostmem", names)


def libraries():
    """Kernels that Python's libraries compile within the process: the forms of tests/libraries, plain, and five times each correct and racy."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "libraries"))
    import libraries as forms  # noqa: E402
    program, total = os.path.join(ROOT, "tests", "libraries", "libraries.py"), f"{float(forms.CTAS * forms.THREADS)}"
    for name in forms.FORMS:
        plain = run([PYTHON, program, name])
        yield f"{name}, plain", total, plain.out.strip() or plain.err[-1500:], 1
        for racy in (False, True):
            status, words = (FOUND, "found") if racy else (0, "clean")
            results = [run([*gsan(), PYTHON, program, name, *["racy"] * racy]) for _ in range(5)]
            ended = ends_of(results, name, status)
            if not racy and any(r.out.strip() != total for r in results):
                ended += "; another sum"
            yield f"{name}{', racy' if racy else ''}", words, ended, len(results)


def pages():
    """docs/first-program.md: what it has for machines with a GPU, or with torch, as it stands there: each command prints what the page says."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "pages"))
    import pages as page  # noqa: E402
    with open(os.path.join(ROOT, "docs", "first-program.md")) as file:
        text = file.read()
    environment = {**os.environ, "PATH": os.pathsep.join([os.path.join(BUILD, "bin"), os.path.dirname(PYTHON), os.environ["PATH"]]),
                   "PYTHONPATH": os.pathsep.join([os.path.join(ROOT, "python"), os.environ.get("PYTHONPATH", "")])}
    with tempfile.TemporaryDirectory(prefix="gpu-pages-") as place:
        page.write_files(text, place)
        given = [command for _, commands in page.consoles(text, gpu=True) for command in commands]
        for (command, lines), printed in zip(given, page.run([command for command, _ in given], place, environment)):
            agrees = page.agrees(printed, lines)
            if not agrees:
                sys.stderr.write(f"---- $ {command}\n" + "\n".join(printed) + "\n")
            yield f"$ {command}", "as it says", "as it says" if agrees else " / ".join(printed[-3:]), 1


def copies(*names):
    """Copies and sets: the forms of tests/copies; and what they cost, $OUT/copies.json. Or those forms that are named."""
    yield from forms_of("copies", names)
    if not names:
        yield from cost_of("gsan-copy-cost", "copies.json")


def gpus(*names):
    """One process on several GPUs, each checked: the forms of tests/unit/driver/gpus.c, five times each, and a pipeline of torch and Triton
    over all there are, twenty times clean in its correct forms; or those of them that are named."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "unit", "driver"))
    import gpus_test  # noqa: E402
    count = int(device().split()[0])
    pool = concurrent.futures.ThreadPoolExecutor(5)
    for form in gpus_test.CORRECT + gpus_test.RACY:
        if gpus_test.NEEDS.get(form, 2) > count or (names and form not in names):
            continue
        results = list(pool.map(run, [[*gsan(), os.path.join(BUILD, "bin", "gpus"), form]] * 5))
        racy = form in gpus_test.RACY
        yield f"gpus: {form}", "found" if racy else "clean", ends_of(results, form, FOUND if racy else 0), len(results)
    source = os.path.join(ROOT, "tests", "gpu", "one_process.py")
    for form in ("correct", "copies", "overwrites", "unseen"):
        if names and form not in names:
            continue
        plain, racy = run([PYTHON, source, form]), form in ("overwrites", "unseen")
        results = [run([*gsan(), PYTHON, source, form])]  # which compiles for the others
        results += pool.map(run, [[*gsan(), PYTHON, source, form]] * (4 if racy else 19))
        print(form, plain.out.split(), results[0].out.split())
        got = outcome(results, (source, ("take", "put"), (0, 0)) if racy else None, 1)
        yield f"pipeline: {form}", "found" if racy else "clean", got, len(results)


def places():
    """Jobs of one rank in which processes come and go on one GPU, more than there are places: the forms of tests/unit/driver/places.c, with twenty
    newcomers where the test on the emulated device has seventy."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "unit", "driver"))
    import places_test  # noqa: E402
    forms = {form: row for form, row in places_test.FORMS.items() if not (row[3] or form.endswith("_few"))}
    jobs = [[*gsan(), os.path.join(BUILD, "bin", "places"), str(min(turns, 20)), last, str(quiet)] for turns, last, quiet, refused in forms.values()]
    for form, result in zip(forms, concurrent.futures.ThreadPoolExecutor(4).map(run, jobs)):
        racy = forms[form][1] in ("theirs", "ours", "crush")
        yield f"places: {form}", "found" if racy else "clean", ends_of([result], form, FOUND if racy else 0), 1


# ---- four GPUs ----------------------------------------------------------------------------------------------------
def random_4():
    """As many race-free programs of four ranks as `random` has of two."""
    yield from random_programs.section(BUILD, int(device().split()[0]), os.path.join(OUT, "random"), ("ranks",), ranks=4)


def graphs_4():
    """The exchange as a graph on four ranks, replayed without a host wait in between: correct, and with each of its edges left out."""
    program = os.path.join(ROOT, "tests", "cases", "exchange.py")
    for backend in ("gloo", "nccl"):
        for what in (None, "no-first", "no-last", "first-relaxed", "last-relaxed", "scope"):
            command = [*gsan(4), "--formal", "fail", PYTHON, program, "--replays", "4", *(["--break", what] if what else [])]
            environment = {"PYTHONPATH": EXAMPLES, "EXAMPLE_BACKEND": backend}
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                results = list(pool.map(lambda _, command=command, environment=environment: run(command, environment), range(3 if what else 9)))
            wrong = [r for r in results if not what and " 0 wrong" not in r.out]
            got = "wrong results" if wrong else ends_of(results, "exchange", FOUND if what else 0)
            yield f"exchange replayed, {backend}: {what or 'correct'}", "found" if what else "clean", got, len(results)


def launchers_4():
    """Examples and shared cases, correct and broken, under each launcher, with hosts that meet over gloo and over NCCL."""
    place, shared = os.path.join(ROOT, "tests", "cases"), ("exchange.py", "gather.py", "lock_groups.py", "cas_then_load.py")
    exchange, gather, locks, cas = (os.path.join(place, name) for name in shared)
    programs = {"message_passing": (example("message_passing"), ["--iterations", "5"], {"correct": [], **BROKEN}),
                "counter_lock": (example("counter_lock"), [], {"correct": [], "racy": ["--order", "relaxed"]}),
                "neighbours": (example("neighbours"), [], {"correct": [], "racy": ["--layout", "overlapping"]}),
                "exchange": (exchange, [], {"correct": [], "racy": ["--break", "scope"]}),
                "gather": (gather, [], {"correct": [], "racy": ["--break", "swapped"]}),
                "lock_groups": (locks, [], {"correct": [], "racy": ["--break", "relaxed"]}),
                "cas_then_load": (cas, [], {"correct": ["--strong"], "racy": []})}
    jobs = [(f"{name}, {launcher.__name__}, {backend}: {form}", launcher(PYTHON, program, *common, *options, ranks=4),
             {"PYTHONPATH": EXAMPLES, "EXAMPLE_BACKEND": backend}, form, name)
            for name, (program, common, forms) in programs.items() for form, options in forms.items()
            for launcher in (mpirun, torchrun, launched) for backend in ("gloo", "nccl")]
    with concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 1) // 5)) as pool:
        for (name, _, _, form, program), result in zip(jobs, pool.map(lambda job: run(job[1], job[2]), jobs)):
            sides = [side for pair in expect.pairs(expect.read(result.report, 4)) for side in (pair["first"], pair["second"])]
            files = {os.path.basename(side["file"]).partition(".")[0] for side in sides if side["file"]}  # copies have none
            got = {None: "hang", 0: "clean"}.get(result.status, f"status {result.status}")
            if sides:
                got = "found" if files == {program} and result.status else f"{got}, found in {files}"
            wanted = "clean" if form == "correct" else "found"
            if got != wanted:
                show(name, result)
            yield name, wanted, got, 1


def cost_of_ranks(program, ranks, checked):
    """One run of bench/ranks.py: what each rank says, with the memory that its report counts; [] if it did not end well."""
    result = run(launched(PYTHON, program, ranks=ranks) if checked else
                 [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), program])
    lines = [json.loads(line) for line in result.out.splitlines() if line.startswith("{")]
    if result.status != 0 or len(lines) != ranks:
        show(f"{ranks} ranks", result)
        return []
    for line in lines if checked else []:
        with open(os.path.join(result.report, f"rank-{line['rank']}.json")) as file:
            coverage = json.load(file)["coverage"]
        line.update({name: coverage[name] for name in ("memory_bytes", "shadow_bytes", "tables_bytes")})
    return [{"ranks": ranks, "checked": checked, **line} for line in lines]


def speed_4():
    """bench/ranks.py: what a rank's work costs while one, two and four ranks work, plain and checked, twice: the lesser of them. Rows and the memory of
    each GPU: $OUT/speed-4.json. And its racy form."""
    program, whats, least, ended = os.path.join(ROOT, "bench", "ranks.py"), ("local_ms", "launch_us", "far_all_ms"), {}, 0
    for ranks, checked in [(ranks, checked) for _ in range(2) for ranks in (1, 2, 4) for checked in (False, True)]:
        rows = cost_of_ranks(program, ranks, checked)
        ended += bool(rows)
        for row in rows:
            kept = least.setdefault((ranks, checked, row["rank"]), row)
            kept.update({what: min(kept[what], row[what]) for what in whats if what in row})
        with open(os.path.join(OUT, "speed-4.json"), "w") as file:
            json.dump({"rows": list(least.values()), "device": device(), "commit": commit(), "date": datetime.date.today().isoformat()}, file, indent=1)
    yield "jobs that ended well", "12", str(ended), 2
    if ended < 12:
        return
    for what, few, rank in (("local_ms", 1, 0), ("local_ms", 2, 1), ("far_all_ms", 2, 0), ("far_all_ms", 2, 1)):
        x = {n: least[n, True, rank][what] / least[n, False, rank][what] for n in (few, 4)}
        yield f"{what} of rank {rank}: times plain, 4 ranks beside {few}", "flat", "flat" if x[4] <= 1.1 * x[few] else f"{x}", 2
    for few, rank in ((1, 0), (2, 1)):
        more = {n: least[n, True, rank]["launch_us"] - least[n, False, rank]["launch_us"] for n in (few, 4)}
        yield f"launch_us of rank {rank}: beyond plain, 4 ranks beside {few}", "flat", "flat" if more[4] <= 1.1 * more[few] + 0.5 else f"{more}", 2
    shadow = max(row["shadow_bytes"] / row["memory_bytes"] for (_, checked, _), row in least.items() if checked)
    yield "shadow of a GPU, bytes for each of the program's", "a quarter", "a quarter" if shadow < 0.27 else f"{shadow}", 2
    results = [run(launched(PYTHON, program, "racy", ranks=4)) for _ in range(2)]
    pairs = [{tuple(sorted((f["first"]["rank"], f["second"]["rank"]))) for f in expect.pairs(expect.read(r.report, 4))} for r in results]
    found = all(those >= {(0, 1), (1, 2), (2, 3), (0, 3)} for those in pairs) and {r.status for r in results} == {FOUND}
    yield "racy adds of each pair of neighbours", "found", "found" if found else f"{[r.status for r in results]} {pairs}", 2


SECTIONS = {"cases-4": lambda *names: cases(*names, only=4), "gpus-4": gpus, "graphs-4": graphs_4, "idioms-4": lambda: idioms(ranks=4), "ipc-4": lambda: ipc(4), "launchers-4": launchers_4,
            "limits-4": lambda: limits("fills=100x4"), "litmus-4": lambda: litmus(4), "random-4": random_4,
            "speed-4": speed_4, "cases": cases, "copies": copies, "fat": fat, "gpus": gpus, "graphs": graphs, "hostmem": hostmem, "ipc": ipc, "idioms": idioms, "libraries": libraries, "litmus": litmus, "pages": pages, "pdl": pdl, "places": places, "random": random_section, "smoke": smoke, "streams": streams, "values": values,
            "peers-mpirun": peers_mpirun, "peers-torchrun": peers_torchrun, "plugin": plugin, "triton39": triton39, "residency": residency, "limits": limits,
            "opcodes": opcodes, "capture": capture, "warps": warps, "bench": bench, "programs": programs,
            "linked": linked}
NAMED = ("cases", "cases-4", "copies", "gpus", "gpus-4", "graphs", "hostmem", "idioms", "limits", "pdl", "random", "values")  # which take names of rows


def commit():
    for path, command in ((os.path.join(BUILD, "COMMIT"), None), (None, ["git", "-C", ROOT, "rev-parse", "--short", "HEAD"])):
        if path and os.path.exists(path):
            with open(path) as file:
                return file.read().strip()
        if command:
            return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.strip() or "unknown"


def device():
    """The GPUs that programs see: two ranks on one of several are on one, whose threads a scope of .gpu orders."""
    said = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.split("\n")
    count = sum(bool(name) for name in said)
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        count = min(count, len([name for name in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if name]))
    return f"{count} x {said[0]}"


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in SECTIONS or (len(sys.argv) > 2 and sys.argv[1] not in NAMED):
        sys.exit(f"usage: tests/gpu/run {'|'.join(SECTIONS)}\n       tests/gpu/run {'|'.join(NAMED)} NAME…\n"
                 f"       names of random: {' '.join(random_programs.PARTS)}")
    section, failed, table = sys.argv[1], 0, []
    signal.signal(signal.SIGTERM, stop)
    common = {"device": device(), "commit": commit(), "date": datetime.date.today().isoformat()}
    path = os.path.join(OUT, "gpu.json")
    rows = []
    if os.path.exists(path):
        with open(path) as file:
            rows = [row for row in json.load(file) if row["section"] != section]
    start = time.monotonic()
    for case, expected, got, repeats in SECTIONS[section](*sys.argv[2:]):
        failed += got != expected
        rows.append({"section": section, "case": case, "expected": expected, "got": got, "repeats": repeats, **common})
        table.append(f"{'ok  ' if got == expected else 'FAIL'} {case:45} {expected:8} {got:.60} x{repeats}"
                     f" ({time.monotonic() - start:.0f} s)")
        print(table[-1], flush=True)
        with open(path, "w") as file:
            json.dump(rows, file, indent=1)
    if not table:
        sys.exit(f"{section}: nothing ran: it needs other GPUs than {common['device']}")
    table.append(f"{section}: {len(table) - failed} passed, {failed} failed on {common['device']}, commit {common['commit']}")
    print(table[-1])
    with open(os.path.join(OUT, f"{section}.txt"), "w") as file:
        file.write("\n".join(table) + "\n")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
