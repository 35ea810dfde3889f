-- What an engine process and the intake processes beside it tell each other. Only PostgreSQL serves several processes;
-- the tables are here too, for one set of queries.

-- What the engine shows: one row per subject, with a number that grows with every change of any.
CREATE TABLE views (
    name   TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    value  BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX views_by_number ON views (number);

-- What this server gives to the owners of slots in epochs that collect, signed, not yet closed for them.
CREATE TABLE offers (
    room  BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    slot  INTEGER NOT NULL,
    key   BLOB NOT NULL,
    offer BLOB NOT NULL,
    PRIMARY KEY (room, epoch, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX offers_by_key ON offers (room, epoch, key);

-- Who said to an intake process that it is there, and when (milliseconds since 1970). Forgotten within a minute.
CREATE TABLE presence (
    room    BLOB NOT NULL,
    key     BLOB NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (room, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX presence_by_time ON presence (seen_at);
