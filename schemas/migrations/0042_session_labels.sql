-- Whether a person finds a session good on the whole, and its user satisfied (NULL: unknown); Situation "" where nobody says.
-- SessionId is the trace's where a trace has no session. Kept without limit as other labels, the latest change wins.
CREATE TABLE IF NOT EXISTS session_labels
(
    tenant LowCardinality(String) DEFAULT '',
    Id String CODEC(ZSTD(1)),
    Service LowCardinality(String),
    SessionId String CODEC(ZSTD(1)),
    Annotator String CODEC(ZSTD(1)),
    Good Bool,
    Satisfied Nullable(Bool),
    Situation LowCardinality(String),
    Explanation String CODEC(ZSTD(1)),
    Withdrawn Bool,
    ChangedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ChangedAt)
ORDER BY (tenant, Id)
SETTINGS index_granularity = 1024;
