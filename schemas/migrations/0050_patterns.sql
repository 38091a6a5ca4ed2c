-- The pattern that an error is of, and the template of a rule's words that decides it (judges/patterns/keys.py).
ALTER TABLE findings ADD COLUMN IF NOT EXISTS Template String CODEC(ZSTD(1));

ALTER TABLE errors
    ADD COLUMN IF NOT EXISTS Pattern LowCardinality(String) CODEC(ZSTD(1)),
    ADD INDEX IF NOT EXISTS pattern Pattern TYPE bloom_filter(0.001) GRANULARITY 1;

ALTER TABLE run_facts ADD COLUMN IF NOT EXISTS `Errors.Pattern` Array(LowCardinality(String));

-- Facts are derived anew (0034 says how); findings have a template once their trace is judged again.
INSERT INTO underived SELECT tenant, '', toUInt64(toUnixTimestamp64Nano(now64(9))), 0, 0 FROM traces GROUP BY tenant;

-- What people have decided about a pattern; kept without limit as other labels. Until: unix nanos, 0 for good.
CREATE TABLE IF NOT EXISTS pattern_labels
(
    tenant LowCardinality(String) DEFAULT '',
    Pattern String CODEC(ZSTD(1)),
    Annotator String CODEC(ZSTD(1)),
    Mark LowCardinality(String),
    Version String CODEC(ZSTD(1)),
    Until UInt64,
    Explanation String CODEC(ZSTD(1)),
    Withdrawn Bool,
    ChangedAt UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ChangedAt)
ORDER BY (tenant, Pattern, Annotator)
SETTINGS index_granularity = 1024;
