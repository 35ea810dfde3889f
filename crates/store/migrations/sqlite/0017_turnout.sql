-- Drafts, keys and deposits have another form: decisions of earlier releases, and the keys made for them, end here.
DELETE FROM decision_mails;
DELETE FROM decision_openings;
DELETE FROM decision_records;
DELETE FROM decisions;
DELETE FROM stock_keys;
DELETE FROM held_shares;

-- Until when a share is kept if it is not used, in seconds since 1970. An erased share has no bytes.
ALTER TABLE held_shares ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;

-- The servers' words that a date of a decision has passed: the numbers of their announcements.
CREATE TABLE decision_due (
    decision     BLOB NOT NULL REFERENCES decisions (id),
    date         INTEGER NOT NULL,
    party        INTEGER NOT NULL,
    announcement INTEGER NOT NULL,
    PRIMARY KEY (decision, date, party)
) STRICT, WITHOUT ROWID;

-- Records that servers hold for people and that P0 has not taken in, after the head of the chain.
CREATE TABLE decision_held (
    decision     BLOB NOT NULL REFERENCES decisions (id),
    party        INTEGER NOT NULL,
    person       INTEGER NOT NULL,
    announcement INTEGER NOT NULL,
    previous     BLOB NOT NULL,
    body         BLOB NOT NULL,
    PRIMARY KEY (decision, party, person)
) STRICT;

-- What this server drew for its layer of a draft, and when, in seconds since 1970.
CREATE TABLE decision_layers (
    decision BLOB PRIMARY KEY NOT NULL,
    seed     BLOB NOT NULL,
    drawn    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- 1: this server has erased what it kept for a decision that is over.
ALTER TABLE decisions ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;

-- Entries of boards that are not as they were published: nobody is shown them, by whichever of a
-- server's processes.
CREATE TABLE damaged_entries (
    room     BLOB NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (room, position)
) STRICT, WITHOUT ROWID;
