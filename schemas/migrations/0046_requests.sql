-- What one process asks of the workers on the store. Each step of a request is a row: 'asked', with its arguments;
-- 'begun' by a worker; 'answered'; 'told' to whoever asked. Content is JSON. Times are the server's: clocks of processes differ.
CREATE TABLE IF NOT EXISTS requests
(
    tenant LowCardinality(String) DEFAULT '',
    Id String CODEC(ZSTD(1)),
    Step LowCardinality(String),
    Worker String CODEC(ZSTD(1)),
    Kind LowCardinality(String),
    Content String CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9, 'UTC') DEFAULT now64(9) CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree(ReceivedAt)
ORDER BY (tenant, Id, Step, Worker);
