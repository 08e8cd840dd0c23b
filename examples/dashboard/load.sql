-- What was read becomes rows, but for those that have been loaded. DuckDB and PostgreSQL.
INSERT INTO finding
SELECT
	(finding ->> 'fingerprint'), (pair ->> 'kind'), (pair ->> 'missing_edge_class'), (pair ->> 'missing_edge'),
	CAST((pair ->> 'formal') AS BOOLEAN), CAST((pair ->> 'count') AS BIGINT),
	CAST(replace((finding -> 'job' ->> 'start'), 'Z', '') AS TIMESTAMP), (finding -> 'job' ->> 'host'), (finding -> 'job' ->> 'device'),
	(finding -> 'job' ->> 'commit'), CAST((finding -> 'job' ->> 'seed') AS BIGINT), (pair -> 'allocation' ->> 'label'),
	CAST((pair -> 'first' ->> 'rank') AS INTEGER), (pair -> 'first' ->> 'kernel'), (pair -> 'first' ->> 'file'),
	CAST((pair -> 'first' ->> 'line') AS INTEGER), (pair -> 'first' ->> 'op'),
	CAST((pair -> 'second' ->> 'rank') AS INTEGER), (pair -> 'second' ->> 'kernel'), (pair -> 'second' ->> 'file'),
	CAST((pair -> 'second' ->> 'line') AS INTEGER), (pair -> 'second' ->> 'op')
FROM race
EXCEPT ALL SELECT * FROM finding;
DROP TABLE race;
