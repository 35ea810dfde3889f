-- As in the SQLite schema of the same number.

CREATE TABLE decisions (
    id      BYTEA PRIMARY KEY,
    created BIGINT NOT NULL,
    closed  BIGINT,
    opens   BYTEA
);

CREATE TABLE decision_records (
    decision BYTEA NOT NULL REFERENCES decisions (id),
    number   BIGINT NOT NULL,
    body     BYTEA NOT NULL,
    PRIMARY KEY (decision, number)
);

CREATE TABLE decision_openings (
    decision BYTEA NOT NULL REFERENCES decisions (id),
    party    BIGINT NOT NULL,
    body     BYTEA NOT NULL,
    PRIMARY KEY (decision, party)
);

CREATE TABLE spent_keys (
    owner  BYTEA NOT NULL,
    serial BYTEA NOT NULL,
    PRIMARY KEY (owner, serial)
);

CREATE TABLE stock_keys (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner  BYTEA NOT NULL,
    serial BYTEA NOT NULL,
    body   BYTEA NOT NULL,
    UNIQUE (owner, serial)
);

CREATE TABLE held_shares (
    owner    BYTEA NOT NULL,
    serial   BYTEA NOT NULL,
    body     BYTEA NOT NULL,
    used_for BYTEA,
    PRIMARY KEY (owner, serial)
);

CREATE TABLE decision_mails (
    decision BYTEA NOT NULL REFERENCES decisions (id),
    person   BIGINT NOT NULL,
    sent     BIGINT NOT NULL,
    PRIMARY KEY (decision, person)
);
