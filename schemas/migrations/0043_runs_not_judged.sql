-- Why a run is not judged, "" where it is (schemas/not_judged.py). In rows that an earlier version wrote all are "".
ALTER TABLE traces ADD COLUMN IF NOT EXISTS `Runs.NotJudged` Array(LowCardinality(String)) CODEC(ZSTD(1));

-- What was not judged stands in no rate any more: facts are derived anew (0034 says how).
INSERT INTO underived SELECT tenant, '', toUInt64(toUnixTimestamp64Nano(now64(9))), 0, 0 FROM traces GROUP BY tenant;
