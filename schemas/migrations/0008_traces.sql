-- What rates and lists of traces ask for. Version: the service's; Runs.Model: that answered most of a run's calls; Calls:
-- which tool a span is a call of, or (Asked) asked for and no other. Cost in US dollars: as the spans state it, else by
-- the model's price; null where neither is known.
ALTER TABLE traces ADD COLUMN IF NOT EXISTS Version LowCardinality(String) CODEC(ZSTD(1));
ALTER TABLE traces ADD COLUMN IF NOT EXISTS `Runs.Model` Array(String) CODEC(ZSTD(1));
ALTER TABLE traces ADD COLUMN IF NOT EXISTS `Calls.SpanId` Array(String) CODEC(ZSTD(1));
ALTER TABLE traces ADD COLUMN IF NOT EXISTS `Calls.Tool` Array(String) CODEC(ZSTD(1));
ALTER TABLE traces ADD COLUMN IF NOT EXISTS `Calls.Asked` Array(Bool) CODEC(ZSTD(1));
ALTER TABLE traces ADD COLUMN IF NOT EXISTS InputTokens Nullable(UInt64) CODEC(ZSTD(1));
ALTER TABLE traces ADD COLUMN IF NOT EXISTS OutputTokens Nullable(UInt64) CODEC(ZSTD(1));
ALTER TABLE traces ADD COLUMN IF NOT EXISTS Cost Nullable(Float64) CODEC(ZSTD(1));
