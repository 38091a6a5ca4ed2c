-- What latency, tokens, cost and failures are counted from (schemas/operations.py): the agent runs, LLM calls and tool
-- calls of a trace. Measured: somebody looked; traces that an earlier version judged have none until they are judged again.
ALTER TABLE traces
    ADD COLUMN IF NOT EXISTS Measured Bool,
    ADD COLUMN IF NOT EXISTS `Operations.Kind` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.Agent` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.Model` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.Tool` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.Prompt` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.Nanos` Array(Int64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.Failed` Array(Bool) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.InputTokens` Array(UInt64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.OutputTokens` Array(UInt64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.CachedTokens` Array(UInt64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.Usd` Array(Float64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Operations.Unpriced` Array(UInt32) CODEC(ZSTD(1));
