-- Why a trace is not judged, "" where it is (schemas/not_judged.py). Of rows that an earlier version wrote as much is told
-- as they say; rows of traces that wait for their first judging are written without it.
ALTER TABLE traces ADD COLUMN IF NOT EXISTS NotJudged LowCardinality(String) DEFAULT multiIf(
    JudgedAt = 0, 'waiting', notEmpty(Runs.Id), '', notEmpty(Conventions), 'no-calls', 'unknown-convention')
    CODEC(ZSTD(1));
