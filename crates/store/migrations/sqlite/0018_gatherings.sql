-- Join links of decisions to come, as this server alone keeps them, until a time in seconds since 1970.
CREATE TABLE gatherings (
    id     BLOB PRIMARY KEY NOT NULL,
    body   BLOB NOT NULL,
    word   BLOB,
    number INTEGER NOT NULL DEFAULT 0,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who asks to take part, by account.
CREATE TABLE gathering_requests (
    gathering BLOB NOT NULL REFERENCES gatherings (id),
    account   BLOB NOT NULL,
    body      BLOB NOT NULL,
    PRIMARY KEY (gathering, account)
) STRICT, WITHOUT ROWID;
