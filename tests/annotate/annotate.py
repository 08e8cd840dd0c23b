"""Labels, ignored launches and words of hosts, from C and from Python: what the report says of them; and that they do nothing without the tool."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

INCLUDE = os.path.join(jobs.SOURCE, "include")
IGNORED = "the program asked not to check it (gsan_ignore)"
UNCHECKED = 67


def program(language, case):
    return [os.path.join(jobs.BIN, "annotate")] if language == "c" else [jobs.python(), os.path.join(HERE, "program.py")], case


def environment(scratch):
    return {**jobs.Job.environment(scratch), "PYTHONPATH": jobs.EXAMPLES, "EMU_JOIN_SECONDS": "1"}  # some ranks use CUDA late


def launched(scratch, language, case, ranks=1, options=()):
    command, case = program(language, case)
    return jobs.launched(scratch, [*command, case], ranks, options, environment=environment(scratch))


def memory(job, ranks=1):
    """The racing memory of each pair: (label, size, offset)."""
    found = expect.pairs(job.ends(jobs.FOUND).summary(ranks))
    return {(f["allocation"]["label"], f["allocation"]["size"], f["allocation"]["offset"]) for f in found}


def labelled(language, case, ranks=1, **expected):
    """label = (size, offset)"""
    def run(scratch):
        got = memory(launched(scratch, language, case, ranks), ranks)
        wanted = {(name, *place) for name, place in expected.items()}
        expect.need(got == wanted, f"labels {got}, not {wanted}")
    return run


def of_peers(scratch):
    got = memory(launched(scratch, "python", "view", 2), 2)
    expect.need({name for name, _, _ in got} == {"of rank 0", "of rank 1"}, f"labels {got}")


def unlabelled(case):
    def run(scratch):
        got = memory(launched(scratch, "c", case))
        expect.need(got == {("cuMemAlloc(4096)", 4096, 0)}, f"labels {got}")
    return run


def hostile(scratch):
    job = launched(scratch, "c", "hostile")
    name = memory(job).pop()[0]
    expect.need(name == 'a\\x0a\\x1b[31m\\xff"<b>', f"label {name!r}")
    expect.need("\x1b" not in job.err and f"allocated by rank 0 ({name})" in job.err, job.err)
    page = subprocess.run([jobs.REPORT, "--format", "html", job.report], capture_output=True, text=True, timeout=60).stdout
    expect.need("\x1b" not in page and "&quot;&lt;b&gt;" in page, "the page has it as it is")


def many(scratch):
    job = launched(scratch, "c", "many")
    expect.need(memory(job) == {("name 65535", 4096, 0)}, f"{memory(job)}")
    notes = [note for note in job.summary()["coverage"]["notes"] if note["key"] == "label"]
    expect.need(len(notes) == 1 and "too many" in notes[0]["reason"], json.dumps(notes))


def ignored(language, case, status):
    def run(scratch):
        summary = launched(scratch, language, case).ends(status).summary(ranks=1)
        coverage = summary["coverage"]
        reasons = {kernel["reason"] for kernel in coverage["kernels_unchecked"] if kernel["kernel"] == "both"}
        expect.need(reasons == {IGNORED} and coverage["launches_unchecked"] == 1, json.dumps(coverage["kernels_unchecked"]))
        expect.need(bool(summary["findings"]) == (status == jobs.FOUND), expect.describe(summary))
    return run


def words(case, status, ranks=2, order="modelled", widened=False, language="python"):
    """Two stores by two ranks, whose hosts tell each other."""
    def run(scratch):
        summary = launched(scratch, language, case, ranks, ["--host-order", order]).ends(status).summary(ranks)
        expect.checked(summary)
        sides = {(f["first"]["rank"], f["second"]["rank"]) for f in summary["findings"]}
        expect.need(sides == ({(0, ranks - 1)} if status else set()), expect.describe(summary))
        expect.need(bool(summary["coverage"]["counters"]["launch_orders_widened"]) == widened, json.dumps(summary["coverage"]["counters"]))
    return run


def ignored_nothing(language, case):
    def run(scratch):
        summary = launched(scratch, language, case).ends(jobs.FOUND).summary(ranks=1)
        expect.need(not summary["coverage"]["launches_unchecked"], "a launch is ignored")
    return run


def alone(scratch):
    for language in ("c", "python"):
        command, case = program(language, "alone")
        jobs.plain(scratch, [*command, case], {"PYTHONPATH": jobs.EXAMPLES}).ends(0)


def header(scratch):
    """The header alone, in both languages, without a warning."""
    for language, standard in (("c", "c99"), ("c++", "c++11")):
        use = '#include <gsan/annotate.h>\nint main() { gsan_ignore_begin(); gsan_ignore_end(); return gsan_label(0, 1, "x") != -ENOSYS || gsan_release("x") != gsan_acquire("x"); }\n'
        done = subprocess.run(["clang-14", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                               "-fsyntax-only", f"-I{INCLUDE}", "-"], input=use.replace("main()", "main(void)"), text=True,
                              capture_output=True, timeout=60)
        expect.need(done.returncode == 0, done.stderr)


CASES = {"c_whole": labelled("c", "whole", counters=(4096, 16)), "c_part": labelled("c", "part", second=(1024, 16)),
         "c_variable": labelled("c", "variable", **{"the third and fourth": (8, 0)}),
         "c_again": labelled("c", "again", after=(4096, 0)), "c_later": labelled("c", "later", now=(4096, 0)),
         "c_given_back": labelled("c", "given_back", **{"while it was there": (4096, 4)}), "c_half": labelled("c", "half", count=(4, 0)), "c_freed": unlabelled("freed"), "c_refused": unlabelled("refused"),
         "c_at_exit": unlabelled("at_exit"), "c_forked": unlabelled("forked"), "c_early": labelled("c", "early", counters=(4096, 16)),
         "c_ignored": ignored("c", "ignored", UNCHECKED), "c_behind": ignored("c", "behind", jobs.FOUND),
         "python_label": labelled("python", "label", counters=(4096, 0)), "python_arrays": labelled("python", "arrays", counters=(4096, 0)), "python_ignored": ignored("python", "ignored", UNCHECKED),
         "python_behind": ignored("python", "behind", jobs.FOUND),
         "told": words("told", 0), "told_on": words("told", 0, 3), "untold": words("untold", jobs.FOUND), "untold_assumed": words("untold", 0, order="assumed"),
         "told_early": words("early", jobs.FOUND), "told_otherwise": words("other_word", jobs.FOUND),
         "told_before_cuda": words("late", 0, language="c"), "untold_before_cuda": words("late_untold", jobs.FOUND, language="c"),
         "told_otherwise_on": words("other_word", jobs.FOUND, 3), "told_many": words("many_words", 0, widened=True),
         "c_words": unlabelled("words"), "python_words": ignored_nothing("python", "refused_words"), "other_thread": ignored_nothing("c", "other_thread"),
         **{case.__name__: case for case in (of_peers, hostile, many, alone, header)}}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)
