"""What gsan-report prints of recorded runs (report/RUN/summary.json), each format against the file beside it.

usage: report.py GSAN_REPORT outputs NAME   one row of OUTPUTS
       report.py GSAN_REPORT write          writes what `outputs` compares with
       report.py GSAN_REPORT terminal       colour and width on terminals and elsewhere
       report.py GSAN_REPORT command        what is read, chosen and compared, where it goes, and the status
       report.py GSAN_REPORT damaged        input that is no report
       report.py GSAN_REPORT suppressed     what --suggest prints suppresses what it was printed of, and nothing else
       report.py GSAN_REPORT formats        what others can read of each format says what the JSON says
"""
import collections
import contextlib
import fcntl
import html.parser
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import urllib.parse
import xml.etree.ElementTree

with contextlib.suppress(ImportError):  # `formats` alone needs it, and is run by .venv/dashboard's Python
    import valid

HERE = pathlib.Path(__file__).resolve().parent / "report"
GSAN_REPORT = os.path.abspath(sys.argv[1])
RUNS = sorted(path.parent.name for path in HERE.glob("*/summary.json"))
OUTPUTS = {  # name: file, options
    "text": ("report.txt", []),
    "verbose": ("verbose.txt", ["--verbose", "--color", "always"]),
    "ndjson": ("report.ndjson", ["--format", "ndjson"]),
    "sarif": ("report.sarif", ["--format", "sarif"]),
    "junit": ("report.xml", ["--format", "junit"]),
    "prometheus": ("report.prom", ["--format", "prometheus"]),
    "html": ("report.html", ["--format", "html"]),
}
SCHEMA = json.loads((HERE.parents[2] / "configs/report.schema.json").read_text())
COUNTERS = {name: counter["description"] for name, counter in SCHEMA["$defs"]["counters"]["properties"].items()}
CLEAN = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS") and not name.startswith("GSAN_")}


def report(*arguments, status=0, **more):
    done = subprocess.run([GSAN_REPORT, *arguments], cwd=HERE, capture_output=True, env=CLEAN, **more)
    assert done.returncode == status, f"{arguments}: status {done.returncode}: {done.stderr.decode()}"
    return done.stdout


def check_outputs(name):
    file, options = OUTPUTS[name]
    wrong = [run for run in RUNS if report(run, *options) != (HERE / run / file).read_bytes()]
    assert len(RUNS) >= 10 and not wrong, f"{name} of {wrong} is another: {report(wrong[0], *options).decode(errors='replace')}"


def write():
    for run in RUNS:
        for file, options in OUTPUTS.values():
            (HERE / run / file).write_bytes(report(run, *options))


