-- Why a finding holds no more, '' where it does.
ALTER TABLE findings ADD COLUMN IF NOT EXISTS Withdrawn String CODEC(ZSTD(1));
