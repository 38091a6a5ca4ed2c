-- What was said of the lead of an error by who looked at it again, as of `findings`.
ALTER TABLE errors
    ADD COLUMN IF NOT EXISTS Verification LowCardinality(String),
    ADD COLUMN IF NOT EXISTS VerifiedBy LowCardinality(String),
    ADD COLUMN IF NOT EXISTS VerificationReason String CODEC(ZSTD(1));
