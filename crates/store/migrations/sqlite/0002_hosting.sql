-- What a room's hosts did: one chain of signed actions per room, in the order that all servers agreed on.
CREATE TABLE host_actions (
    room   BLOB NOT NULL REFERENCES rooms (id),
    number INTEGER NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (room, number)
) STRICT, WITHOUT ROWID;

-- What operators and hosts did here; never what participants did.
CREATE TABLE audit (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

-- The day, counted from 1970, on which an entry was published: bodies are kept for a number of days.
ALTER TABLE entries ADD COLUMN published_on INTEGER NOT NULL DEFAULT 0;
