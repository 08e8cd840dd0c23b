"""examples/dashboard: databases take recorded reports and answer its queries alike, Grafana's panels ask for metrics that there are, and
the workflow's own steps run.    usage: dashboard.py CASE; WRITE=1 dashboard.py page writes README.md anew"""
import contextlib
import csv
import glob
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "e2e"), os.path.join(TESTS, "pages")]
import expect  # noqa: E402
import jobs  # noqa: E402
import pages  # noqa: E402

FILES = os.path.join(jobs.EXAMPLES, "dashboard")
RECORDED = sorted(glob.glob(os.path.join(TESTS, "golden", "report", "*", "summary.json")))
VENV = os.path.join(jobs.SOURCE, ".venv", "dashboard", "bin")


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    expect.need(done.returncode == 0 and not done.stderr, f"$ {' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def text(*names):
    return "".join(open(os.path.join(FILES, name)).read() for name in names)


# ---- databases --------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def postgres(scratch):
    """A server of its own, which is refused to root: {variable: value} for who asks it."""
    binaries = glob.glob("/usr/lib/postgresql/*/bin")
    expect.need(binaries, "no PostgreSQL: scripts/setup installs it")
    place = os.path.join(scratch, "postgres")
    os.mkdir(place)
    os.chmod(scratch, 0o755)
    as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
    if as_nobody:
        shutil.chown(place, "nobody", "nogroup")
    control = [*as_nobody, os.path.join(binaries[-1], "pg_ctl"), "-D", f"{place}/data", "-w"]
    run(*as_nobody, os.path.join(binaries[-1], "initdb"), "-D", f"{place}/data", "-U", "gsan", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", cwd=place)
    run(*control, "-l", f"{place}/log", "-o", f"-k {place} -c listen_addresses='' -c fsync=off", "start", cwd=place)
    try:
        yield {"PGHOST": place, "PGUSER": "gsan", "PGDATABASE": "postgres", "PGOPTIONS": "-c client_min_messages=warning"}
    finally:
        run(*control, "-m", "immediate", "stop", cwd=place)


def duckdb_asker(scratch):
    def ask(sql):
        return run(os.path.join(VENV, "duckdb"), "-csv", "-nullvalue", "", "races.db", input=sql, cwd=scratch)
    return "duckdb.sql", ask


def postgres_asker(scratch, server):
    def ask(sql):
        return run("psql", "--no-psqlrc", "--quiet", "--csv", "-v", "ON_ERROR_STOP=1", input=sql, cwd=scratch, env={**os.environ, **server})
    return "postgres.sql", ask


def rows(said):
    return list(csv.reader(io.StringIO(said)))


def loaded(scratch, ask, read):
    """Recorded runs one by one, one of them without findings, and each a second time; then each query's rows."""
    for path in RECORDED:
        run(jobs.REPORT, path, "--format", "ndjson", "--output", os.path.join(scratch, "findings.ndjson"))
        for _ in range(2):
            ask(text("table.sql", read, "load.sql"))
    queries = [query for query in text("queries.sql").split(";\n") if query.strip()]
    expect.need(len(queries) >= 5, f"{len(queries)} queries")
    return [rows(ask(query + ";\n")) for query in queries]


def databases(scratch):
    findings = [finding for path in RECORDED for finding in json.load(open(path, errors="replace"))["findings"]]
    ndjson = [json.loads(line) for path in RECORDED for line in run(jobs.REPORT, path, "--format", "ndjson").splitlines()]
    expect.need(len(ndjson) == len(findings) > 10, f"{len(ndjson)} lines of {len(findings)} findings")
    pairs = [(f["fingerprint"], pair) for f in ndjson for pair in f.get("pairs", [f])]
    expect.need(len(pairs) > len(ndjson), "no run has a finding of several pairs")
    sides = [(known, pair[side]) for known, pair in pairs for side in ("first", "second")]
    places = {(known, side["file"], str(side["line"])) for known, side in sides if side["file"]}
    expect.need(len({(known, side["file"]) for known, side in sides if not side["file"]}) > 0, "every side of every run has a line")
    lines = {place: sum(p[1:] == place for p in places) for place in {p[1:] for p in places}}
    answers = {}
    with postgres(scratch) as server:
        for read, ask in (duckdb_asker(scratch), postgres_asker(scratch, server)):
            answers[read] = loaded(scratch, ask, read)
            for column, key in (("kind", "kind"), ("why", "missing_edge"), ("first_file", None)):
                held = sorted(row[0] for row in rows(ask(f"SELECT {column} FROM finding;\n"))[1:])
                meant = sorted((pair[key] if key else pair["first"]["file"]) or "" for _, pair in pairs)
                expect.need(held == meant, f"{read}: {column}: {held}, not {meant}")
            _, since, _, by_line, by_rank = answers[read]
            expect.need({row[0] for row in since[1:]} == {f["fingerprint"] for f in ndjson}, f"{read}: {since}")
            expect.need({tuple(row[:2]): int(row[2]) for row in by_line[1:]} == lines, f"{read}: {by_line}, not {lines}")
            expect.need(sum(int(row[2]) for row in by_rank[1:]) == len(pairs), f"{read}: {by_rank}")
            damaged(scratch, ask, read)
    expect.need(answers["duckdb.sql"] == answers["postgres.sql"], f"the databases differ: {answers}")


def damaged(scratch, ask, read):
    """Half a line is refused, and no row comes of it."""
    before = ask("SELECT count(*) FROM finding;\n")
    with open(os.path.join(scratch, "findings.ndjson"), "w") as file:
        file.write('{"fingerprint":"0","kind":"read-af\n')
    try:
        ask(text("table.sql", read, "load.sql"))
    except expect.Unexpected:
        expect.need(ask("SELECT count(*) FROM finding;\n") == before, f"{read}: rows of a damaged file")
        return
    raise expect.Unexpected(f"{read}: a damaged file was loaded")


def page(scratch):
    """README.md, as it stands."""
    place = pages.checkout(scratch)
    with postgres(scratch) as server:
        path = os.path.dirname(jobs.python())
        os.environ.update(server, PATH=f"{os.path.realpath(jobs.BIN)}:{path}:{VENV}:{os.environ['PATH']}")
        pages.check(os.path.join(FILES, "README.md"), place, os.environ.get("WRITE") == "1")


# ---- Grafana ----------------------------------------------------------------------------------------------------
def grafana(_scratch):
    """The expressions are PromQL, of metrics and labels that the format has; no two panels lie on each other."""
    board = json.load(open(os.path.join(FILES, "grafana.json")))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    printed = run(jobs.REPORT, os.path.join(TESTS, "golden", "report", "message"), "--format", "prometheus")
    known = json.loads(run(os.path.join(VENV, "python"), os.path.join(TESTS, "dashboard", "metrics.py"), input=json.dumps([printed, asked])))
    expect.need(len(known["asked"]) >= len(asked), f"{asked}: of metrics {known['asked']}")
    for name, labels in known["asked"]:
        expect.need(name in known["there"], f"grafana.json asks for {name}, which there is not")
        lacking = set(labels) - set(known["there"][name]) - {"job"}  # a label of the collector's
        expect.need(not lacking, f"grafana.json asks for {name} by {lacking}")
    for one, other in itertools.combinations(board["panels"], 2):
        a, b = one["gridPos"], other["gridPos"]
        apart = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]
        expect.need(apart and one["id"] != other["id"], f"{one['title']} lies on {other['title']}")
    variables = {variable["name"] for variable in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(board)))
    expect.need(used == variables, f"variables: {variables}, used: {used}")


