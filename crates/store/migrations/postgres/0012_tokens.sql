-- The token of the engine's newest transaction that was committed: it tells what became of one whose commit was not answered.
-- (Numbers of transactions do not: after a crash PostgreSQL gives out again those that it had not written down.)
ALTER TABLE engine ADD COLUMN token TEXT;
