-- Which engine a batch is for, by its number.
ALTER TABLE batches ADD COLUMN engine BIGINT NOT NULL DEFAULT 1;
