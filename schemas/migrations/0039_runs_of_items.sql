-- How often an item was asked about with an answer of use, and how many of those gave the best answer (`ItemAnswer` of
-- schemas/checks.py). Rows that an earlier version wrote have neither.
ALTER TABLE verdicts
    ADD COLUMN IF NOT EXISTS `Items.Yes` Array(UInt8) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS `Items.Runs` Array(UInt8) CODEC(ZSTD(1));
