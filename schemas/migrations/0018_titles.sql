-- The error in a few words, as the rule or judge has it; '' in rows from before, and where it has none.
ALTER TABLE findings ADD COLUMN IF NOT EXISTS Title String CODEC(ZSTD(1));
