-- What LLM judges add. Reason: one line on the outcome for the ledger; Probability: that this subject was judged at
-- all (0: somebody asked for it by hand); Model: that answered, '' for detectors.
ALTER TABLE judgements ADD COLUMN IF NOT EXISTS Reason String CODEC(ZSTD(1));
ALTER TABLE judgements ADD COLUMN IF NOT EXISTS Probability Float64 DEFAULT 1;
ALTER TABLE judgements ADD COLUMN IF NOT EXISTS Model LowCardinality(String);

-- The run ledger with these columns; a view does not see columns that its tables get later. What was given up in favour
-- of other content, and that content, are written at the same time: the latter is the last word.
DROP VIEW IF EXISTS ledger;
CREATE VIEW IF NOT EXISTS ledger AS
SELECT *
FROM judgements FINAL
ORDER BY JudgedAt DESC, Outcome = 'superseded', ReceivedAt DESC, Version, InputHash
LIMIT 1 BY tenant, TraceId, SubjectKind, SubjectId, Judge;

-- One row a call to a model: what it answered (the answer cache, by Key), what it cost (the spend ledger) and for whom
-- (the audit). Rows with an empty Key are kept, but no call is spared by them. Cost in USD, 0 where no price is known
-- (Priced = false). At: unix nanos of the answer; ReceivedAt is the same instant.
CREATE TABLE IF NOT EXISTS answers
(
    tenant LowCardinality(String) DEFAULT '',
    Key String CODEC(ZSTD(1)),
    At UInt64 CODEC(ZSTD(1)),
    Model LowCardinality(String),
    Text String CODEC(ZSTD(1)),
    FinishReason LowCardinality(String),
    InputTokens UInt64 CODEC(ZSTD(1)),
    CachedTokens UInt64 CODEC(ZSTD(1)),
    OutputTokens UInt64 CODEC(ZSTD(1)),
    Cost Float64,
    Priced Bool,
    Service LowCardinality(String),
    TraceId String CODEC(ZSTD(1)),
    RunId String CODEC(ZSTD(1)),
    Purpose LowCardinality(String),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, Key, At, TraceId, RunId)
SETTINGS index_granularity = 256, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- Descriptions of a service's architecture, every version there was. Source: derived (by us from its traces), edited
-- (by a person: it goes before the derived ones), or cleared (a person took the edited one back; no text). At: unix
-- nanos. Kept without limit: they are partly somebody's work, and verdicts name what they were given.
CREATE TABLE IF NOT EXISTS architectures
(
    tenant LowCardinality(String) DEFAULT '',
    Service String CODEC(ZSTD(1)),
    At UInt64 CODEC(ZSTD(1)),
    Source LowCardinality(String),
    Version String CODEC(ZSTD(1)),
    Text String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (tenant, Service, At, Source)
SETTINGS index_granularity = 1024;

-- What belongs to this installation and is made once: of several rows of one name the one that was committed first
-- counts, which is what the block number tells, also after merges. At: unix nanos.
CREATE TABLE IF NOT EXISTS install
(
    tenant LowCardinality(String) DEFAULT '',
    Name LowCardinality(String),
    Value String CODEC(ZSTD(1)),
    At UInt64
)
ENGINE = MergeTree
ORDER BY (tenant, Name)
SETTINGS index_granularity = 1024, enable_block_number_column = 1;
