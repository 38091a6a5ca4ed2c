-- Errors and facts are derived where findings are stored. No sums of facts are kept any more: questions read the facts.
DROP TABLE IF EXISTS rate_cells;
DROP TABLE IF EXISTS rate_buckets;

-- Projects with traces that were judged before errors were derived so. Of those judged before Since (unix nanos) the ones
-- up to After, by id, are derived by now; Done: all are.
CREATE TABLE IF NOT EXISTS underived
(
    tenant LowCardinality(String) DEFAULT '',
    After String,
    Since UInt64,
    Done UInt8,
    NotedAt UInt64
)
ENGINE = ReplacingMergeTree(NotedAt, Done)
ORDER BY (tenant, Since);

INSERT INTO underived SELECT tenant, '', toUInt64(toUnixTimestamp64Nano(now64(9))), 0, 0 FROM traces GROUP BY tenant;
