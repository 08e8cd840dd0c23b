-- One row for each pair of lines of each finding of each run. DuckDB and PostgreSQL.
CREATE TABLE IF NOT EXISTS finding (
	fingerprint TEXT NOT NULL, -- of the finding, by which it is known again in another run
	kind TEXT NOT NULL,
	class TEXT,                -- what is missing
	why TEXT,                  -- the same as a sentence
	formal BOOLEAN NOT NULL,   -- by the letter of PTX alone
	pairs BIGINT NOT NULL,     -- of launches in which it was seen, each way round
	started TIMESTAMP,         -- the run, UTC
	host TEXT,
	device TEXT,
	tool_commit TEXT,
	seed BIGINT,
	memory TEXT,               -- what the allocation is called
	first_rank INTEGER, first_kernel TEXT, first_file TEXT, first_line INTEGER, first_op TEXT,
	second_rank INTEGER, second_kernel TEXT, second_file TEXT, second_line INTEGER, second_op TEXT
);
