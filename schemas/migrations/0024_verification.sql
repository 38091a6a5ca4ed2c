-- What a judge says of a finding that it did not make: '' (nobody was asked), verified, refuted or unverified. Confidence
-- follows from it.
ALTER TABLE findings
    ADD COLUMN IF NOT EXISTS Verification LowCardinality(String),
    ADD COLUMN IF NOT EXISTS VerifiedBy LowCardinality(String),
    ADD COLUMN IF NOT EXISTS VerificationReason String CODEC(ZSTD(1));

-- Errors of a rule that judges confirmed and refuted on a service, beside those that people labelled.
ALTER TABLE rule_calibrations
    ADD COLUMN IF NOT EXISTS Confirmed UInt32,
    ADD COLUMN IF NOT EXISTS Refuted UInt32;
