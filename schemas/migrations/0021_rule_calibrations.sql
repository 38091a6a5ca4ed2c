-- The confidence of detectors' rules on a service, moved by the labels of that service: a row for each rule that a version
-- of the service's calibration changed. Kept as labels are. At (unix nanos): since when.
CREATE TABLE IF NOT EXISTS rule_calibrations
(
    tenant LowCardinality(String) DEFAULT '',
    Service String CODEC(ZSTD(1)),
    Version UInt32,
    Rule LowCardinality(String),
    Right UInt32,
    Wrong UInt32,
    Confidence Float64,
    At UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(At)
ORDER BY (tenant, Service, Rule, Version)
SETTINGS index_granularity = 1024;
