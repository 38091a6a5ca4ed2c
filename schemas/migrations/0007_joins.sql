-- Runs that are written into several traces. A trace's keys are what it may share with others (the trace that a link
-- names, a task, a client's session); those that share one may be one. Only keys that lead elsewhere are kept.
CREATE TABLE IF NOT EXISTS joins
(
    tenant LowCardinality(String) DEFAULT '',
    Key String CODEC(ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(ReceivedAt)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, Key, TraceId)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- The trace under whose id a joined run shows; '' for a trace of its own, and for that one.
ALTER TABLE traces ADD COLUMN IF NOT EXISTS JoinedTo String CODEC(ZSTD(1));

-- As before, without the copies that stand at the other traces of a joined run.
DROP VIEW IF EXISTS agent_runs;
CREATE VIEW IF NOT EXISTS agent_runs AS
SELECT
    tenant,
    TraceId,
    ServiceName,
    SessionId,
    run.1 AS RunId,
    run.2 AS Name,
    run.3 AS Role,
    run.4 AS SpanId,
    run.5 AS ParentRunId,
    run.6 AS Goal,
    run.7 AS Answer,
    run.8 AS Status,
    run.9 AS Turns,
    run.10 AS ToolCalls
FROM traces FINAL
ARRAY JOIN arrayZip(Runs.Id, Runs.Name, Runs.Role, Runs.SpanId, Runs.ParentId, Runs.Goal, Runs.Answer, Runs.Status,
    Runs.Turns, Runs.ToolCalls) AS run
WHERE JoinedTo = '';
