-- Exchanges of runs in which a person writes again; a run without any is one exchange of its goal and answer.
-- Runs: ids of the runs below that were caused in it.
ALTER TABLE traces
    ADD COLUMN IF NOT EXISTS `Exchanges.Run` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Exchanges.First` Array(Int32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Exchanges.Last` Array(Int32) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Exchanges.Asked` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Exchanges.Answer` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Exchanges.Runs` Array(Array(String)) CODEC(ZSTD(1));
