-- The types of the values of events and links that were not strings, as SpanAttributeTypes has them of spans: what is
-- passed on is what was received. Rows from before have none.
ALTER TABLE spans ADD COLUMN IF NOT EXISTS `Events.AttributeTypes`
    Array(Map(LowCardinality(String), LowCardinality(String))) CODEC(ZSTD(1));
ALTER TABLE spans ADD COLUMN IF NOT EXISTS `Links.AttributeTypes`
    Array(Map(LowCardinality(String), LowCardinality(String))) CODEC(ZSTD(1));
