-- Inputs that come in pieces (docs/spec/committee.md, C4). The name is random, and known to who sends it.
CREATE TABLE uploads (
    id BLOB PRIMARY KEY NOT NULL,
    computation BLOB NOT NULL REFERENCES computations (id),
    contributor BLOB NOT NULL,
    body_digest BLOB NOT NULL,
    signature BLOB NOT NULL,
    -- Bytes of the body, as declared.
    bytes INTEGER NOT NULL,
    -- When it was begun or went on, in seconds since 1970.
    touched INTEGER NOT NULL,
    UNIQUE (computation, contributor)
);

CREATE TABLE pieces (
    upload BLOB NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    piece BLOB NOT NULL,
    PRIMARY KEY (upload, place)
);
