-- As in the SQLite schema of the same number.
CREATE TABLE generation (
    number BIGINT NOT NULL,
    digest BYTEA,
    closed BIGINT NOT NULL DEFAULT 0
);
INSERT INTO generation (number) VALUES (0);
ALTER TABLE rooms ADD COLUMN first_epoch BIGINT NOT NULL DEFAULT 0;
