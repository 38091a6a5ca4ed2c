-- Whether a judge quoted something for its verdict, and none of its quotes stands in the trace. Rows from before do not
-- tell.
ALTER TABLE verdicts ADD COLUMN IF NOT EXISTS QuoteDropped Bool;
