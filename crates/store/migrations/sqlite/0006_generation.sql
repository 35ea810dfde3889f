-- The generation of the servers' logs and stock. A renewal (docs/spec/restore.md) begins the next one.
CREATE TABLE generation (
    number INTEGER NOT NULL,
    -- Digest of the state with which it began; NULL for the first.
    digest BLOB,
    -- 1 once this server has written its state for the next one: it says nothing more in this one.
    closed INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO generation (number) VALUES (0);
-- Epochs below this number belong to earlier generations.
ALTER TABLE rooms ADD COLUMN first_epoch INTEGER NOT NULL DEFAULT 0;
