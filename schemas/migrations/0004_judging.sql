-- What judging wrote. Everything here can be made again from `spans` and `logs`.
--
-- JudgedAt (unix nanos) is the version of every row: the latest judging wins, whatever the order of the inserts.
-- ReceivedAt is that of the newest row the judging saw, so that findings expire with their spans.

-- One judgement a (subject, judge, version, input). Written after all else of a judging, so a
-- judging that was interrupted is seen as not done. TraceState: what the trace was when it was judged.
CREATE TABLE IF NOT EXISTS judgements
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    SubjectKind LowCardinality(String),
    SubjectId String CODEC(ZSTD(1)),
    Judge LowCardinality(String),
    Version LowCardinality(String),
    InputHash String CODEC(ZSTD(1)),
    Outcome LowCardinality(String),
    TraceState LowCardinality(String),
    Findings UInt32,
    Dropped UInt32,
    Failures Nested
    (
        Judge String,
        Reason String
    ),
    JudgedAt UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(JudgedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, SubjectKind, SubjectId, Judge, Version, InputHash)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- One row a trace: its summary, and its agent runs in order (replaced as a whole, so that none is left over).
CREATE TABLE IF NOT EXISTS traces
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    ServiceName LowCardinality(String),
    SessionId String CODEC(ZSTD(1)),
    State LowCardinality(String),
    Name String CODEC(ZSTD(1)),
    StartNanos UInt64 CODEC(ZSTD(1)),
    EndNanos UInt64 CODEC(ZSTD(1)),
    Spans UInt32,
    Conventions Array(LowCardinality(String)),
    Runs Nested
    (
        Id String,
        Name String,
        Role LowCardinality(String),
        SpanId String,
        ParentId String,
        Goal String,
        Answer String,
        Status LowCardinality(String),
        Turns UInt32,
        ToolCalls UInt32
    ) CODEC(ZSTD(1)),
    JudgedAt UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX session SessionId TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(JudgedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- One row a finding id. State says whether it holds: current and provisional ones show and count.
-- FirstSeen (unix nanos) is the fingerprint's. Turn -1: outside any turn.
CREATE TABLE IF NOT EXISTS findings
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    Id String CODEC(ZSTD(1)),
    Fingerprint String CODEC(ZSTD(1)),
    State LowCardinality(String),
    AgentRunId String CODEC(ZSTD(1)),
    Turn Int32,
    Judge LowCardinality(String),
    Dimensions Array(LowCardinality(String)),
    Taxonomy LowCardinality(String),
    Category LowCardinality(String),
    Severity LowCardinality(String),
    Confidence Float64,
    Evidence String CODEC(ZSTD(1)),
    Explanation String CODEC(ZSTD(1)),
    ToolSpanId String CODEC(ZSTD(1)),
    SeenBySpanId String CODEC(ZSTD(1)),
    AlsoAt Array(String) CODEC(ZSTD(1)),
    Linked Array(String) CODEC(ZSTD(1)),
    FirstSeen UInt64 CODEC(ZSTD(1)),
    JudgedBy LowCardinality(String),
    JudgeVersion LowCardinality(String),
    JudgedAt UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX span_id SpanId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX first_seen FirstSeen TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(JudgedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, SpanId, Id)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- One verdict a (subject, judge): the latest. Score is null where the judge gave none; the reason stands beside it.
CREATE TABLE IF NOT EXISTS verdicts
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    SubjectKind LowCardinality(String),
    SubjectId String CODEC(ZSTD(1)),
    Judge LowCardinality(String),
    Version LowCardinality(String),
    Model LowCardinality(String),
    Score Nullable(Int32),
    NotApplicable Bool,
    UnscoredReason String CODEC(ZSTD(1)),
    Reasons String CODEC(ZSTD(1)),
    SamplingProbability Float64,
    JudgedAt UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(JudgedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, SubjectKind, SubjectId, Judge)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- Errors that people marked, in the same words as findings. Kept without limit: they are somebody's work.
CREATE TABLE IF NOT EXISTS annotations
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    Id String CODEC(ZSTD(1)),
    Annotator String CODEC(ZSTD(1)),
    Taxonomy LowCardinality(String),
    Category LowCardinality(String),
    Severity LowCardinality(String),
    Evidence String CODEC(ZSTD(1)),
    Explanation String CODEC(ZSTD(1)),
    Withdrawn Bool,
    ChangedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ChangedAt)
ORDER BY (tenant, TraceId, SpanId, Id)
SETTINGS index_granularity = 1024;
