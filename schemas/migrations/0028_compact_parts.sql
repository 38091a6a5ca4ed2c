-- What is inserted, and what is merged from a few inserts, is one file a part instead of some hundred: that takes half of
-- the engine's time, and a power-safe insert (store.fsync) syncs two files. Large parts stay as they were. Inserts come
-- in groups, so a merge waits for sixteen parts: each row is written less often. A look-up takes .1 ms more a part.
ALTER TABLE spans MODIFY SETTING min_bytes_for_wide_part = 268435456, min_parts_to_merge_at_once = 16;
ALTER TABLE logs MODIFY SETTING min_bytes_for_wide_part = 268435456, min_parts_to_merge_at_once = 16;
