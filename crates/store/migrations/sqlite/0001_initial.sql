-- The state of one server. Identifiers and keys are BLOBs, times are milliseconds since 1970, flags are 0 or 1.
-- Nothing here is secret except what a submission holds; keys and stock are files beside the database. Of which servers
-- something holds is said by rows, one for each.
--
-- SQLite compares whole rows, however long, while it looks for one in a table without row numbers: tables with long values
-- have them.

-- What the servers announced to each other, one log per author. A row is written before this server vouches for the
-- announcement (or, for its own, before it is sent), so that no restart makes it vouch for a different one.
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

-- The generation of the servers' logs and stock. A renewal (docs/spec/restore.md) begins the next one.
CREATE TABLE generation (
    number INTEGER NOT NULL,
    -- Digest of the state with which it began; NULL for the first.
    digest BLOB,
    -- 1 once this server has written its state for the next one: it says nothing more in this one.
    closed INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO generation (number) VALUES (0);

CREATE TABLE rooms (
    id           BLOB PRIMARY KEY,
    descriptor   BLOB NOT NULL,
    author       INTEGER NOT NULL,
    open         INTEGER NOT NULL DEFAULT 1,
    -- Epochs below this number belong to earlier generations.
    first_epoch  INTEGER NOT NULL DEFAULT 0,
    -- The number of the announcement that created it: by such numbers is judged of what a server had heard. What comes
    -- from an earlier generation, all have heard of.
    announcement INTEGER NOT NULL DEFAULT 0,
    -- Whether this server's operator has deleted the room: then it is not shown, and its messages are erased.
    deleted      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- What a room's hosts did: one chain of signed actions per room, in the order that all servers agreed on.
CREATE TABLE host_actions (
    room   BLOB NOT NULL REFERENCES rooms (id),
    number INTEGER NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (room, number)
) STRICT, WITHOUT ROWID;

-- Preprocessed material. Numbers are never used again: a row stays when its file is gone.
CREATE TABLE batches (
    number  INTEGER PRIMARY KEY,
    -- The number of the engine that it is for.
    engine  INTEGER NOT NULL,
    rows    INTEGER NOT NULL,
    width   INTEGER NOT NULL,
    -- 0 planned, 1 on disk, 2 reserved for an epoch, 3 spent, 4 discarded.
    state   INTEGER NOT NULL DEFAULT 0,
    -- Digest of the file; set when it is on disk.
    digest  BLOB,
    -- The number of the announcement that planned it.
    planned INTEGER NOT NULL
) STRICT;

-- Which servers said that they hold a batch, and by which announcement they first did.
CREATE TABLE batch_holders (
    batch        INTEGER NOT NULL REFERENCES batches (number),
    party        INTEGER NOT NULL,
    announcement INTEGER NOT NULL,
    PRIMARY KEY (batch, party)
) STRICT, WITHOUT ROWID;

-- Which servers said that they do not hold a batch and never will.
CREATE TABLE batch_losers (
    batch INTEGER NOT NULL REFERENCES batches (number),
    party INTEGER NOT NULL,
    PRIMARY KEY (batch, party)
) STRICT, WITHOUT ROWID;

CREATE TABLE epochs (
    room         BLOB NOT NULL REFERENCES rooms (id),
    number       INTEGER NOT NULL,
    batch        INTEGER NOT NULL UNIQUE REFERENCES batches (number),
    -- 0 collecting, 1 sealed (to be computed), 2 settled (the outcome stands), 3 finished (all servers have settled).
    state        INTEGER NOT NULL DEFAULT 0,
    -- The number of the announcement that opened it.
    announcement INTEGER NOT NULL,
    opened_at    INTEGER NOT NULL,
    -- When the first slot was assigned.
    begun_at     INTEGER,
    -- With which minimum it was opened.
    minimum      INTEGER NOT NULL,
    -- How many actions the room's hosts had done when it was opened: who was admitted by then may have a slot.
    actions      INTEGER NOT NULL,
    -- How it ended, encoded; set with state 2.
    outcome      BLOB,
    PRIMARY KEY (room, number)
) STRICT, WITHOUT ROWID;

-- A room collects in one epoch at a time.
CREATE UNIQUE INDEX one_collecting_epoch ON epochs (room) WHERE state = 0;
CREATE INDEX unfinished_epochs ON epochs (state) WHERE state < 3;

-- By which announcement each server said that an epoch that collects is due.
CREATE TABLE epoch_due (
    room         BLOB NOT NULL,
    epoch        INTEGER NOT NULL,
    party        INTEGER NOT NULL,
    announcement INTEGER NOT NULL,
    PRIMARY KEY (room, epoch, party),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
) STRICT, WITHOUT ROWID;

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

-- What this server found when it computed an epoch, encoded: written before the others are told. Bodies that may have to be
-- erased come after a lead of zeros, here and in `entries`, so that all of them is on overflow pages, of which SQLite leaves
-- no copies behind.
CREATE TABLE conclusions (
    room  BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    body  BLOB NOT NULL,
    PRIMARY KEY (room, epoch),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
) STRICT;

CREATE TABLE entries (
    room         BLOB NOT NULL REFERENCES rooms (id),
    -- Index on the board, from 0.
    position     INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    digest       BLOB NOT NULL,
    body         BLOB NOT NULL,
    -- The day, counted from 1970, on which it was published: bodies are kept for a number of days.
    published_on INTEGER NOT NULL,
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

-- Entries of boards that are not as they were published: nobody is shown them, by whichever of a
-- server's processes.
CREATE TABLE damaged_entries (
    room     BLOB NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (room, position)
) STRICT, WITHOUT ROWID;

-- Marks of the mixing engine: the first value of a name stands for ever.
CREATE TABLE journal (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- What the engine has decided in an epoch, until every server has settled it.
CREATE TABLE epoch_marks (
    room  BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    name  TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (room, epoch, name)
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

-- What operators and hosts did here; never what participants did.
CREATE TABLE audit (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

-- What servers said of jobs, in the order in which it was delivered here.
CREATE TABLE job_words (
    id           INTEGER PRIMARY KEY,
    job          INTEGER NOT NULL,
    subject      BLOB NOT NULL,
    author       INTEGER NOT NULL,
    announcement INTEGER NOT NULL,
    word         BLOB NOT NULL,
    -- As the job files it: words about a subject are read again by kind, in the order of their places.
    kind         INTEGER NOT NULL,
    place        INTEGER NOT NULL,
    -- Of a word that was not judged yet: how many announcements of each server its author had heard of.
    unjudged     BLOB
) STRICT;
CREATE INDEX job_words_by_place ON job_words (job, subject, kind, place);

-- What words of jobs are about and began here, in this generation or an earlier one.
CREATE TABLE job_subjects (
    job     INTEGER NOT NULL,
    subject BLOB NOT NULL,
    PRIMARY KEY (job, subject)
) STRICT, WITHOUT ROWID;

-- What this server keeps of jobs for itself, in drawers, also when a generation is over.
CREATE TABLE job_items (
    id     INTEGER PRIMARY KEY,
    job    INTEGER NOT NULL,
    drawer INTEGER NOT NULL,
    key    BLOB NOT NULL,
    -- Items of a drawer are listed and counted by this.
    family BLOB NOT NULL,
    -- Nothing if it was erased.
    body   BLOB NOT NULL,
    -- What it is used for, once and for ever.
    bound  BLOB,
    -- Until when it is kept if it is not used, in seconds since 1970.
    until  INTEGER,
    UNIQUE (job, drawer, key)
) STRICT;
CREATE INDEX job_items_by_family ON job_items (job, drawer, family);

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

-- For which slots intake processes have recorded submissions that the engine has not heard of: one row per epoch and batch,
-- written with the submissions and taken away by the engine.
CREATE TABLE arrivals (
    id    INTEGER PRIMARY KEY,
    room  BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    -- Four bytes for each slot, the lowest first.
    slots BLOB NOT NULL
) STRICT;
