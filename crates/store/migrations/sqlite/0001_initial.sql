-- The state of one server. Identifiers and keys are BLOBs, times are milliseconds since 1970, flags are 0 or 1.
-- Nothing here is secret except what a submission holds; keys and stock are files beside the database.

-- What the servers announced to each other, one log per author. A row is written before this server vouches for the
-- announcement (or, for its own, before it is sent), so that no restart makes it vouch for a different one.
CREATE TABLE announcements (
    author    INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    -- The author's signed header; NULL for this server's own, which it signs again the same way.
    signed    BLOB,
    body      BLOB NOT NULL,
    -- 1 once the other servers have been seen to hold the same one and its effect, below, has been recorded.
    delivered INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (author, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE rooms (
    id         BLOB PRIMARY KEY,
    descriptor BLOB NOT NULL,
    author     INTEGER NOT NULL,
    open       INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;

-- Preprocessed material. Numbers are never used again: a row stays when its file is gone.
CREATE TABLE batches (
    number  INTEGER PRIMARY KEY,
    rows    INTEGER NOT NULL,
    width   INTEGER NOT NULL,
    -- 0 planned, 1 on disk, 2 reserved for an epoch, 3 spent, 4 discarded.
    state   INTEGER NOT NULL DEFAULT 0,
    -- Digest of the file; set when it is on disk.
    digest  BLOB,
    -- Bit j: server j announced that it holds the batch, or that it does not and never will.
    ready   INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE epochs (
    room        BLOB NOT NULL REFERENCES rooms (id),
    number      INTEGER NOT NULL,
    batch       INTEGER NOT NULL UNIQUE REFERENCES batches (number),
    -- 0 collecting, 1 sealed (to be computed), 2 settled (the outcome stands), 3 finished (all servers have settled).
    state       INTEGER NOT NULL DEFAULT 0,
    opened_at   INTEGER NOT NULL,
    -- When the first slot was assigned.
    begun_at    INTEGER,
    -- What this server found when it computed the epoch, encoded: written before the others are told.
    conclusion  BLOB,
    -- How it ended, encoded; set with state 2.
    outcome     BLOB,
    PRIMARY KEY (room, number)
) STRICT, WITHOUT ROWID;

-- A room collects in one epoch at a time.
CREATE UNIQUE INDEX one_collecting_epoch ON epochs (room) WHERE state = 0;
CREATE INDEX unfinished_epochs ON epochs (state) WHERE state < 3;

-- Who owns which slot: agreed among the servers before any of them gives anything out for it.
CREATE TABLE assignments (
    room         BLOB NOT NULL,
    epoch        INTEGER NOT NULL,
    slot         INTEGER NOT NULL,
    key          BLOB NOT NULL,
    author       INTEGER NOT NULL,
    -- Number of the author's announcement.
    announcement INTEGER NOT NULL,
    -- 1 before this server's issue for the slot leaves it.
    issued       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (room, epoch, slot),
    UNIQUE (room, epoch, author, key),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE submissions (
    room  BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    slot  INTEGER NOT NULL,
    key   BLOB NOT NULL,
    body  BLOB NOT NULL,
    PRIMARY KEY (room, epoch, slot),
    -- One submission per participant and epoch.
    UNIQUE (room, epoch, key),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
) STRICT;

CREATE TABLE entries (
    room     BLOB NOT NULL REFERENCES rooms (id),
    -- Index on the board, from 0.
    position INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    digest   BLOB NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (room, position),
    -- Nothing is published twice.
    UNIQUE (room, epoch)
) STRICT;

CREATE TABLE signatures (
    room      BLOB NOT NULL,
    epoch     INTEGER NOT NULL,
    party     INTEGER NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (room, epoch, party),
    FOREIGN KEY (room, epoch) REFERENCES entries (room, epoch)
) STRICT, WITHOUT ROWID;

-- Marks of the mixing engine: the first value of a name stands for ever.
CREATE TABLE journal (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- What misbehaving servers left behind.
CREATE TABLE faults (
    id       INTEGER PRIMARY KEY,
    seen_at  INTEGER NOT NULL,
    culprit  INTEGER NOT NULL,
    what     TEXT NOT NULL,
    evidence BLOB NOT NULL,
    -- The same evidence is kept once.
    UNIQUE (culprit, what, evidence)
) STRICT;
