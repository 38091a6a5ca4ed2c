-- Which of two sessions of a service a person finds better: Better is first (SessionId), second (OtherSessionId) or same.
-- The two are in the order of their ids. Kept without limit as other labels, the latest change wins.
CREATE TABLE IF NOT EXISTS preferences
(
    tenant LowCardinality(String) DEFAULT '',
    Id String CODEC(ZSTD(1)),
    Service LowCardinality(String),
    SessionId String CODEC(ZSTD(1)),
    OtherSessionId String CODEC(ZSTD(1)),
    Annotator String CODEC(ZSTD(1)),
    Better LowCardinality(String),
    Explanation String CODEC(ZSTD(1)),
    Withdrawn Bool,
    ChangedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ChangedAt)
ORDER BY (tenant, Id)
SETTINGS index_granularity = 1024;
