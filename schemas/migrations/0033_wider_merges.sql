-- The engine asks of a merge that its parts together are so many times as large as the largest of them (5 MB added to
-- each), and comes down from this number to 2 between 10 and 50 parts. From 12 it came down so early that a large part was
-- written again with each fifteen small ones. By a simulation of this choice a row of spans is written two or three times in
-- ten minutes under load instead of four (of results instead of seventeen), and spans have 25 parts instead of 15, results 16
-- instead of 12.
-- A merge holds 10 MB of each of its parts in memory, so that those of long texts are at most 20.
ALTER TABLE spans MODIFY SETTING merge_selector_base = 40, max_parts_to_merge_at_once = 20;
ALTER TABLE logs MODIFY SETTING merge_selector_base = 40, max_parts_to_merge_at_once = 20;
ALTER TABLE texts MODIFY SETTING merge_selector_base = 40, max_parts_to_merge_at_once = 20;
ALTER TABLE traces MODIFY SETTING merge_selector_base = 30;
ALTER TABLE findings MODIFY SETTING merge_selector_base = 30;
ALTER TABLE judgements MODIFY SETTING merge_selector_base = 30;