# ---- GitHub -----------------------------------------------------------------------------------------------------
def workflow(scratch):
    """Its steps but for the installation, as GitHub runs them: what is uploaded has been written, though a finding was made."""
    load = "import json, sys, yaml; print(json.dumps({str(key): value for key, value in yaml.safe_load(sys.stdin).items()}))"
    flow = json.loads(run(os.path.join(VENV, "python"), "-c", load, input=text("github-workflow.yml")))
    expect.need(flow["permissions"] == {"contents": "read", "security-events": "write"}, f"{flow['permissions']}")
    steps = flow["jobs"]["gsan"]["steps"]
    named = {step["name"]: step for step in steps if "run" in step}
    expect.need(list(named) == ["install", "check", "report"] and "gsan-*.whl" in named["install"]["run"], f"{steps}")
    place, path = pages.checkout(scratch), os.path.dirname(jobs.python())
    environment = {**jobs.Job.environment(scratch), "PATH": f"{os.path.realpath(jobs.BIN)}:{path}:{os.environ['PATH']}"}
    failed = False
    for name in ("check", "report"):
        if failed and named[name].get("if") != "always()":
            continue
        done = subprocess.run(["bash", "-e", "-c", named[name]["run"]], cwd=place, env=environment, capture_output=True, text=True, timeout=200)
        failed |= done.returncode != 0
        expect.need(done.returncode == {"check": jobs.FOUND, "report": 0}[name], f"{name}: status {done.returncode}: {done.stderr}")
    upload = steps[-1]
    expect.need(upload["uses"].startswith("github/codeql-action/upload-sarif@") and upload["if"] == "always()", f"{upload}")
    with open(os.path.join(place, upload["with"]["sarif_file"])) as file:
        sarif = json.load(file)
    expect.need(sarif["version"] == "2.1.0" and len(sarif["runs"][0]["results"]) == 1, f"{sarif}")


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (databases, page, grafana, workflow)})
