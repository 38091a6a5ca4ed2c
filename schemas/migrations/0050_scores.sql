-- Scores that others give of a trace, a span or a session. Without value, label and error a score is withdrawn.
-- TraceId is '' of a session's, and of a span's whose trace is not there yet. ReceivedAt: our own clock; the latest wins.
CREATE TABLE IF NOT EXISTS scores
(
    tenant LowCardinality(String) DEFAULT '',
    Id String CODEC(ZSTD(1)),
    Name String CODEC(ZSTD(1)),
    Value Nullable(Float64) CODEC(ZSTD(1)),
    Label String CODEC(ZSTD(1)),
    Explanation String CODEC(ZSTD(1)),
    Source String CODEC(ZSTD(1)),
    ErrorType String CODEC(ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    SessionId String CODEC(ZSTD(1)),
    At UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ReceivedAt)
ORDER BY (tenant, TraceId, SessionId, Id)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;
-- Which values of a score a person takes for a good session: `Good` is a comparison such as '>=1'. Kept as other labels.
CREATE TABLE IF NOT EXISTS score_outcomes
(
    tenant LowCardinality(String) DEFAULT '',
    Name String CODEC(ZSTD(1)),
    Annotator String CODEC(ZSTD(1)),
    Good String CODEC(ZSTD(1)),
    Explanation String CODEC(ZSTD(1)),
    Withdrawn Bool,
    ChangedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ChangedAt)
ORDER BY (tenant, Name, Annotator)
SETTINGS index_granularity = 1024;
