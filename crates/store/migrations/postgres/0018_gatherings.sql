-- As in the SQLite schema of the same number.
CREATE TABLE gatherings (
    id     BYTEA PRIMARY KEY,
    body   BYTEA NOT NULL,
    word   BYTEA,
    number BIGINT NOT NULL DEFAULT 0,
    until  BIGINT NOT NULL
);

CREATE TABLE gathering_requests (
    gathering BYTEA NOT NULL REFERENCES gatherings (id),
    account   BYTEA NOT NULL,
    body      BYTEA NOT NULL,
    PRIMARY KEY (gathering, account)
);
