-- What was read becomes rows. DuckDB and PostgreSQL.
INSERT INTO finding
SELECT
	(finding ->> 'fingerprint'), (finding ->> 'kind'), (finding ->> 'missing_edge_class'), (finding ->> 'missing_edge'),
	CAST((finding ->> 'formal') AS BOOLEAN), CAST((finding ->> 'count') AS BIGINT),
	CAST(replace((finding -> 'job' ->> 'start'), 'Z', '') AS TIMESTAMP), (finding -> 'job' ->> 'host'), (finding -> 'job' ->> 'device'),
	(finding -> 'job' ->> 'commit'), CAST((finding -> 'job' ->> 'seed') AS BIGINT), (finding -> 'allocation' ->> 'label'),
	CAST((finding -> 'first' ->> 'rank') AS INTEGER), (finding -> 'first' ->> 'kernel'), (finding -> 'first' ->> 'file'),
	CAST((finding -> 'first' ->> 'line') AS INTEGER), (finding -> 'first' ->> 'op'),
	CAST((finding -> 'second' ->> 'rank') AS INTEGER), (finding -> 'second' ->> 'kernel'), (finding -> 'second' ->> 'file'),
	CAST((finding -> 'second' ->> 'line') AS INTEGER), (finding -> 'second' ->> 'op')
FROM line;
DROP TABLE line;
