-- What checks say of a subject, item by item. Value: Numerator / Denominator over the grounded items, null where it is
-- not applicable; Raw: with ungrounded items counted as failed.
ALTER TABLE verdicts
    ADD COLUMN IF NOT EXISTS Value Nullable(Float64),
    ADD COLUMN IF NOT EXISTS Raw Nullable(Float64),
    ADD COLUMN IF NOT EXISTS Numerator Float64,
    ADD COLUMN IF NOT EXISTS Denominator Float64,
    ADD COLUMN IF NOT EXISTS `Items.Item` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Items.Answer` Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `Items.Best` Array(Bool),
    ADD COLUMN IF NOT EXISTS `Items.Reason` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Items.Label` Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS `Items.TraceId` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Items.SpanId` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Items.Quote` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Items.Grounded` Array(Bool);
