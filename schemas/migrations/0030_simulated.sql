-- Whether a trace is of a simulated session, and how its user was to behave: attributes of its spans (tracejury.simulated,
-- tracejury.behaviour). The index lets a store without such traces skip them.
ALTER TABLE traces
    ADD COLUMN IF NOT EXISTS Simulated Bool,
    ADD COLUMN IF NOT EXISTS Behaviour LowCardinality(String),
    ADD INDEX IF NOT EXISTS simulated Simulated TYPE minmax GRANULARITY 1;

-- How the users of a run's or trace's exchanges behaved, as rut-behaviour says; of a simulated one, as it was to. Facts of
-- simulated traces have Units of their own: 'simulated-run' and 'simulated-trace'.
ALTER TABLE run_facts ADD COLUMN IF NOT EXISTS Behaviours Array(LowCardinality(String));
