-- The state of one server, as in the SQLite schema of the same number, which says what each column means. Identifiers
-- and keys are BYTEA, every number is a BIGINT, flags are 0 or 1.
--
-- Tables of an epoch are filled and emptied within minutes, so there are no statistics of them to rely on, and without any the
-- planner takes a room's epoch for a handful of rows. It must have no choice: one index of each table begins with room and
-- epoch, and whoever gives a key or a slot besides is led to that row alone. (SQLite plans without statistics.)

CREATE TABLE announcements (
    author    BIGINT NOT NULL,
    number    BIGINT NOT NULL,
    signed    BYTEA,
    body      BYTEA NOT NULL,
    delivered BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (author, number)
);

CREATE TABLE generation (
    number BIGINT NOT NULL,
    digest BYTEA,
    closed BIGINT NOT NULL DEFAULT 0
);
INSERT INTO generation (number) VALUES (0);

CREATE TABLE rooms (
    id           BYTEA PRIMARY KEY,
    descriptor   BYTEA NOT NULL,
    author       BIGINT NOT NULL,
    open         BIGINT NOT NULL DEFAULT 1,
    first_epoch  BIGINT NOT NULL DEFAULT 0,
    announcement BIGINT NOT NULL DEFAULT 0,
    deleted      BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE host_actions (
    room   BYTEA NOT NULL REFERENCES rooms (id),
    number BIGINT NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (room, number)
);

CREATE TABLE batches (
    number  BIGINT PRIMARY KEY,
    engine  BIGINT NOT NULL,
    rows    BIGINT NOT NULL,
    width   BIGINT NOT NULL,
    state   BIGINT NOT NULL DEFAULT 0,
    digest  BYTEA,
    planned BIGINT NOT NULL
);

CREATE TABLE batch_holders (
    batch        BIGINT NOT NULL REFERENCES batches (number),
    party        BIGINT NOT NULL,
    announcement BIGINT NOT NULL,
    PRIMARY KEY (batch, party)
);

CREATE TABLE batch_losers (
    batch BIGINT NOT NULL REFERENCES batches (number),
    party BIGINT NOT NULL,
    PRIMARY KEY (batch, party)
);

CREATE TABLE epochs (
    room         BYTEA NOT NULL REFERENCES rooms (id),
    number       BIGINT NOT NULL,
    batch        BIGINT NOT NULL UNIQUE REFERENCES batches (number),
    state        BIGINT NOT NULL DEFAULT 0,
    announcement BIGINT NOT NULL,
    opened_at    BIGINT NOT NULL,
    begun_at     BIGINT,
    minimum      BIGINT NOT NULL,
    actions      BIGINT NOT NULL,
    outcome      BYTEA,
    PRIMARY KEY (room, number)
);

CREATE UNIQUE INDEX one_collecting_epoch ON epochs (room) WHERE state = 0;
CREATE INDEX unfinished_epochs ON epochs (state) WHERE state < 3;

CREATE TABLE epoch_due (
    room         BYTEA NOT NULL,
    epoch        BIGINT NOT NULL,
    party        BIGINT NOT NULL,
    announcement BIGINT NOT NULL,
    PRIMARY KEY (room, epoch, party),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
);

CREATE TABLE assignments (
    room         BYTEA NOT NULL,
    epoch        BIGINT NOT NULL,
    slot         BIGINT NOT NULL,
    key          BYTEA NOT NULL,
    author       BIGINT NOT NULL,
    announcement BIGINT NOT NULL,
    issued       BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (room, epoch, slot),
    UNIQUE (key, room, epoch, author),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
);

CREATE TABLE submissions (
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    slot  BIGINT NOT NULL,
    key   BYTEA NOT NULL,
    body  BYTEA NOT NULL,
    PRIMARY KEY (room, epoch, slot),
    UNIQUE (key, room, epoch),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
);
-- Under masks it is noise: trying to compress it is time lost.
ALTER TABLE submissions ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE conclusions (
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    body  BYTEA NOT NULL,
    PRIMARY KEY (room, epoch),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
);

CREATE TABLE entries (
    room         BYTEA NOT NULL REFERENCES rooms (id),
    position     BIGINT NOT NULL,
    epoch        BIGINT NOT NULL,
    digest       BYTEA NOT NULL,
    body         BYTEA NOT NULL,
    published_on BIGINT NOT NULL,
    PRIMARY KEY (room, position),
    UNIQUE (room, epoch)
);

CREATE TABLE signatures (
    room      BYTEA NOT NULL,
    epoch     BIGINT NOT NULL,
    party     BIGINT NOT NULL,
    signature BYTEA NOT NULL,
    PRIMARY KEY (room, epoch, party),
    FOREIGN KEY (room, epoch) REFERENCES entries (room, epoch)
);

CREATE TABLE damaged_entries (
    room     BYTEA NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (room, position)
);

CREATE TABLE journal (
    name  TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE epoch_marks (
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    name  TEXT NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (room, epoch, name)
);

CREATE TABLE faults (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    seen_at  BIGINT NOT NULL,
    culprit  BIGINT NOT NULL,
    what     TEXT NOT NULL,
    evidence BYTEA NOT NULL
);
-- Evidence is longer than what an index takes, so its digest stands for it.
CREATE UNIQUE INDEX faults_once ON faults (culprit, what, sha256(evidence));

CREATE TABLE audit (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     BIGINT NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
);

CREATE TABLE job_words (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job          BIGINT NOT NULL,
    subject      BYTEA NOT NULL,
    author       BIGINT NOT NULL,
    announcement BIGINT NOT NULL,
    word         BYTEA NOT NULL,
    kind         BIGINT NOT NULL,
    place        BIGINT NOT NULL,
    -- Of a word that was not judged yet: how many announcements of each server its author had heard of.
    unjudged     BYTEA
);
CREATE INDEX job_words_by_place ON job_words (job, subject, kind, place);

CREATE TABLE job_subjects (
    job     BIGINT NOT NULL,
    subject BYTEA NOT NULL,
    PRIMARY KEY (job, subject)
);

CREATE TABLE job_items (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job    BIGINT NOT NULL,
    drawer BIGINT NOT NULL,
    key    BYTEA NOT NULL,
    family BYTEA NOT NULL,
    body   BYTEA NOT NULL,
    bound  BYTEA,
    until  BIGINT,
    UNIQUE (job, drawer, key)
);
CREATE INDEX job_items_by_family ON job_items (job, drawer, family);

CREATE UNLOGGED TABLE views (
    name   TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    value  BYTEA NOT NULL
);
CREATE INDEX views_by_number ON views (number);

CREATE UNLOGGED TABLE offers (
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    slot  BIGINT NOT NULL,
    key   BYTEA NOT NULL,
    offer BYTEA NOT NULL,
    PRIMARY KEY (room, epoch, slot)
);
CREATE INDEX offers_by_key ON offers (key, room, epoch, slot);

CREATE UNLOGGED TABLE presence (
    room    BYTEA NOT NULL,
    key     BYTEA NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (room, key)
);
CREATE INDEX presence_by_time ON presence (seen_at);

-- It is logged: with it a submission would be forgotten until the epoch is sealed.
CREATE TABLE arrivals (
    id    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    slots BYTEA NOT NULL
);

-- One row: how often an engine has opened this database. An engine that lost its connection, and with it the lock that
-- keeps others away, goes on only if no other one came in between.
CREATE TABLE engine (
    generation BIGINT NOT NULL,
    -- The token of the engine's newest transaction that was committed: it tells what became of one whose commit was not
    -- answered. (Numbers of transactions do not: after a crash PostgreSQL gives out again those that it had not written down.)
    token      TEXT
);
INSERT INTO engine (generation) VALUES (0);