def terminal(columns, *arguments, **environment):
    """What is printed on a terminal of so many columns. A mark goes behind it: of a terminal that its last writer closes Linux may drop what nobody has read."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([GSAN_REPORT, *arguments], cwd=HERE, stdout=slave, env={**CLEAN, "TERM": "xterm", **environment})
    ending = threading.Thread(target=lambda: (process.wait(), os.write(slave, b"\0")))
    ending.start()
    printed = b""
    while not printed.endswith(b"\0"):
        printed += os.read(master, 65536)
    ending.join()
    os.close(master)
    os.close(slave)
    assert process.returncode == 0
    return printed[:-1].decode().replace("\r\n", "\n")


def check_terminal():
    colour = "\033["
    plain = re.compile(r"\033\[[0-9;]*m")
    assert colour in terminal(100, "message") and plain.sub("", terminal(100, "message")) == report("message").decode()
    assert colour not in terminal(100, "message", NO_COLOR="1") and colour in terminal(100, "message", NO_COLOR="")
    assert colour not in terminal(100, "message", TERM="dumb") and colour not in terminal(100, "message", "--color", "never")
    assert colour not in report("message").decode() and colour in report("message", "--color", "always").decode()
    assert colour in terminal(100, "message", "--color", "always", NO_COLOR="1")
    places = set(re.findall(r"[\w.]+:\d+", report("message").decode()))
    assert len(places) >= 4, places
    for columns in (1, 40, 60, 133, 1000):
        text = plain.sub("", terminal(columns, "message"))
        assert set(re.findall(r"[\w.]+:\d+", text)) == places, f"{columns}: {text}"
        long = [line for line in text.splitlines() if len(line) > max(columns, 40) and line.count(" ") > 12]
        assert not [line for line in long if line.startswith("  why")], f"{columns}: {long}"
    for said, width in (("60", 60), ("7", 40), ("", 100), ("0", 100), ("60x", 100), ("-60", 100), ("99999999999999999999", 100)):
        done = subprocess.run([GSAN_REPORT, "message"], cwd=HERE, env={**CLEAN, "COLUMNS": said}, capture_output=True, text=True, check=True)
        assert done.stdout == plain.sub("", terminal(width, "message")), f"COLUMNS={said}: {done.stdout}"
    hostile = terminal(80, "hostile", "--verbose")
    assert not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u2028\u202e]", hostile) and colour not in plain.sub("", hostile)
    assert hostile.count("my ring/<a> b.cu:4") == 3, hostile  # a name with spaces stays whole


def said(*arguments, status, **more):
    """stderr of a call that prints nothing."""
    done = subprocess.run([GSAN_REPORT, *arguments], cwd=more.get("cwd", HERE), capture_output=True, env=CLEAN)
    assert done.returncode == status and not done.stdout, f"{arguments}: status {done.returncode}, {done.stdout} {done.stderr}"
    return done.stderr.decode()


def whole_of(*arguments):
    return json.loads(report(*arguments, "--format", "json"))["findings"]


def check_command():
    both = json.loads(report("message", "--format", "json", "lock"))  # options stand anywhere
    alone = [json.loads(report("--format=json", run)) for run in ("message", "lock")]
    assert both["merged"] == 2 and both["job"] == alone[0]["job"] and len(both["ranks"]) == 2
    assert sorted(f["fingerprint"] for f in both["findings"]) == sorted(f["fingerprint"] for one in alone for f in one["findings"])
    twice = json.loads(report("lock", "lock/summary.json", "--format", "json"))
    assert [f["count"] for f in twice["findings"]] == [2 * f["count"] for f in alone[1]["findings"]]
    drawn = [b"<svg" in report(*runs, "--format", "html") for runs in (("scope",), ("scope", "lock"), ("lock",))]
    assert drawn == [True, False, False] and "timeline" not in json.loads(report("scope", "lock", "--format", "json"))["job"]
    assert report("--", "lock") == report("lock") and b"of 2 reports" in report("lock", "message")

    blind = b'name="checked" time="0"><skipped message="nothing was checked'
    assert b'name="checked"' not in report("lock", "message", "--format", "junit") and blind in report("nothing", "--format", "junit")
    for runs in (("nothing", "lock"), ("lock", "nothing")):
        assert blind + b" in 1 of the runs" in report(*runs, "--format", "junit") and b"in 1 of the runs nothing" in report(*runs)
        assert b"In 1 of the runs nothing" in report(*runs, "--format", "html")

    unstarted = json.loads((HERE / "nothing/summary.json").read_bytes())
    unstarted["ranks"] = [{**rank, "gpu": None, "gpus": []} for rank in unstarted["ranks"]]
    unstarted["coverage"].update(launches_checked=0, launches_unchecked=0)
    unstarted["coverage"]["counters"]["checked"] = 0
    for argv, device, says in (["python3", "t.py"], "emu", True), (["a/python", "-m", "gsan.emu", "t.py"], "emu", False), (["python3", "t.py"], "cuda", False), (["./t"], "emu", False):
        unstarted["job"].update(argv=argv, device=device)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(unstarted, file)
            file.flush()
            text = report(file.name)
            assert b"no rank started CUDA under gsan\n" in text and (b"python -m gsan.emu PROGRAM" in text) == says, text

    assert report("lock", "--kind", "read-*").count(b"gsan: finding") == 1 and b"(1 more, not selected)" in report("lock", "--kind", "read-*")
    assert report("message", "--kernel", "rec*", "--file", "*.py") .count(b"gsan: finding") == 1
    assert b"0 findings (1 more" in report("message", "--kernel", "add_one") and b"0 findings" in report("message", "--file", "x.py")
    assert "an empty name" in said("", status=2) and "an empty name" in said("lock", "", status=2) and "an empty name" in said("lock", "-o", "", status=2)
    assert "'magic' matches no kind" in said("lock", "--kind", "magic", status=2)
    for option, whose in (("0", {0}), ("1", {1}), ("0,1", {0, 1}), ("1,0", {0, 1}), ("*", set()), ("7", {7}), ("0,*", {0})):
        wanted = [f["fingerprint"] for f in whole_of("kinds") if whose <= {f["first"]["rank"], f["second"]["rank"]}]
        assert [f["fingerprint"] for f in whole_of("kinds", "--rank", option)] == wanted, option
    for wrong in ("", "x", "-1", "0-1", ",", "0,", "0,0,0", "**", "0*"):
        assert f"--rank: '{wrong}' is neither a rank nor two of them" in said("lock", "--rank", wrong, status=2)
    labels = {(f["allocation"] or {"label": None})["label"] for f in whole_of("kinds")}
    assert len(labels) > 1 and not whole_of("kinds", "--label", "no such"), labels
    for label in labels - {None}:
        got = whole_of("kinds", "--label", label[:-1] + "?")
        assert got and all(f["allocation"]["label"] == label for f in got), (label, got)

    assert b"gsan: old finding 1 of 2" in report("lock", "--baseline", "explored") and b"0 of them new" in report("lock", "--baseline", "explored")
    assert b"gsan: new finding 1 of 2" in report("lock", "--baseline", "message/summary.json", status=66)
    assert b"2 findings, 2 of them new" in report("lock", "--baseline", "message/summary.json", status=66)  # all of them, too: scripts read it
    for baseline, fail, status in ((None, None, 0), (None, "new", 66), (None, "any", 66), ("lock", None, 0), ("lock", "any", 66),
                                   ("clean", None, 66), ("clean", "never", 0)):
        report("lock", *(["--baseline", baseline] if baseline else []), *(["--fail-on", fail] if fail else []), status=status)
    report("clean", "--fail-on", "any")
    report("lock", "--fail-on", "any", "--file", "x.py")  # none that is selected
    report("kinds", "--fail-on", "any", "--file", "a_ring.py")  # only a formal one is

    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.txt")
        for option in ("-o", "--output"):
            assert report("lock", option, out) == b"" and pathlib.Path(out).read_bytes() == report("lock")
        assert os.listdir(scratch) == ["out.txt"], os.listdir(scratch)
        assert colourless(report("lock", "--color", "always")) == pathlib.Path(out).read_bytes()
        assert "cannot be written" in said("lock", "-o", os.path.join(scratch, "no/out.txt"), status=1)
        assert "cannot be written" in said("lock", "-o", scratch, status=1)
        assert "No space left" in said("lock", "-o", "/dev/full", status=1) and os.path.exists("/dev/full")
        assert "summary.json: No such file" in said(scratch, status=1)
        hostile = os.path.join(scratch, "a\n\033[31m\u202e")
        assert "a\\x0a\\x1b[31m\\u202e/summary.json: No such file" in said(hostile, status=1)
        shutil.copytree(HERE / "lock", hostile)
        assert "gsan: the report is in " + scratch + "/a\\x0a\\x1b[31m\\u202e\n" in report(hostile).decode()
        assert "gsan-report/summary.json: No such file" in said(status=1, cwd=scratch)  # where gsan-launch writes
        shutil.copytree(HERE / "lock", os.path.join(scratch, "gsan-report"))
        default = subprocess.run([GSAN_REPORT], cwd=scratch, capture_output=True, env=CLEAN)
        assert default.returncode == 0 and b"gsan: the report is in gsan-report" in default.stdout
    with open("/dev/full", "w") as full:
        for what in ("lock", "--print-config", "--help", "--version"):
            assert subprocess.run([GSAN_REPORT, what], cwd=HERE, stdout=full, stderr=subprocess.PIPE).returncode == 1, what


def colourless(text):
    return re.sub(rb"\033\[[0-9;]*m", b"", text)


def check_damaged():
    """Cut off anywhere, or with a value of another type: status 1, a sentence, and nothing is printed."""
    whole = (HERE / "message/summary.json").read_bytes()
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "summary.json")
        for end in [*range(0, len(whole) - 2, 97), len(whole) - 3]:
            pathlib.Path(path).write_bytes(whole[:end])
            assert "is not JSON" in said(path, status=1)
        whole = whole.replace(b"\n", b"").replace(b"\t", b"")
        for wrong in (b"}],", b",}],", b"}}],", b"} {}],", b"},],", b"}, 3],", b"};],", b"\"],"):
            pathlib.Path(path).write_bytes(whole.replace(b"}],\"formal_findings\"", wrong[:-2] + b"],\"formal_findings\"", 1))
            if wrong == b"}],":
                assert report(path) == re.sub(rb"(in|--suggest) message", rb"\1 " + path.encode(), report("message"))
            else:
                assert "JSON" in said(path, status=1) or "missing" in said(path, status=1), wrong
        for key in (b'"ranks"', b'"findings"', b'"kind"', b'"line"', b'"argv"', b'"start"', b'"fingerprint"'):
            pathlib.Path(path).write_bytes(whole.replace(key + b": ", key + b': {"no": 1}, "was": ', 1))
            assert key.decode() in said(path, status=1) and "summary.json: " in said(scratch, status=1), key
        for key in (b"line", b"bytes", b"launch", b"count"):
            for number in (b"-1", b"1.5", b"1e99", b"4294967296"):
                pathlib.Path(path).write_bytes(re.sub(rb'"%s": \d+' % key, b'"%s": %s' % (key, number), whole))
                assert key == b"count" and number == b"4294967296" or f'"{key.decode()}" is ' in said(path, status=1), (key, number)
        pathlib.Path(path).write_bytes(whole.replace(b'"grid": [', b'"grid": [4294967296, '))
        assert '"grid" is not a list of three numbers' in said(path, status=1)

        inlined = (HERE / "inlined/summary.json").read_bytes()
        for chain in (b"nowhere", b":", b",", b"", b"user.cu,user.cu:20", b"a:1,b", b"a:1,,b:2"):  # whatever it says, it is printed
            pathlib.Path(path).write_bytes(inlined.replace(b"user.cu:11,user.cu:20", chain))
            for format in ("text", "json", "ndjson", "sarif", "junit", "prometheus", "html"):
                assert report(path, "--format", format, "--verbose") and report(path, "--suggest"), chain
        whole = (HERE / "waits/summary.json").read_bytes().replace(b"\n", b"").replace(b"\t", b"")
        for key in (b'"waits"', b'"address"', b'"value"', b'"times"', b'"waits_unlisted"'):
            pathlib.Path(path).write_bytes(whole.replace(key + b":", key + b': {"no": 1}, "was":', 1))
            assert key.decode() in said(path, status=1), key
        for key, wrong in ((b'"waits_unlisted":', b'4294967296'), (b'"address":', b'"0x"'), (b'"address":', b'"0xfg"'), (b'"value":', b'"12"'),
                           (b'"base":', b'"here"')):
            pathlib.Path(path).write_bytes(whole.replace(key, key + wrong + b', "was":', 1))
            assert f'{key[:-1].decode()} is ' in said(path, status=1), (key, wrong)
        many = json.loads(whole)
        many["waits"] *= 13
        pathlib.Path(path).write_text(json.dumps(many))
        assert '"waits" are too many' in said(path, status=1)

        whole = json.loads((HERE / "scope/summary.json").read_bytes())
        lane = whole["job"]["timeline"][0]
        for timeline, wrong in (([lane] * 33, '"timeline" is too long'), ([{**lane, "points": lane["points"] * 22}], '"points" is too long'),
                                ([{"rank": 0}], '"participant" is missing'), ({"no": 1}, '"timeline" is not a list'),
                                ([{**lane, "points": [{"ms": -1, "number": 0}]}], '"ms" is '), ([{**lane, "points": [{"ms": 1}]}], '"number" is missing')):
            whole["job"]["timeline"] = timeline
            pathlib.Path(path).write_text(json.dumps(whole))
            assert wrong in said(path, status=1), (timeline, said(path, status=1))
        assert "summary.json: " in said(HERE / "lock", "--baseline", scratch, status=1)
        assert "nowhere/summary.json: No such file" in said(HERE / "lock", "--baseline", "nowhere", status=1)
        assert "summary.json: " in said(HERE / "lock", scratch, status=1)  # one of several


def pairs_of(whole):
    """All pairs of lines that its findings explain, the root of each first."""
    return [pair for finding in whole["findings"] for pair in finding.get("pairs", [finding])]


def check_suppressed():
    """Of each run, of all and of a part of its findings: exactly those are suppressed that list all of their pairs, and no line is in vain."""
    with tempfile.TemporaryDirectory() as scratch:
        file = os.path.join(scratch, "a.supp")
        for run in RUNS:
            for part in ([], ["--kind", "read-*"], ["--kernel", "t*"], ["--file", "a_*"], ["--baseline", "message"]):
                part = part if "--baseline" not in part or run == "lock" else []
                pathlib.Path(file).write_bytes(report(run, *part, "--suggest", status=66 if "--baseline" in part else 0))
                meant = json.loads(report(run, *(p for p in part), "--format", "json", "--fail-on", "never"))
                wanted = [f["fingerprint"] for f in meant["findings"]]
                whole = json.loads(report(run, "--format", "json", "--suppressions", file))
                assert [f["fingerprint"] for f in whole["findings"] if "suppressed" in f] == wanted, (run, part)
                assert all(s["findings"] for s in whole.get("suppressions", [])), (run, part)
                assert sum(s["findings"] for s in whole.get("suppressions", [])) == len(pairs_of(meant))
                left = len([f for f in whole["findings"] if not f["formal"] and "suppressed" not in f])
                report(run, "--suppressions", file, "--fail-on", "any", status=66 if left else 0)
        says = said("lock", "--suggest", "--format", "json", status=2)
        assert says == "gsan-report: --suggest prints a file of suppressions, which has no other format: leave --format json out\n", says
        assert b"kernel add_one" in report("lock", "--suggest", "--color", "never") and said("lock", "--format", "jso", status=2).startswith("gsan-report: --format")
        assert report("causes", "--suggest").endswith(b"# not listed (--details), and without a line here: 0 findings and 3 further pairs of lines\n")
        assert report("causes", "--suggest", "--details", "1").splitlines()[-1].startswith(b"# not listed (--details), and without a line here: 1 finding and ")
        pathlib.Path(file).write_text("# known\nkernel add_one\nkernel no*\n")
        text = report("lock", "--suppressions", file).decode()
        assert "gsan: suppressed: 2 pairs of lines, by 1 of 2 suppressions" in text and f"gsan: unused suppression: {file}:3: kernel no*" in text
        assert "0 findings (2 pairs of lines suppressed)" in text and "gsan: finding" not in text
        text = report("lock", "--suppressions", file, "--verbose").decode()
        assert "gsan: suppressed finding 2 of 2: " in text and f"  hidden: by the suppression at {file}:2\n" in text and f"gsan: suppressed: 2 by {file}:2: " in text
        assert "0 findings (2 pairs of lines suppressed)" in report("lock", "--suppressions", file, "--kernel", "add_one").decode()
        assert "(2 pairs of lines suppressed) (1 more, not" not in report("lock", "--suppressions", file, "--kind", "read-*").decode()
        pathlib.Path(os.path.join(scratch, "summary.json")).write_bytes(report("lock", "--suppressions", file, "--format", "json"))
        assert report(scratch, "--fail-on", "any").count(b"(2 pairs of lines suppressed)") == 1  # it says so itself
        pathlib.Path(file).write_text("kernel add_one\nkernal no*\n")
        assert f"{file}:2: 'kernal' is no part of a suppression: did you mean 'kernel'?" in said("lock", "--suppressions", file, status=2)
        assert "none.supp: cannot be read: No such file" in said("lock", "--suppressions", "none.supp", status=2)


def formatted(format, *arguments, status=0):
    text = report("--format", format, *arguments, status=status).decode()  # it is UTF-8
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\ufffe]", text), (format, arguments)
    return text


def check_ndjson(text, whole):
    lines = [json.loads(line) for line in text.splitlines()]
    assert text.count("\n") == len(lines)
    assert not [error for line in lines for error in valid.line_errors(line)], text
    for line, finding in zip(lines, whole["findings"], strict=True):
        assert line.pop("schema_version") == 1 and line.pop("tool") == whole["tool"] and line.pop("job", None) == whole.get("job")
        assert line == finding


def check_pairs(whole):
    """The root is what the finding says; counts are sums, but for what is suppressed alone, or not listed."""
    for finding in whole["findings"]:
        pairs = finding.get("pairs", [finding])
        assert all(pairs[0].get(key) == finding.get(key) for key in ("kind", "first", "second", "missing_edge", "missing_edge_class", "edge", "formal"))
        assert ("suppressed" in finding) == all("suppressed" in pair for pair in pairs), finding
        counted = sum(pair["count"] for pair in pairs if ("suppressed" in pair) == ("suppressed" in finding))
        assert finding["count"] - counted == 0 if "pairs_unlisted" not in finding else finding["count"] > counted
        assert "old" not in finding or finding["old"] == all(pair["old"] for pair in pairs if "suppressed" not in pair)


def check_location(location, side, roots):
    physical = location.get("physicalLocation")
    assert bool(physical) == (side["file"] is not None) and location["message"]["text"]
    assert not physical or set(physical) <= {"artifactLocation", "region"}
    uri = physical["artifactLocation"]["uri"] if physical else ""
    assert re.fullmatch(r"(file://)?[A-Za-z0-9/._~%-]*", uri), uri
    assert not physical or physical["artifactLocation"].get("uriBaseId", "JOBDIR") in (roots or ["JOBDIR"])
    assert not physical or not side["inlined_at"] or side["file"] in urllib.parse.unquote(uri) or uri in side["inlined_at"]
    if physical and not side["inlined_at"]:
        region = physical["region"]
        assert urllib.parse.unquote(uri).removeprefix("file://") in side["file"] and region["startLine"] == side["line"] >= 1
        column = side["column"] + (side["column"] > 0 and side["file"].endswith(".py"))  # Triton counts from 0
        if not side["file"].endswith(".py") and re.search(r"__\w+__", (side["source"] or "")[:max(column - 1, 0)]):
            column = 0  # nvcc counts what that becomes
        if 0 < column <= len((side["source"] or "").encode()):  # SARIF counts UTF-16 code units
            before = side["source"].encode()[:column - 1]
            column = 1 + sum(1 + (byte >= 0xf0) for byte in before if byte & 0xc0 != 0x80)
        assert region.get("startColumn", 0) == column and region.get("snippet", {}).get("text") == side["source"]


def check_edge(locations, edge):
    """Each operation, and each call that it was inlined at, outwards."""
    wanted = []
    for op in edge:
        calls = [place.rsplit(":", 1) for place in (op["inlined_at"] or "").split(",") if place]
        texts = op.get("inlined_source", [None] * len(calls))
        own = next((at for at, (file, _) in enumerate(calls, 1) if file == calls[-1][0] != op["file"]), 0)
        wanted.append((int(calls[own - 1][1]) if own else op["line"], op.get("source")))
        wanted += [(int(line), text) for (_, line), text in zip(calls[own:], texts[own:])]
    regions = [one["physicalLocation"]["region"] for one in locations]
    assert [(region["startLine"], region.get("snippet", {}).get("text")) for region in regions] == wanted, (regions, edge)


def why(finding):
    """What is said of why: a guess is said to be one, unless there is no other flag."""
    return ("likely: " if finding.get("guessed") and not finding.get("only_flag") else "") + finding["missing_edge"]


def check_sarif(text, whole):
    """Valid SARIF 2.1.0, and what it says."""
    log = json.loads(text)
    assert not valid.errors(valid.LOG, log), valid.errors(valid.LOG, log)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json") and len(log["runs"]) == 1
    run, = log["runs"]
    assert set(run) <= {"tool", "invocations", "originalUriBaseIds", "results"}
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules) == 6 and run["tool"]["driver"]["name"] == "GSan"
    roots = run.get("originalUriBaseIds", {})
    assert all(root["uri"].startswith("file:///") and root["uri"].endswith("/") for root in roots.values())
    invocation, = run["invocations"]
    assert invocation["executionSuccessful"] == all(r["end"] == "exited" and r["status"] == 0 for r in whole["ranks"])
    assert invocation["exitCode"] == whole["exit"] and invocation.get("arguments") == whole.get("job", {}).get("argv")
    coverage = whole["coverage"]
    said, waits = invocation["toolExecutionNotifications"], whole.get("waits", [])
    assert len(said) == len(coverage["kernels_unchecked"]) + len(coverage["notes"]) + len(waits)
    for kernel in coverage["kernels_unchecked"]:
        assert {"text": f"unchecked: {people_name(kernel)}: {kernel['reason']}"} in [one["message"] for one in said], kernel
    for one, wait in zip(said, waits):  # they come first
        assert f"rank {wait['read']['rank']}: kernel {wait['read']['kernel']}, " in one["message"]["text"], one
    for result, finding in zip(run["results"], whole["findings"], strict=True):
        assert result["ruleId"] == finding["kind"] == rules[result["ruleIndex"]] and result["message"] == {"text": why(finding)}
        assert result["level"] == ("note" if finding["formal"] else "error") and result["occurrenceCount"] == finding["count"]
        assert result["partialFingerprints"] == {"gsan/v1": finding["fingerprint"]}
        assert [s["kind"] for s in result.get("suppressions", [])] == ["external"] * ("suppressed" in finding)
        assert "suppressed" not in finding or finding["suppressed"] in result["suppressions"][0]["justification"]
        assert result.get("baselineState") == {True: "unchanged", False: "new", None: None}[finding.get("old")]
        check_location(*result["locations"], finding["first"], roots)
        check_location(result["relatedLocations"][0], finding["second"], roots)
        pairs = [pair for pair in finding.get("pairs", [finding])[1:] if ("suppressed" in pair) == ("suppressed" in finding)]
        related = [one for one in result["relatedLocations"] if one["message"]["text"].startswith("pair ")]
        assert len(related) == 2 * len(pairs) and all(one["message"]["text"].split(",")[0] == f"pair {number // 2 + 2}" for number, one in enumerate(related))
        for one, side in zip(related, (pair[side] for pair in pairs for side in ("first", "second"))):
            check_location(one, side, roots)
        mended = [one for one in result["relatedLocations"] if re.match("(likely )?missing edge: ", one["message"]["text"])]
        assert {one["message"]["text"].startswith("likely") for one in mended if "inlined here" not in one["message"]["text"]} <= {why(finding) != finding["missing_edge"]}
        check_edge(mended, finding.get("edge", []))
        listed = len(finding.get("pairs", [finding])) + finding.get("pairs_unlisted", 0)
        assert result["properties"].get("pairs", 1) == listed


def people_name(kernel):
    return kernel.get("kernel_name", kernel["kernel"])


def people_kernel(side):
    return "?" if (side["kernel"] or "#").startswith("#") else people_name(side)


def check_junit(text, whole):
    assert not valid.junit_errors(text), valid.junit_errors(text)
    root = xml.etree.ElementTree.fromstring(text.encode())
    suite, = root
    cases = suite.findall("testcase")
    assert root.tag == "testsuites" and all(case.get("name") and case.get("classname") for case in cases)
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(name)) == len(suite.findall(f"testcase/{tag}")), name
    assert int(suite.get("tests")) == len(cases) and "\x1b" not in text
    findings = whole["findings"]
    failed = [f for f in findings if not f["formal"] and not f.get("old") and "suppressed" not in f]
    assert [case.get("message") for case in suite.findall("testcase/failure")] == [why(f) for f in failed]
    known = [(case.get("classname"), case.get("name")) for case in cases[:len(findings)]]
    assert len(set(known)) == len(known) and not any(re.search(r"/|:\d", name) for _, name in known), known
    for (kernel, name), finding in zip(known, findings):
        kernels = sorted(people_kernel(finding[side]) for side in ("first", "second"))
        assert kernel == kernels[0] and name.endswith((f" with {kernels[1]}, " if kernels[0] != kernels[1] else "race, ") + finding["fingerprint"]), name
    unchecked = [case for case in cases if case.get("name") == "not checked"]
    assert [case.get("classname") for case in unchecked] == [people_name(k) for k in whole["coverage"]["kernels_unchecked"]]
    ended = [r["end"] == "exited" and r["status"] == 0 for r in whole["ranks"]]
    ranks = [case for case in cases if re.fullmatch(r"rank \d+", case.get("name"))]
    assert [not len(case) for case in ranks] == ended
    for wait in whole.get("waits", []):
        error = ranks[wait["read"]["rank"]].find("error").get("message")
        assert f"kernel {wait['read']['kernel']}, " in error and f"read {wait['times']} times or more" in error, error


def check_prometheus(text, whole):
    """The exposition format, line by line: each family is described once, before its samples."""
    values, described = {}, {}
    sample = re.compile(r'(gsan_[a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (\d+(?:\.\d+)?)')
    for line in text.splitlines():
        if comment := re.fullmatch(r"# (HELP|TYPE) (gsan_[a-z_]+) (.+)", line):
            assert comment.group(1) == "HELP" or comment.group(3) == "gauge"
            assert comment.groups()[:2] not in described
            described[comment.groups()[:2]] = comment.group(3)
            continue
        match = sample.fullmatch(line)
        assert match and {("HELP", match[1]), ("TYPE", match[1])} <= set(described), line
        assert (match[1], match[2]) not in values, line
        values[match[1], match[2]] = float(match[3])
    assert text.endswith("\n")
    coverage, counters = whole["coverage"], whole["coverage"]["counters"]
    assert all(values["gsan_" + name, None] == value for name, value in counters.items())
    assert counters.keys() == COUNTERS.keys() and all(described["HELP", "gsan_" + name] == COUNTERS[name] + "." for name in counters)
    assert values["gsan_waits", None] == len(whole.get("waits", [])) + whole.get("waits_unlisted", 0)
    assert values["gsan_launches_checked", None] == coverage["launches_checked"]
    assert values["gsan_launches_unchecked", None] == coverage["launches_unchecked"]
    assert values["gsan_kernels_unchecked", None] == len(coverage["kernels_unchecked"])
    assert values["gsan_pairs", None] == sum(f.get("pairs_unlisted", 0) + len([p for p in f.get("pairs", [f]) if "suppressed" not in p])
                                             for f in whole["findings"] if not f["formal"] and "suppressed" not in f)
    for old in (True, False):
        for kind in {f["kind"] for f in whole["findings"]}:
            wanted = sum(f["kind"] == kind and f.get("old", False) == old and not f["formal"] and "suppressed" not in f for f in whole["findings"])
            assert values["gsan_findings", f'{{kind="{kind}",old="{str(old).lower()}"}}'] == wanted


class Page(html.parser.HTMLParser):
    """Tags in their order, balanced, and the text between them."""
    EMPTY = {"meta"}
    DRAWN = {"svg": ("role", "viewbox"), "text": ("x", "y", "text-anchor"), "polyline": ("points",), "a": ("href",), "line": ("x1", "y1", "x2", "y2"),
             "circle": ("cx", "cy", "r")}

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text, self.title, self.ids, self.links = [], collections.Counter(), "", None, set(), set()
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        assert {name for name, _ in attributes} <= {"lang", "charset", "name", "content", "http-equiv", "class", "open", "id", *self.DRAWN.get(tag, ())}, attributes
        self.seen[tag] += 1
        self.ids |= {value for name, value in attributes if name == "id"}
        self.links |= {value for name, value in attributes if name == "href"}
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data


def shown(side):
    """The text of the user's own line: of what stands in a library's header, the innermost in a file of the kernel's."""
    files = [place.rsplit(":", 1)[0] for place in (side["inlined_at"] or "").split(",")]
    own = next((text for file, text in zip(files, side.get("inlined_source", [])) if file == files[-1] != side["file"]), None)
    return own or side["source"] or ""


