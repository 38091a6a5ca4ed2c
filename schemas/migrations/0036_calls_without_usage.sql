-- LLM calls of the trace that worked and recorded no tokens: where there are some, tokens and cost are partial sums.
ALTER TABLE traces ADD COLUMN IF NOT EXISTS CallsWithoutUsage UInt32 CODEC(ZSTD(1)) AFTER OutputTokens;
