-- As in the SQLite schema of the same number.

CREATE TABLE host_actions (
    room   BYTEA NOT NULL REFERENCES rooms (id),
    number BIGINT NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (room, number)
);

CREATE TABLE audit (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     BIGINT NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
);

ALTER TABLE entries ADD COLUMN published_on BIGINT NOT NULL DEFAULT 0;
