-- Who called whom in a trace (schemas/call_graph.py). Rows that an earlier version wrote have runs and no edges.
ALTER TABLE traces
    ADD COLUMN IF NOT EXISTS `Edges.Kind` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Edges.Caller` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Edges.Callee` Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Edges.Calls` Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Edges.Failed` Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Edges.Given` Array(UInt32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Edges.Used` Array(UInt32) CODEC(ZSTD(1));

-- Which managed prompts calls were made from, as name@version.
ALTER TABLE traces ADD COLUMN IF NOT EXISTS Prompts Array(LowCardinality(String)) CODEC(ZSTD(1));