def check_html(text, whole):
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>") and "default-src 'none'" in text
    assert set(page.seen) <= set("html head meta title style body h1 h2 p pre table tr th td details summary span div b code mark".split()) | set(page.DRAWN)
    lanes = len(whole.get("job", {}).get("timeline", []))
    assert page.seen["polyline"] == lanes and page.links <= {f"#{name}" for name in page.ids} and (len(page.links) > 0) == (lanes > 0)
    assert not re.search(r"https?:|url\(|@import", re.sub(r"&[a-z]+;|&#\d+;", "", text))
    assert page.seen["details"] == len(whole["findings"])
    for finding in whole["findings"]:
        for value in (finding["fingerprint"], why(finding).replace("likely", "Likely"), *(people_name(finding[side]) for side in ("first", "second")),
                      *(shown(finding[side]) for side in ("first", "second"))):
            assert value in page.text, value
        for pair in finding.get("pairs", [])[1:]:
            assert f"{pair['first']['rank']}, {pair['second']['rank']}" in page.text
        unlisted = finding.get("pairs_unlisted", 0)
        assert not unlisted or f"{unlisted} further pair{'s of lines are' if unlisted > 1 else ' of lines is'} not listed" in page.text
    for suppression in whole.get("suppressions", []):
        assert suppression["rule"] in page.text and f'{suppression["file"]}:{suppression["line"]}' in page.text
    for kernel in whole["coverage"]["kernels_unchecked"]:
        assert people_name(kernel) in page.text and kernel["reason"] in page.text
        assert "kernel_name" not in kernel or kernel["kernel"] not in page.text


