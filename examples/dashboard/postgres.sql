-- findings.ndjson, each pair of lines of each finding a row. It comes as a CSV of one column whose quote and delimiter are bytes that JSON has none of.
CREATE TEMP TABLE line (finding JSONB);
\copy line FROM 'findings.ndjson' WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02', ENCODING 'UTF8')
CREATE TEMP TABLE race AS
SELECT finding, pair FROM line, jsonb_array_elements(coalesce(finding -> 'pairs', jsonb_build_array(finding))) AS pair;
DROP TABLE line;
