-- Where replies say that an item went wrong to which most of them gave the best answer (`ItemAnswer` of
-- schemas/checks.py). Rows that an earlier version wrote have none.
ALTER TABLE verdicts
    ADD COLUMN IF NOT EXISTS `Items.DeniedTraceId` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Items.DeniedSpanId` Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Items.DeniedQuote` Array(String) CODEC(ZSTD(1));
