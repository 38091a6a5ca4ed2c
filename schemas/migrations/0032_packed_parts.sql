-- A part of spans or logs below 32 MiB is one file, as those of results are: the engine makes and removes a file instead of
-- fourteen for each insert.
ALTER TABLE spans MODIFY SETTING min_bytes_for_full_part_storage = 33554432;
ALTER TABLE logs MODIFY SETTING min_bytes_for_full_part_storage = 33554432;

-- A merge of texts makes their index of words anew, which is most of what it costs. Inserts make none: until sixteen of
-- them are merged their texts are read through.
ALTER TABLE texts MODIFY SETTING min_parts_to_merge_at_once = 16, merge_selector_base = 12,
    min_bytes_for_wide_part = 268435456, min_bytes_for_full_part_storage = 33554432;
