-- Errors: the findings of a trace with one cause. Everything here can be made again from `traces` and `findings`.
--
-- Confidence, MediumConfidence, HighConfidence: with which the error is at least LOW, MEDIUM, HIGH, -1 where it is not.
-- Judges, FindingIds: of all its findings, the lead's first. Whole: the trace under whose id it shows. FoldedAt (unix nanos) is the version.
CREATE TABLE IF NOT EXISTS errors
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    Id String CODEC(ZSTD(1)),
    State LowCardinality(String),
    Cause LowCardinality(String),
    Title String CODEC(ZSTD(1)),
    AgentRunId String CODEC(ZSTD(1)),
    Turn Int32,
    Judge LowCardinality(String),
    Judges Array(LowCardinality(String)),
    Dimensions Array(LowCardinality(String)),
    Taxonomy LowCardinality(String),
    Category LowCardinality(String),
    Confidence Float64,
    MediumConfidence Float64,
    HighConfidence Float64,
    Evidence String CODEC(ZSTD(1)),
    Explanation String CODEC(ZSTD(1)),
    ShownAt String CODEC(ZSTD(1)),
    ReadAt String CODEC(ZSTD(1)),
    RepeatedAt Array(String) CODEC(ZSTD(1)),
    FindingIds Array(String) CODEC(ZSTD(1)),
    FirstSeen UInt64 CODEC(ZSTD(1)),
    Whole String CODEC(ZSTD(1)),
    Removed UInt8,
    FoldedAt UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX span_id SpanId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX whole Whole TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX first_seen FirstSeen TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(FoldedAt, Removed)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, SpanId, Id)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- What rates are made of names errors instead of findings; Scopes: where each counts, as of `ErrorScope`.
ALTER TABLE run_facts
    ADD COLUMN IF NOT EXISTS `Errors.Judge` Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `Errors.Llm` Array(Bool),
    ADD COLUMN IF NOT EXISTS `Errors.Scopes` Array(UInt8),
    ADD COLUMN IF NOT EXISTS `Errors.Dimensions` Array(Array(LowCardinality(String))),
    ADD COLUMN IF NOT EXISTS `Errors.Taxonomy` Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `Errors.Category` Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `Errors.Low` Array(Float64),
    ADD COLUMN IF NOT EXISTS `Errors.Medium` Array(Float64),
    ADD COLUMN IF NOT EXISTS `Errors.High` Array(Float64),
    ADD COLUMN IF NOT EXISTS `Errors.Tool` Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `Errors.Turn` Array(Int32),
    DROP COLUMN IF EXISTS `Findings.Judge`,
    DROP COLUMN IF EXISTS `Findings.Llm`,
    DROP COLUMN IF EXISTS `Findings.Dimensions`,
    DROP COLUMN IF EXISTS `Findings.Taxonomy`,
    DROP COLUMN IF EXISTS `Findings.Category`,
    DROP COLUMN IF EXISTS `Findings.Severity`,
    DROP COLUMN IF EXISTS `Findings.Confidence`,
    DROP COLUMN IF EXISTS `Findings.Tool`,
    DROP COLUMN IF EXISTS `Findings.Turn`;

-- All of it is made anew from what judging has stored: no sum holds any more, and nothing counts as folded.
INSERT INTO rate_buckets
SELECT tenant, Hours, Bucket, greatest(max(Touched), max(Rolled) + 1), 0, max(ReceivedAt)
FROM rate_buckets WHERE Hours > 0 GROUP BY tenant, Hours, Bucket;
ALTER TABLE rate_buckets DELETE WHERE Hours = 0 SETTINGS mutations_sync = 2;
