-- A part of spans or logs below 32 MiB is one file, as those of results are: the engine makes and removes a file instead of
-- fourteen for each insert.
ALTER TABLE spans MODIFY SETTING min_bytes_for_full_part_storage = 33554432;
ALTER TABLE logs MODIFY SETTING min_bytes_for_full_part_storage = 33554432;