# A file of suppressions whose name and lines hold what commands terminals, ends lines, means something to formats, or is not UTF-8.
HOSTILE_NAME = b"\033[31m\n<b>&\"'\377.supp"
HOSTILE_LINES = b"""kernel send and kernel take
file "*my ring*"
label "</script>& \\"x\\\\"
kernel \033[31m\377\xe2\x80\xa8
"""


def check_formats():
    with tempfile.NamedTemporaryFile(suffix=HOSTILE_NAME) as file:
        file.write(HOSTILE_LINES)
        file.flush()
        suppressed = json.loads(formatted("json", *RUNS, "--suppressions", file.name))["suppressions"]
        assert len(suppressed) == 4 and suppressed[0]["findings"] > 1 and suppressed[1]["findings"] == 1, suppressed
        assert suppressed[3]["rule"] == "kernel \\x1b[31m\\xff\\u2028" and "\\x1b[31m\\x0a<b>&\"'\\xff.supp" in suppressed[0]["file"]
        formatted("text", *RUNS, "--suppressions", file.name)
        formats_of([[run] for run in RUNS] + [RUNS, ["lock", "--baseline", "explored"], ["causes", "--baseline", "scope", "--fail-on", "never"], [*RUNS, "--suppressions", file.name]])
    check_columns()
    check_refused()


