-- The agent runs of every judged trace, one row a run.
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
    Runs.Turns, Runs.ToolCalls) AS run;

-- The run ledger: the latest word of each judge on each subject; "why has this trace no score?".
CREATE VIEW IF NOT EXISTS ledger AS
SELECT *
FROM judgements FINAL
ORDER BY JudgedAt DESC
LIMIT 1 BY tenant, TraceId, SubjectKind, SubjectId, Judge;

-- otel_traces with the findings that hold now at each span.
CREATE VIEW IF NOT EXISTS annotated_spans AS
SELECT
    otel_traces.*,
    found.Ids AS `Findings.Id`,
    found.Judges AS `Findings.Judge`,
    found.Dimension AS `Findings.Dimension`,
    found.Taxonomies AS `Findings.Taxonomy`,
    found.Categories AS `Findings.Category`,
    found.Severities AS `Findings.Severity`,
    found.Confidences AS `Findings.Confidence`,
    found.Quotes AS `Findings.Evidence`,
    found.Explanations AS `Findings.Explanation`,
    found.States AS `Findings.State`
FROM otel_traces
LEFT JOIN
(
    SELECT
        TraceId,
        SpanId,
        groupArray(Id) AS Ids,
        groupArray(CAST(Judge, 'String')) AS Judges,
        groupArray(CAST(Dimensions[1], 'String')) AS Dimension,
        groupArray(CAST(Taxonomy, 'String')) AS Taxonomies,
        groupArray(CAST(Category, 'String')) AS Categories,
        groupArray(CAST(Severity, 'String')) AS Severities,
        groupArray(Confidence) AS Confidences,
        groupArray(Evidence) AS Quotes,
        groupArray(Explanation) AS Explanations,
        groupArray(CAST(State, 'String')) AS States
    FROM findings FINAL
    WHERE tenant = '' AND State IN ('current', 'provisional')
    GROUP BY TraceId, SpanId
) AS found ON otel_traces.TraceId = found.TraceId AND otel_traces.SpanId = found.SpanId;
