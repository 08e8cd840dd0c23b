"""The main job: every racy form of every example is found with both lines and both ranks, every correct one is clean,
by each launcher, from C and from Python, with each Triton."""
import os
import re

import expect
import jobs

MESSAGE = os.path.join(jobs.EXAMPLES, "message_passing.py")
MESSAGE_SITES = ("payload-store", "payload-load")
BROKEN = {"relaxed": ["--order", "relaxed"], "gpu": ["--scope", "gpu"], "before": ["--flag", "before"]}
MISSING = {("--order", "relaxed"): ["makes it a release at scope .sys; release is missing", "is relaxed, and no fence between"],
           ("--scope", "gpu"): ["not include", "narrow-scope"],
           ("--flag", "before"): ["releases only what came before it, and the store comes after it"]}
NARROW = (r"the scope \.gpu of the (release|flag store|flag atomic) at .* does not include GPU 1 of rank 1, "
          r"nor does the scope \.gpu of the (acquire|flag read) at .* include GPU 0 of rank 0$")
PAYLOAD = {("--scope", "gpu"): NARROW}  # what its own sentence says, if it is no root
ROOT = {("--scope", "gpu"): rf"scopes \.gpu and \.gpu do not include both GPU 0 and GPU 1$|{NARROW}"}  # by what the flag's pair has seen
LAUNCHERS = {"launch": jobs.launched, "mpirun": jobs.mpirun}


def message(launcher, form, correct, program, *options):
    """One job of message passing; `form` makes the command from options."""
    def case(scratch):
        job = launcher(scratch, form(program, *options)).ends(0 if correct else jobs.FOUND)
        summary = job.summary(ranks=2)
        if correct:
            expect.clean(summary)
            job.says("0 findings")
        else:
            expect.race(summary, MESSAGE, MESSAGE_SITES, (0, 1))
            lines = expect.site_lines(MESSAGE)
            job.says(*(f"{os.path.basename(MESSAGE)}:{lines[site]}" for site in MESSAGE_SITES), *MISSING[options[-2:]])
            expect.need(len(summary["findings"]) == 1, f"more than one finding: {expect.describe(summary)}")
            expect.need(re.search(ROOT.get(options[-2:], ""), summary["findings"][0]["missing_edge"]), expect.describe(summary))
            payload = [pair for pair in expect.pairs(summary) if pair["first"]["line"] == lines["payload-store"]]
            expect.need(all(re.search(PAYLOAD.get(options[-2:], ""), pair["missing_edge"]) for pair in payload), f"{payload}")
    return case


def single(form, program, pair, *options):
    """One job of a one-GPU example; pair: the sites between which it races, or None if it is correct."""
    def case(scratch):
        job = jobs.launched(scratch, form(program, *options), ranks=1).ends(jobs.FOUND if pair else 0)
        summary = job.summary(ranks=1)
        if not pair:
            expect.clean(summary)
            return
        expect.race(summary, os.path.join(jobs.EXAMPLES, program + ".py"), pair, (0, 0))
    return case


def renamed(launcher):
    """Another file name, seven lines on top, another kernel name: file, lines and kernel move along."""
    def case(scratch):
        with open(MESSAGE) as file:
            text = file.read()
        moved = os.path.join(scratch, "another_name.py")
        with open(moved, "w") as file:
            file.write("# a line more\n" * 7 + re.sub(r"\bsend\b", "post", text))
        environment = {**jobs.Job.environment(scratch), "PYTHONPATH": jobs.EXAMPLES}
        job = launcher(scratch, [jobs.python(), moved, "--order", "relaxed"], environment=environment).ends(jobs.FOUND)
        before, after = expect.site_lines(MESSAGE), expect.site_lines(moved)
        expect.need(all(after[name] == line + 7 for name, line in before.items()), "the copy is not seven lines longer")
        expect.race(job.summary(ranks=2), moved, MESSAGE_SITES, (0, 1), kernels=("post", "receive"))
    return case


