-- What webhooks were told: one row a (webhook, fingerprint, event), written once the receiver has it (State sent) or it
-- was given up (given-up). Event: found, or retracted. At: unix nanos; ReceivedAt is the same instant, later than that of
-- the finding, so that no mark expires before what it is about.
CREATE TABLE IF NOT EXISTS deliveries
(
    tenant LowCardinality(String) DEFAULT '',
    TraceId String CODEC(ZSTD(1)),
    Webhook LowCardinality(String),
    Fingerprint String CODEC(ZSTD(1)),
    Event LowCardinality(String),
    State LowCardinality(String),
    At UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(At)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, TraceId, Webhook, Fingerprint, Event)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;
