-- What error rates are made of; everything here can be made again from `traces`, `judgements`, `verdicts` and `findings`.

-- One row an agent run (Unit 'run') and one a trace (Unit 'trace', RunId '') that was judged, in the hour (Hour, since
-- 1970) of its latest arrival (At, unix nanos). Detectors, Judges, Both: the weight with which it counts where the
-- errors of detectors, of LLM judges, of both are counted; 0: not, and Why tells the reason. Scored: LLM judges that
-- scored it, with their own weights; Missed: judges and rules that were to look and failed, or did not yet. Findings:
-- those that hold. Parts: ids of the traces that it was made of, its own first. Known: a convention was recognised.
CREATE TABLE IF NOT EXISTS run_facts
(
    tenant LowCardinality(String) DEFAULT '',
    Unit LowCardinality(String),
    Hour UInt32,
    TraceId String CODEC(ZSTD(1)),
    RunId String CODEC(ZSTD(1)),
    At UInt64 CODEC(ZSTD(1)),
    Service LowCardinality(String),
    Version LowCardinality(String),
    Session String CODEC(ZSTD(1)),
    Agent LowCardinality(String),
    Role LowCardinality(String),
    Model LowCardinality(String),
    Known Bool,
    Turns UInt32,
    Detectors Float64,
    Judges Float64,
    Both Float64,
    DetectorsWhy LowCardinality(String),
    JudgesWhy LowCardinality(String),
    BothWhy LowCardinality(String),
    `Scored.Judge` Array(LowCardinality(String)),
    `Scored.Weight` Array(Float64),
    Missed Array(LowCardinality(String)),
    `Findings.Judge` Array(LowCardinality(String)),
    `Findings.Llm` Array(Bool),
    `Findings.Dimensions` Array(Array(LowCardinality(String))),
    `Findings.Taxonomy` Array(LowCardinality(String)),
    `Findings.Category` Array(LowCardinality(String)),
    `Findings.Severity` Array(UInt8),
    `Findings.Confidence` Array(Float64),
    `Findings.Tool` Array(LowCardinality(String)),
    `Findings.Turn` Array(Int32),
    Parts Array(String) CODEC(ZSTD(1)),
    Removed UInt8,
    FoldedAt UInt64 CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') CODEC(ZSTD(1)),
    INDEX parts Parts TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(FoldedAt, Removed)
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, Unit, Hour, TraceId, RunId)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- Sums over the runs, turns (Unit 'turn') or traces of an hour or a day (Hours 1 or 24, from hour Bucket on), by all that
-- they are told apart by, and one attribute of findings (Facet, Value; Facet '': any finding). As schemas/rates.py, Sums.
-- Only rows whose Generation stands in `rate_buckets` count: a bucket that has changed is summed again as a whole.
CREATE TABLE IF NOT EXISTS rate_cells
(
    tenant LowCardinality(String) DEFAULT '',
    Unit LowCardinality(String),
    Population LowCardinality(String),
    Profile LowCardinality(String),
    Facet LowCardinality(String),
    Hours UInt8,
    Bucket UInt32,
    Service LowCardinality(String),
    Version LowCardinality(String),
    Agent LowCardinality(String),
    Role LowCardinality(String),
    Model LowCardinality(String),
    Known Bool,
    Value LowCardinality(String),
    n Int64,
    units Int64,
    w Float64,
    w2 Float64,
    wt Float64,
    w2t2 Float64,
    hits Int64,
    errors Int64,
    wb Float64,
    w2b2 Float64,
    w2bt Float64,
    wy Float64,
    w2y Float64,
    w2yt Float64,
    w2y2 Float64,
    Generation UInt64,
    ReceivedAt DateTime64(9, 'UTC')
)
ENGINE = MergeTree
PARTITION BY toMonday(ReceivedAt)
ORDER BY (tenant, Unit, Population, Profile, Facet, Hours, Bucket, Service, Value)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- When something of an hour was last written to `run_facts` (Touched, before the write), and which generation of
-- `rate_cells` was last finished (Rolled): it holds as long as it is the later one. Hours 0: all that judging had written
-- by then (Rolled, unix nanos) stands in `run_facts`.
CREATE TABLE IF NOT EXISTS rate_buckets
(
    tenant LowCardinality(String) DEFAULT '',
    Hours UInt8,
    Bucket UInt32,
    Touched SimpleAggregateFunction(max, UInt64),
    Rolled SimpleAggregateFunction(max, UInt64),
    ReceivedAt SimpleAggregateFunction(max, DateTime64(9, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant, Hours, Bucket)
SETTINGS index_granularity = 1024, merge_with_ttl_timeout = 86400, materialize_ttl_recalculate_only = 1;

-- To find what was joined to a trace.
ALTER TABLE traces ADD INDEX IF NOT EXISTS joined_to JoinedTo TYPE bloom_filter(0.01) GRANULARITY 1;
