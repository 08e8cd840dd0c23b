"""Jobs that hang: whoever ends them, the report says who waits, and where. Of those that end well it says nothing."""
import json
import os
import signal
import subprocess
import time

import expect
import jobs
import runs
import signals

WAITS = os.path.join(jobs.BIN, "faults_waits")
LONGEST = 40  # seconds, for a machine that is busy
TRIES = 6
FLAG, LOCK = 128, 256
SEEN = {  # of kernels of faults_waits: operation, bytes, offset, value
    "acquire": ("ld", "acquire", 4, FLAG, "0x0"), "relaxed": ("ld", "relaxed", 4, FLAG, "0x0"), "volatile": ("ld", "volatile", 4, FLAG, "0x0"),
    "acquirer": ("atom.cas", "acquire", 4, FLAG, "0x0"), "lock": ("atom.cas", "acquire", 4, LOCK, "0x1"),
    "swap": ("atom.exch", "acquire", 4, LOCK, "0x1"), "add": ("atom.add", "acq_rel", 4, FLAG, "0x0"),
    "vector": ("ld", "relaxed", 8, FLAG, "0x0"), "pinned": ("ld", "acquire", 4, FLAG, "0x0"),
}


def waits(scratch, ranks=1):
    return expect.read(os.path.join(scratch, "report"), ranks).get("waits", [])


def ended_when(scratch, kernels, enough, end, ranks=1, options=(), seconds=2):
    """The job is ended by `end` while it hangs: after so many seconds, or twice as many if it did not come far enough. Returns what the
    launcher said."""
    for seconds in (seconds << again for again in range(TRIES)):
        before = runs.files(scratch)
        process = signals.start(scratch, signals.command(scratch, [WAITS, *kernels], ranks=ranks, options=options))
        time.sleep(seconds)
        end(process)
        said = signals.ended(scratch, process, before)
        if enough():
            break
    return said


def interrupt(process):
    process.send_signal(signal.SIGINT)


def all_kinds(scratch):
    """Each kind of wait by name, place, address and value; several kernels at once."""
    kernels = list(SEEN)
    for some in (kernels[:3], kernels[3:6], kernels[6:]):
        ended_when(scratch, some, lambda some=some: len(waits(scratch)) == len(some), interrupt)
        found = {wait["read"]["kernel"]: wait for wait in waits(scratch)}
        expect.need(set(found) == set(some) and len(waits(scratch)) == len(some), f"not {some}: {found}")
        for kernel, wait in found.items():
            read, (op, semantics, size, offset, value) = wait["read"], SEEN[kernel]
            expect.need((read["op"], read["semantics"], read["bytes"], wait["value"]) == (op, semantics, size, value), f"{kernel}: {wait}")
            expect.need((read["rank"], read["gpu"], read["cta"], read["grid"]) == (0, 0, [0, 0, 0], [1, 1, 1]), f"{kernel}: {wait}")
            expect.need(read["file"] and read["line"] > 0 and wait["times"] >= 4096, f"{kernel}: {wait}")
            part, call = wait["allocation"], "cuMemHostAlloc" if kernel == "pinned" else "cuMemAlloc"
            expect.need(part["offset"] == offset and part["size"] == 4096 and call in part["label"], f"{kernel}: {wait}")
            expect.need(int(wait["address"], 16) == int(part["base"], 16) + offset, f"{kernel}: {wait}")


def several_flags(scratch):
    """A warp whose lanes wait for a flag each, a CTA that waits for two: one of them is named."""
    for kernel, offsets in (("lanes", range(FLAG, LOCK, 4)), ("both", (FLAG, LOCK))):
        ended_when(scratch, [kernel], lambda: waits(scratch), interrupt)
        found = waits(scratch)
        expect.need(len(found) == 1 and found[0]["allocation"]["offset"] in offsets, f"{kernel}: {found}")


def by_whom(scratch):
    """SIGTERM to all processes, SIGKILL to the rank or to its launcher: it is said first of all."""
    def all_of_them(_):
        signals.everybody(scratch, signal.SIGTERM, 1)

    def rank(_):
        os.kill(next(int(pid) for pid, line in runs.processes(scratch).items() if line.startswith(WAITS)), signal.SIGKILL)
    for end, prints in ((all_of_them, True), (rank, True), (subprocess.Popen.kill, False)):
        said = ended_when(scratch, ["acquire"], lambda: waits(scratch), end)
        expect.need(len(waits(scratch)) == 1, f"{end}: {said}")
        first = said.splitlines()[0] if said else ""
        expect.need(not prints or first == "gsan: wait 1 of 1: rank 0 read the same again and again, and its launch did not end", f"{end}: {said}")


def on_a_terminal(scratch):
    """Ctrl-C, and the terminal's end."""
    for keys in (True, False):
        for seconds in (4, 16, LONGEST):
            terminal = signals.Terminal(scratch, signals.command(scratch, [WAITS, "acquire"]), shell=True)
            time.sleep(seconds)
            if keys:
                terminal.keys(b"\x03")
                signals.until(lambda: (terminal.read(), b"status 130" in terminal.text)[1], f"status 130: {terminal.text}")
            else:
                os.close(terminal.fd)
            signals.until(lambda: os.waitpid(terminal.pid, os.WNOHANG)[0], "the end of the session")
            signals.until(lambda: not runs.processes(scratch), "the end of the job")
            if waits(scratch):
                break
        expect.need(len(waits(scratch)) == 1, f"keys {keys}: {terminal.text}")
        expect.need(not keys or b"gsan: wait 1 of 1: " in terminal.text, f"{terminal.text}")


