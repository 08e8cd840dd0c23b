-- What is missing most often.
SELECT class, count(DISTINCT fingerprint) AS findings, count(DISTINCT started) AS runs
FROM finding WHERE NOT formal
GROUP BY class ORDER BY findings DESC, class NULLS LAST;

-- Since when each finding is known, the newest first.
SELECT fingerprint, min(kind) AS kind, min(started) AS since, max(started) AS last_seen, count(DISTINCT started) AS runs
FROM finding
GROUP BY fingerprint ORDER BY since DESC NULLS LAST, fingerprint, kind;

-- What the last run has, and none before it had.
SELECT DISTINCT fingerprint, kind, first_file, first_line, second_file, second_line
FROM finding
WHERE started = (SELECT max(started) FROM finding)
	AND fingerprint NOT IN (SELECT fingerprint FROM finding WHERE started < (SELECT max(started) FROM finding))
ORDER BY fingerprint, first_file, first_line, second_file, second_line;

-- Which lines have a part in most findings.
SELECT file, line, count(DISTINCT fingerprint) AS findings
FROM (
	SELECT fingerprint, first_file AS file, first_line AS line FROM finding
	UNION SELECT fingerprint, second_file, second_line FROM finding
) AS side
WHERE file IS NOT NULL
GROUP BY file, line ORDER BY findings DESC, file, line;

-- Which ranks race with which, in how many pairs of lines.
SELECT first_rank, second_rank, count(*) AS pairs
FROM finding
GROUP BY first_rank, second_rank ORDER BY first_rank, second_rank;