def repeated(scratch):
    """Twenty messages through fresh buffers in one process."""
    for correct, options in ((False, BROKEN["relaxed"]), (True, [])):
        job = jobs.launched(scratch, jobs.c_form("message_passing", "--iterations", "20", *options))
        job.ends(0 if correct else jobs.FOUND)
        (expect.clean(job.summary(ranks=2)) if correct
         else expect.race(job.summary(ranks=2), MESSAGE, MESSAGE_SITES, (0, 1)))
        expect.need("20 messages" in job.out, str(job))


def exit_code(scratch):
    """--exit-code replaces 66; a failing program keeps its own status."""
    racy = jobs.c_form("message_passing", *BROKEN["relaxed"])
    jobs.launched(scratch, racy, options=["--exit-code", "9"]).ends(9)
    jobs.launched(scratch, ["sh", "-c", f"{' '.join(racy)}; exit 3"]).ends(3)


def left_out(scratch):
    """Kernels that are not to be checked: counted apart, named, and no reason for 67, unless nothing is checked at all."""
    racy = jobs.c_form("message_passing", *BROKEN["relaxed"])
    for number, (options, left, status) in enumerate((
            (["--exclude", "nobody,receiv"], [], jobs.FOUND), (["--include", "send,receive"], [], jobs.FOUND),
            (["--exclude", "rec*"], ["receive"], 0), (["--include", "s*"], ["receive"], 0), (["--include", "*", "--exclude", "x,receive"], ["receive"], 0),
            (["--exclude", "*"], ["receive", "send"], 67), (["--include", "nobody"], ["receive", "send"], 67))):
        folder = os.path.join(scratch, str(number))
        os.mkdir(folder)
        job = jobs.launched(folder, racy, options=["--require-checked", *options]).ends(status)
        summary = job.summary(ranks=2)
        coverage = summary["coverage"]
        names = [note["name"] for note in coverage["notes"] if note["key"] == "left-out"]
        expect.need(names == left and not coverage["kernels_unchecked"] and not coverage["launches_unchecked"], f"{options}: {coverage}")
        expect.need(bool(coverage["launches_left_out"]) == bool(left) and len(summary["findings"]) == (status == jobs.FOUND), f"{options}: {coverage}")
        if left:
            job.says("left out by --include or --exclude")
    job = jobs.launched(scratch, racy, environment={**jobs.Job.environment(scratch), "GSAN_EXCLUDE": "send"}).ends(0)
    expect.need(job.summary(ranks=2)["coverage"]["launches_left_out"] == 1, str(job))


def build():
    cases = {"renamed": renamed(jobs.launched), "renamed_mpirun": renamed(jobs.mpirun), "repeated": repeated,
             "exit_code": exit_code, "left_out": left_out}
    for name, launcher in LAUNCHERS.items():
        for via in ("atomic", "asm"):
            cases[f"c_{name}_correct_{via}"] = message(launcher, jobs.c_form, True, "message_passing", "--via", via)
            for broken, options in BROKEN.items():
                cases[f"c_{name}_{broken}_{via}"] = message(launcher, jobs.c_form, False, "message_passing", "--via", via,
                                                            *options)
        cases[f"python_{name}_correct"] = message(launcher, jobs.python_form, True, "message_passing")
        cases[f"python_{name}_relaxed"] = message(launcher, jobs.python_form, False, "message_passing", *BROKEN["relaxed"])

    def newest(program, *options):
        return jobs.python_form(program, *options, version="3.9")
    for via in ("atomic", "poll"):
        cases[f"triton39_correct_{via}"] = message(jobs.launched, newest, True, "message_passing", "--via", via)
        cases[f"triton39_relaxed_{via}"] = message(jobs.launched, newest, False, "message_passing", "--via", via,
                                                   *BROKEN["relaxed"])
    lock, element = ("counter-load", "counter-store"), ("element-store", "element-store")
    for name, form in (("c", jobs.c_form), ("python", jobs.python_form)):
        cases[f"{name}_lock_correct"] = single(form, "counter_lock", None)
        cases[f"{name}_lock_relaxed"] = single(form, "counter_lock", lock, "--order", "relaxed")
        cases[f"{name}_neighbours_correct"] = single(form, "neighbours", None)
        cases[f"{name}_neighbours_overlapping"] = single(form, "neighbours", element, "--layout", "overlapping")
    return cases


if __name__ == "__main__":
    jobs.main(build())
