-- These tables are filled and emptied within minutes, so there are no statistics of them to rely on, and without any the planner
-- takes a room's epoch for a handful of rows. It must have no choice: one index of each table begins with room and epoch, and
-- whoever gives a key or a slot besides is led to that row alone. (SQLite plans without statistics.)
ALTER TABLE assignments
    DROP CONSTRAINT assignments_room_epoch_author_key_key,
    ADD UNIQUE (key, room, epoch, author);
ALTER TABLE submissions
    DROP CONSTRAINT submissions_room_epoch_key_key,
    ADD UNIQUE (key, room, epoch);
DROP INDEX offers_by_key;
CREATE INDEX offers_by_key ON offers (key, room, epoch, slot);

-- As in the SQLite schema of the same number.
CREATE TABLE conclusions (
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    body  BYTEA NOT NULL,
    PRIMARY KEY (room, epoch),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
);
INSERT INTO conclusions (room, epoch, body) SELECT room, number, conclusion FROM epochs WHERE conclusion IS NOT NULL;
-- A dropped column's values would stay in the rows: nothing could erase them any more.
UPDATE epochs SET conclusion = NULL WHERE conclusion IS NOT NULL;
ALTER TABLE epochs DROP COLUMN conclusion;
