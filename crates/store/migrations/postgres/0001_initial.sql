-- The state of one server, as in the SQLite schema of the same number, which says what each column means. Identifiers
-- and keys are BYTEA, every number is a BIGINT, flags are 0 or 1.

CREATE TABLE announcements (
    author    BIGINT NOT NULL,
    number    BIGINT NOT NULL,
    signed    BYTEA,
    body      BYTEA NOT NULL,
    delivered BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (author, number)
);

CREATE TABLE rooms (
    id         BYTEA PRIMARY KEY,
    descriptor BYTEA NOT NULL,
    author     BIGINT NOT NULL,
    open       BIGINT NOT NULL DEFAULT 1
);

CREATE TABLE batches (
    number  BIGINT PRIMARY KEY,
    rows    BIGINT NOT NULL,
    width   BIGINT NOT NULL,
    state   BIGINT NOT NULL DEFAULT 0,
    digest  BYTEA,
    ready   BIGINT NOT NULL DEFAULT 0,
    dropped BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE epochs (
    room       BYTEA NOT NULL REFERENCES rooms (id),
    number     BIGINT NOT NULL,
    batch      BIGINT NOT NULL UNIQUE REFERENCES batches (number),
    state      BIGINT NOT NULL DEFAULT 0,
    opened_at  BIGINT NOT NULL,
    begun_at   BIGINT,
    conclusion BYTEA,
    outcome    BYTEA,
    PRIMARY KEY (room, number)
);

CREATE UNIQUE INDEX one_collecting_epoch ON epochs (room) WHERE state = 0;
CREATE INDEX unfinished_epochs ON epochs (state) WHERE state < 3;

CREATE TABLE assignments (
    room         BYTEA NOT NULL,
    epoch        BIGINT NOT NULL,
    slot         BIGINT NOT NULL,
    key          BYTEA NOT NULL,
    author       BIGINT NOT NULL,
    announcement BIGINT NOT NULL,
    issued       BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (room, epoch, slot),
    UNIQUE (room, epoch, author, key),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
);

CREATE TABLE submissions (
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    slot  BIGINT NOT NULL,
    key   BYTEA NOT NULL,
    body  BYTEA NOT NULL,
    PRIMARY KEY (room, epoch, slot),
    UNIQUE (room, epoch, key),
    FOREIGN KEY (room, epoch) REFERENCES epochs (room, number)
);
-- Under masks it is noise: trying to compress it is time lost.
ALTER TABLE submissions ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE entries (
    room     BYTEA NOT NULL REFERENCES rooms (id),
    position BIGINT NOT NULL,
    epoch    BIGINT NOT NULL,
    digest   BYTEA NOT NULL,
    body     BYTEA NOT NULL,
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

CREATE TABLE journal (
    name  TEXT PRIMARY KEY,
    value BYTEA NOT NULL
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

-- One row: how often an engine has opened this database. An engine that lost its connection, and with it the lock that
-- keeps others away, goes on only if no other one came in between.
CREATE TABLE engine (
    generation BIGINT NOT NULL
);
INSERT INTO engine (generation) VALUES (0);
