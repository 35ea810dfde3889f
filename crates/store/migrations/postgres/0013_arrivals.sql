-- As in the SQLite schema of the same number. It is logged: with it a submission would be forgotten until the epoch is sealed.
CREATE TABLE arrivals (
    id    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    slots BYTEA NOT NULL
);
