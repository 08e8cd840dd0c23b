-- findings.ndjson, as it is: a CSV of one column whose quote and delimiter are bytes that JSON has none of.
CREATE TEMP TABLE line (finding JSONB);
\copy line FROM 'findings.ndjson' WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02', ENCODING 'UTF8')
