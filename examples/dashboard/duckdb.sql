-- findings.ndjson, as it is.
CREATE TEMP TABLE line AS SELECT json AS finding FROM read_ndjson_objects('findings.ndjson');
