-- The spans under the column names and types of the OpenTelemetry Collector's ClickHouse exporter, de-duplicated:
-- what exists in Grafana and SQL for that table works here. DateTime64(9) ends on 2262-04-11: later times show as
-- that instant. The exporter has no tenant column, so only the default tenant is shown.
CREATE VIEW IF NOT EXISTS otel_traces AS
SELECT
    fromUnixTimestamp64Nano(toInt64(least(StartNanos, 9223372036854775807))) AS Timestamp,
    TraceId,
    SpanId,
    ParentSpanId,
    TraceState,
    CAST(SpanName, 'LowCardinality(String)') AS SpanName,
    CAST(transform(Kind, [0, 1, 2, 3, 4, 5],
        ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'], ''),
        'LowCardinality(String)') AS SpanKind,
    ServiceName,
    ResourceAttributes,
    CAST(ScopeName, 'String') AS ScopeName,
    CAST(ScopeVersion, 'String') AS ScopeVersion,
    SpanAttributes,
    if(EndNanos > StartNanos, EndNanos - StartNanos, 0)::UInt64 AS Duration,
    CAST(transform(Status, [0, 1, 2], ['Unset', 'Ok', 'Error'], ''), 'LowCardinality(String)') AS StatusCode,
    StatusMessage,
    arrayMap(n -> fromUnixTimestamp64Nano(toInt64(least(n, 9223372036854775807))), Events.Nanos)
        AS `Events.Timestamp`,
    CAST(Events.Name, 'Array(LowCardinality(String))') AS `Events.Name`,
    Events.Attributes AS `Events.Attributes`,
    Links.TraceId AS `Links.TraceId`,
    Links.SpanId AS `Links.SpanId`,
    Links.TraceState AS `Links.TraceState`,
    Links.Attributes AS `Links.Attributes`
FROM spans FINAL
WHERE tenant = '';
