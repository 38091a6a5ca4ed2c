-- Fewer merges, and cheaper inserts of a few rows. The engine adds 5 MB to a part's size when it chooses parts to merge, so
-- sixteen small parts were merged with a large one beside them again and again: each row was written four times in a
-- minute. With a higher base it waits until they are worth it.
ALTER TABLE spans MODIFY SETTING merge_selector_base = 12;
ALTER TABLE logs MODIFY SETTING merge_selector_base = 12;

-- What is written with each judging comes in parts of a few rows. A merge waits for sixteen of them, and a part below
-- 1 MiB is one file instead of fourteen (by engines since 26.7; older ones write fourteen, and cannot read the one).
ALTER TABLE traces MODIFY SETTING min_parts_to_merge_at_once = 16, merge_selector_base = 12,
    min_bytes_for_full_part_storage = 1048576;
ALTER TABLE findings MODIFY SETTING min_parts_to_merge_at_once = 16, merge_selector_base = 12,
    min_bytes_for_full_part_storage = 1048576;
ALTER TABLE judgements MODIFY SETTING min_parts_to_merge_at_once = 16, merge_selector_base = 12,
    min_bytes_for_full_part_storage = 1048576;
ALTER TABLE verdicts MODIFY SETTING min_parts_to_merge_at_once = 16, merge_selector_base = 12,
    min_bytes_for_full_part_storage = 1048576;
ALTER TABLE errors MODIFY SETTING min_parts_to_merge_at_once = 16, merge_selector_base = 12,
    min_bytes_for_full_part_storage = 1048576;
ALTER TABLE run_facts MODIFY SETTING min_parts_to_merge_at_once = 16, merge_selector_base = 12,
    min_bytes_for_full_part_storage = 1048576;
ALTER TABLE rate_buckets MODIFY SETTING min_parts_to_merge_at_once = 16, merge_selector_base = 12,
    min_bytes_for_full_part_storage = 1048576;
