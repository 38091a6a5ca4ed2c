-- What alert rules have seen and told. Channel '': the change itself, with the message; else what became of it on one.
CREATE TABLE IF NOT EXISTS alerts
(
    tenant LowCardinality(String) DEFAULT '',
    Rule LowCardinality(String) CODEC(ZSTD(1)),
    Key String CODEC(ZSTD(1)),
    Number UInt32,
    Channel LowCardinality(String),
    State LowCardinality(String),
    Since UInt64,
    CalmSince UInt64,
    Changes Array(LowCardinality(String)),
    ToldAt UInt64,
    Message String CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') DEFAULT now64(9) CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(ReceivedAt)
ORDER BY (tenant, Rule, Key, Number, Channel)
SETTINGS index_granularity = 1024;

-- What each rule saw when it last looked, as pages show it. Figures is JSON.
CREATE TABLE IF NOT EXISTS alert_rules
(
    tenant LowCardinality(String) DEFAULT '',
    Rule LowCardinality(String) CODEC(ZSTD(1)),
    Kind LowCardinality(String),
    Channels Array(LowCardinality(String)),
    Figures String CODEC(ZSTD(1)),
    Problem String CODEC(ZSTD(1)),
    LookedAt UInt64,
    NextAt UInt64,
    ReceivedAt DateTime64(9, 'UTC') DEFAULT now64(9) CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(ReceivedAt)
ORDER BY (tenant, Rule)
SETTINGS index_granularity = 1024;
