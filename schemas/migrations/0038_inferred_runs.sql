-- Runs that nothing but the place of their calls makes one (`inferred` of schemas/trajectory.py), and those of them that a
-- program made around or beside the runs of its agents (`beside`). Rows that an earlier version wrote have neither.
ALTER TABLE traces
    ADD COLUMN IF NOT EXISTS `Runs.Inferred` Array(Bool) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Runs.Beside` Array(Bool) CODEC(ZSTD(1));

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
    run.10 AS ToolCalls,
    run.11 AS Inferred,
    run.12 AS Beside
FROM traces FINAL
ARRAY JOIN arrayZip(Runs.Id, Runs.Name, Runs.Role, Runs.SpanId, Runs.ParentId, Runs.Goal, Runs.Answer, Runs.Status,
    Runs.Turns, Runs.ToolCalls, Runs.Inferred, Runs.Beside) AS run
WHERE JoinedTo = '';
