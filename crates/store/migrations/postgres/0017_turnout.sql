-- As in the SQLite schema of the same number.
DELETE FROM decision_mails;
DELETE FROM decision_openings;
DELETE FROM decision_records;
DELETE FROM decisions;
DELETE FROM stock_keys;
DELETE FROM held_shares;

ALTER TABLE held_shares ADD COLUMN expires BIGINT NOT NULL DEFAULT 0;

CREATE TABLE decision_due (
    decision     BYTEA NOT NULL REFERENCES decisions (id),
    date         BIGINT NOT NULL,
    party        BIGINT NOT NULL,
    announcement BIGINT NOT NULL,
    PRIMARY KEY (decision, date, party)
);

CREATE TABLE decision_held (
    decision     BYTEA NOT NULL REFERENCES decisions (id),
    party        BIGINT NOT NULL,
    person       BIGINT NOT NULL,
    announcement BIGINT NOT NULL,
    previous     BYTEA NOT NULL,
    body         BYTEA NOT NULL,
    PRIMARY KEY (decision, party, person)
);

CREATE TABLE decision_layers (
    decision BYTEA PRIMARY KEY,
    seed     BYTEA NOT NULL,
    drawn    BIGINT NOT NULL
);

-- 1: this server has erased what it kept for a decision that is over.
ALTER TABLE decisions ADD COLUMN erased BIGINT NOT NULL DEFAULT 0;

-- Entries of boards that are not as they were published: nobody is shown them, by whichever of a
-- server's processes.
CREATE TABLE damaged_entries (
    room     BYTEA NOT NULL,
    position BIGINT NOT NULL,
    PRIMARY KEY (room, position)
);