def check_refused():
    """The validators find what is wrong with damaged ones."""
    done, refused = set(), 0
    for run in RUNS:
        whole = json.loads(formatted("json", run))
        for what, broken in valid.damaged(whole, done):
            assert valid.errors(valid.REPORT, broken), f"{run}: still valid, with {what}"
            refused += 1
        for line in map(json.loads, formatted("ndjson", run).splitlines()):
            assert valid.line_errors({**line, "count": 0}) and valid.line_errors({**line, "tool": 1}) and valid.line_errors({**line, "more": 1})
    assert refused > 300, refused
    text = formatted("junit", "lock")
    for old, new in (("<testsuites>", "<testsuites><more/>"), (' name="', ' called="'), ("</testcase>", "<x/></testcase>")):
        assert old in text and valid.junit_errors(text.replace(old, new)), f"JUnit still valid, with {new}"
    log = json.loads(formatted("sarif", "lock"))
    for way, new in ((("version",), "2.0.0"), (("runs", 0, "tool"), {}), (("runs", 0, "results", 0, "level"), "fatal"), (("runs", 0, "more"), 1),
                     (("runs", 0, "results", 0, "locations", 0, "physicalLocation", "region", "startLine"), 0)):
        assert valid.errors(valid.LOG, valid.changed(log, way, new)), f"SARIF still valid, with {new} at {way}"


def check_columns():
    """Each column of a line that has characters of several bytes, and those behind it: a source may be another than what was compiled."""
    whole = json.loads(report("hostile", "--format", "json"))
    first = whole["findings"][0]["first"]
    with tempfile.TemporaryDirectory() as scratch:
        for column in range(len(first["source"].encode()) + 3):
            first["column"] = column
            pathlib.Path(scratch, "summary.json").write_text(json.dumps(whole))
            formats_of([[scratch]])
            formatted("text", scratch)


def formats_of(all_runs):
    for runs in all_runs:
        whole = json.loads(formatted("json", *runs))
        check_pairs(whole)
        for format, check in (("ndjson", check_ndjson), ("sarif", check_sarif), ("junit", check_junit), ("prometheus", check_prometheus),
                              ("html", check_html)):
            check(formatted(format, *runs), whole)
        assert not valid.errors(valid.REPORT, whole), (runs, valid.errors(valid.REPORT, whole))


def main():
    section, *rest = sys.argv[2:]
    {"outputs": check_outputs, "write": write, "terminal": check_terminal, "command": check_command,
     "damaged": check_damaged, "suppressed": check_suppressed, "formats": check_formats}[section](*rest)


main()
