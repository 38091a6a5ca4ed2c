-- Why an error decided the outcome of its trace and what should have been done instead; '' where it did not decide it.
ALTER TABLE errors
    ADD COLUMN IF NOT EXISTS Decided String CODEC(ZSTD(1));
