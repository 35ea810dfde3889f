-- SQLite compares whole rows, however long, while it looks for one in a table without row numbers. So in such a table long values make
-- every look at the others slow. What this server found in an epoch, which is as long as all its messages, gets a table of its own;
-- announcements, which may be long, get row numbers.
CREATE TABLE conclusions (
    room  BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    -- What this server found when it computed the epoch, encoded: written before the others are told.
    body  BLOB NOT NULL,
    PRIMARY KEY (room, epoch),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
) STRICT;
INSERT INTO conclusions (room, epoch, body) SELECT room, number, conclusion FROM epochs WHERE conclusion IS NOT NULL;
ALTER TABLE epochs DROP COLUMN conclusion;

ALTER TABLE announcements RENAME TO announcements_before;
CREATE TABLE announcements (
    author    INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    -- The author's signed header; NULL for this server's own, which it signs again the same way.
    signed    BLOB,
    body      BLOB NOT NULL,
    -- 1 once the other servers have been seen to hold the same one and its effect has been recorded.
    delivered INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (author, number)
) STRICT;
INSERT INTO announcements (author, number, signed, body, delivered)
    SELECT author, number, signed, body, delivered FROM announcements_before;
DROP TABLE announcements_before;
