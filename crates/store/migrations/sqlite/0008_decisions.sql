-- Private decisions (docs/spec/decide.md). `created` and `closed` are the numbers of P0's announcements that did so; `opens` is
-- the digest of the one close that this server opens.
CREATE TABLE decisions (
    id      BLOB PRIMARY KEY NOT NULL,
    created INTEGER NOT NULL,
    closed  INTEGER,
    opens   BLOB
) STRICT, WITHOUT ROWID;

-- One chain of signed records per decision. Records are long, so rows have numbers of their own.
CREATE TABLE decision_records (
    decision BLOB NOT NULL REFERENCES decisions (id),
    number   INTEGER NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (decision, number)
) STRICT;

-- What each server opened.
CREATE TABLE decision_openings (
    decision BLOB NOT NULL REFERENCES decisions (id),
    party    INTEGER NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (decision, party)
) STRICT, WITHOUT ROWID;

-- One-time keys that stand in a decision.
CREATE TABLE spent_keys (
    owner  BLOB NOT NULL,
    serial BLOB NOT NULL,
    PRIMARY KEY (owner, serial)
) STRICT, WITHOUT ROWID;

-- Certified one-time keys whose owners are away, in the order in which they came.
CREATE TABLE stock_keys (
    id     INTEGER PRIMARY KEY,
    owner  BLOB NOT NULL,
    serial BLOB NOT NULL,
    body   BLOB NOT NULL,
    UNIQUE (owner, serial)
) STRICT;

-- Shares of people's one-time keys that this server holds as a helper; `used_for` is the one decision that a share was used in.
CREATE TABLE held_shares (
    owner    BLOB NOT NULL,
    serial   BLOB NOT NULL,
    body     BLOB NOT NULL,
    used_for BLOB,
    PRIMARY KEY (owner, serial)
) STRICT, WITHOUT ROWID;

-- E-mails that were sent to each person.
CREATE TABLE decision_mails (
    decision BLOB NOT NULL REFERENCES decisions (id),
    person   INTEGER NOT NULL,
    sent     INTEGER NOT NULL,
    PRIMARY KEY (decision, person)
) STRICT, WITHOUT ROWID;
