"""Holds JSON files against configs/report.schema.json: schema.py SCHEMA FILE…. Knows the keywords that the schema uses,
refuses others, and first shows that it can fail: each file with any one required key removed must be invalid."""
import copy
import json
import re
import sys

KNOWN = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "required", "properties", "additionalProperties",
         "items", "minItems", "maxItems", "minimum", "const", "enum", "pattern"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}


def errors(root, schema, value, at="$"):
    """Yields one line per violation of `schema` (a part of `root`) by `value`."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        yield from errors(root, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], value, at)
    types = schema.get("type", list(TYPES))
    types = [types] if isinstance(types, str) else types
    if not isinstance(value, tuple(TYPES[t] for t in types)) or isinstance(value, bool) and "boolean" not in types:
        yield f"{at}: is no {types}"
        return
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not allowed"
    if isinstance(value, int) and value < schema.get("minimum", value):
        yield f"{at}: {value} is too small"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{at}: {value!r} does not match"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{at}: has {len(value)} items"
        for i, item in enumerate(value):
            yield from errors(root, schema.get("items", {}), item, f"{at}[{i}]")
    if isinstance(value, dict):
        yield from (f"{at}: lacks {key}" for key in schema.get("required", []) if key not in value)
        for key, item in value.items():
            part = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            if part is False:
                yield f"{at}: {key} is not in the schema"
            else:
                yield from errors(root, part, item, f"{at}.{key}")


def main(schema_path, *paths):
    with open(schema_path) as f:
        schema = json.load(f)
    bad = []
    for path in paths:
        with open(path) as f:
            value = json.load(f)
        bad += [f"{path}: {line}" for line in errors(schema, schema, value)]
        for name, key in [(n, k) for n in ("top", "first") for k in ("schema_version", "ranks", "findings", "file", "line", "op")]:
            broken = copy.deepcopy(value)
            place = broken if name == "top" else (broken["findings"] or [{"first": {}}])[0]["first"]
            if place.pop(key, None) is not None and not list(errors(schema, schema, broken)):
                bad.append(f"{path}: still valid without {key}")
    print("\n".join(bad), end="")
    return 1 if bad or not paths else 0


sys.exit(main(*sys.argv[1:]))
