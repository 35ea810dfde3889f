-- What an engine process and the intake processes beside it tell each other. The SQLite schema of the same number is
-- the same, for one set of queries; only PostgreSQL serves several processes.

-- What the engine shows: one row per subject, with a number that grows with every change of any.
CREATE UNLOGGED TABLE views (
    name   TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    value  BYTEA NOT NULL
);
CREATE INDEX views_by_number ON views (number);

-- What this server gives to the owners of slots in epochs that collect, signed, not yet closed for them.
CREATE UNLOGGED TABLE offers (
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    slot  BIGINT NOT NULL,
    key   BYTEA NOT NULL,
    offer BYTEA NOT NULL,
    PRIMARY KEY (room, epoch, slot)
);
CREATE INDEX offers_by_key ON offers (room, epoch, key);

-- Who said to an intake process that it is there, and when (milliseconds since 1970). Forgotten within a minute.
CREATE UNLOGGED TABLE presence (
    room    BYTEA NOT NULL,
    key     BYTEA NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (room, key)
);
CREATE INDEX presence_by_time ON presence (seen_at);
