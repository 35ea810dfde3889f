-- As in the SQLite schema of the same number.
ALTER TABLE rooms ADD COLUMN deleted BIGINT NOT NULL DEFAULT 0;
