-- Labels by people: what they say of findings, how they score agent runs, and which runs they have looked at. All kept
-- without limit, the latest change of each wins; withdrawn ones are kept and count nowhere.

-- Opinion: agree, disagree, other-span (the error was made at this row's span) or missed (no finding names it). All but
-- missed are about the finding FindingId of Judge; Fingerprint is that finding's.
ALTER TABLE annotations ADD COLUMN IF NOT EXISTS Opinion LowCardinality(String) DEFAULT 'missed';
ALTER TABLE annotations ADD COLUMN IF NOT EXISTS FindingId String CODEC(ZSTD(1));
ALTER TABLE annotations ADD COLUMN IF NOT EXISTS Judge LowCardinality(String);
ALTER TABLE annotations ADD COLUMN IF NOT EXISTS AgentRunId String CODEC(ZSTD(1));
ALTER TABLE annotations ADD COLUMN IF NOT EXISTS Fingerprint String CODEC(ZSTD(1));

-- An opinion names its finding by id alone.
ALTER TABLE findings ADD INDEX IF NOT EXISTS id Id TYPE bloom_filter(0.001) GRANULARITY 1;

-- How good a person finds an agent run in one dimension: 0 to 3, null: not applicable.
CREATE TABLE IF NOT EXISTS human_scores
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    AgentRunId String CODEC(ZSTD(1)),
    Annotator String CODEC(ZSTD(1)),
    Dimension LowCardinality(String),
    Score Nullable(Int32),
    Explanation String CODEC(ZSTD(1)),
    Withdrawn Bool,
    ChangedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ChangedAt)
ORDER BY (tenant, TraceId, AgentRunId, Annotator, Dimension)
SETTINGS index_granularity = 1024;

-- A person has looked at the whole of an agent run: what is not marked there, is no error. Stratum and Probability: how
-- the queue drew it, '' and 0 where somebody chose it.
CREATE TABLE IF NOT EXISTS reviews
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    AgentRunId String CODEC(ZSTD(1)),
    Annotator String CODEC(ZSTD(1)),
    Stratum LowCardinality(String),
    Probability Float64,
    Withdrawn Bool,
    ChangedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ChangedAt)
ORDER BY (tenant, TraceId, AgentRunId, Annotator)
SETTINGS index_granularity = 1024;