def in_vain(scratch):
    """--timeout: rank 0 failed, rank 1 waits for it."""
    program = ["sh", "-c", f'[ "$RANK" = 1 ] && exec {WAITS} acquire; sleep 2; exit 3']
    for seconds in (3, 12, LONGEST):
        job = jobs.launched(scratch, program, options=["--timeout", str(seconds)], environment={**runs.marked(scratch), "EMU_JOIN_SECONDS": "1"}).ends(3).says("waited in vain for rank 1")
        if "waits" in job.summary(2):
            break
    found = job.summary(2)["waits"]
    expect.need([wait["read"]["rank"] for wait in found] == [1], f"{found}")
    job.says("gsan: wait 1 of 1: rank 1")


def each_other(scratch):
    """Two ranks, and each one's report has what it waits for itself."""
    ended_when(scratch, ["acquire", "lock"], lambda: len(waits(scratch, 2)) == 4, interrupt, ranks=2)
    found = waits(scratch, 2)
    expect.need(sorted((w["read"]["rank"], w["read"]["gpu"], w["read"]["kernel"]) for w in found) ==
                [(0, 0, "acquire"), (0, 0, "lock"), (1, 1, "acquire"), (1, 1, "lock")], f"{found}")
    for rank in (0, 1):
        with open(os.path.join(scratch, "report", f"rank-{rank}.json")) as file:
            own = json.load(file)["waits"]
        expect.need(own == [wait for wait in found if wait["read"]["rank"] == rank], f"rank {rank}: {own}")


def many_places(scratch):
    """70 of them: 64 are listed, the others counted."""
    def enough():
        summary = expect.read(os.path.join(scratch, "report"), 1)
        return len(summary.get("waits", [])) + summary.get("waits_unlisted", 0) == 70
    said = ended_when(scratch, ["many"], enough, interrupt, seconds=64)
    summary = expect.read(os.path.join(scratch, "report"), 1)
    expect.need(len(summary["waits"]) == 64 and summary["waits_unlisted"] == 6, f"{len(summary['waits'])}, {summary.get('waits_unlisted')}")
    expect.need(len({tuple(wait["read"]["cta"]) for wait in summary["waits"]}) == 64, "not each at a place of its own")
    expect.need("gsan: wait 64 of 70: " in said and "gsan: 6 more waits are not listed" in said, said)


def quiet(scratch):
    """The twins: who waited long, and then ended, alone or before the job was ended from outside; who does not wait; who fails otherwise."""
    job = jobs.launched(scratch, [WAITS, "long", "none"], ranks=2).ends(0)
    expect.need("waits" not in job.summary(2) and "again and again" not in job.err, str(job))
    job = jobs.launched(scratch, ["sh", "-c", f"{WAITS} long; exit 5"], ranks=1).ends(5)
    expect.need("waits" not in job.summary(1), str(job))
    process = signals.start(scratch, signals.command(scratch, [WAITS, "long", "-"]))
    signals.until(lambda: os.path.exists(os.path.join(scratch, "ended")), "the kernel's end", LONGEST)
    before = runs.files(scratch)
    process.send_signal(signal.SIGTERM)
    said = signals.ended(scratch, process, before, 143)
    expect.need(not waits(scratch) and "killed by signal 15" in said and "again and again" not in said, said)
    process = signals.start(scratch, signals.command(scratch, [WAITS, "plain"]))
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    signals.ended(scratch, process, before)
    expect.need(not waits(scratch), "a kernel of relaxed operations alone says nothing, the manual says")


def read_again(scratch):
    """gsan-report prints of it what gsan-launch did, in each format; and adds two reports up."""
    said = ended_when(scratch, ["acquire"], lambda: waits(scratch), interrupt)
    folder = os.path.join(scratch, "report")

    def report(*arguments):
        return subprocess.run([jobs.REPORT, *arguments], capture_output=True, text=True, timeout=60, check=True).stdout
    expect.need(said.split("\n\n")[0] in report(folder), f"{said}\n{report(folder)}")
    for name, text in (("html", "<h2>Who waits</h2>"), ("sarif", "kernel acquire, launch 3, waits"), ("junit", "kernel acquire, launch 3, waits"),
                       ("prometheus", "\ngsan_waits 1\n")):
        expect.need(text in report("--format", name, folder), f"{name}: {report('--format', name, folder)}")
    copy = os.path.join(scratch, "copy")
    os.mkdir(copy)
    with open(os.path.join(folder, "summary.json")) as file:
        summary = json.load(file)
    with open(os.path.join(copy, "summary.json"), "w") as file:
        json.dump(summary, file)
    expect.need("gsan: wait 2 of 2: " in report(folder, copy), report(folder, copy))


if __name__ == "__main__":
    jobs.main({case.__name__: runs.tidy(case) for case in (
        all_kinds, several_flags, by_whom, on_a_terminal, in_vain, each_other, many_places, quiet, read_again)})
