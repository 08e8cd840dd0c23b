"""configs/report.schema.json as a page, docs/report-schema.md, and what the schema owes its readers: every property is described, every
integer says where it begins.

    schema.py          compares
    schema.py write    writes the page anew
"""
import json
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCHEMA = os.path.join(ROOT, "configs", "report.schema.json")
PAGE = os.path.join(ROOT, "docs", "report-schema.md")
HEAD = """# The keys of a report

[`configs/report.schema.json`](../configs/report.schema.json) says which keys `summary.json` and `rank-<r>.json` have, for machines (JSON Schema
2020-12); this page is written from it (`python3 tests/pages/schema.py write`). *Optional* keys may be missing, of older releases or where they
say nothing. Every number is whole and not negative.
"""


def kinds(schema):
    """The JSON types that a schema allows."""
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def lacks(schema, at="$"):
    """Yields one line per property without a description, and per integer without a minimum."""
    if isinstance(schema, list):
        schema = dict(enumerate(schema))
    if not isinstance(schema, dict):
        return
    if "integer" in kinds(schema) and "minimum" not in schema:
        yield f"{at}: an integer without a minimum"
    yield from (f"{at}: {key} is not described" for key, value in schema.get("properties", {}).items() if not value.get("description"))
    for key, value in schema.items():
        yield from lacks(value, f"{at}.{key}")


def said(schema, defs):
    """What a value is: `integer or null`, `list of [side](#side)`."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name})" if paged(defs[name]) else said(defs[name], defs)
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    return " or ".join("list of " + said(schema["items"], defs) if kind == "array" else kind for kind in kinds(schema))


def paged(schema):
    """Has it a section of its own?"""
    return "properties" in schema.get("items", schema) or "enum" in schema


def section(name, schema, defs):
    text = f"\n## {name}\n\n"
    if "description" in schema:
        text += f"{schema['description']}.\n\n"
    if "enum" in schema:
        return text + ", ".join(f"`{value}`" for value in schema["enum"]) + ".\n"
    text += "| Key | Value | Meaning |\n|---|---|---|\n"
    schema = schema.get("items", schema)
    for key, value in schema["properties"].items():
        optional = "" if key in schema["required"] else "; optional"
        text += f"| `{key}` | {said(value, defs)}{optional} | {value['description']} |\n"
    return text


def objects(schema):
    """Those that stand within others, by the keys that hold them."""
    for key, value in schema["properties"].items():
        inner = value.get("items", value)
        if "properties" in inner:
            yield key, inner


def page(schema):
    defs = schema["$defs"]
    text = section("summary.json, rank-<r>.json", schema, defs)
    for name, inner in [*objects(schema), *((name, value) for name, value in defs.items() if paged(value))]:
        text += section(name, inner, defs)
    return HEAD + text.replace("<", "\\<")


def main(command="compare"):
    with open(SCHEMA) as file:
        schema = json.load(file)
    wrong = list(lacks(schema))
    if not wrong and command == "write":
        with open(PAGE, "w") as file:
            file.write(page(schema))
    elif not wrong and open(PAGE).read() != page(schema):
        wrong.append("docs/report-schema.md is not what the schema says: python3 tests/pages/schema.py write")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
