-- findings.ndjson, each pair of lines of each finding a row.
CREATE TEMP TABLE race AS
SELECT json AS finding, unnest(coalesce(CAST((json -> 'pairs') AS JSON[]), [json])) AS pair FROM read_ndjson_objects('findings.ndjson');
