-- What a member of a committee remembers (docs/spec/committee.md). Digests and keys are 32 bytes.

CREATE TABLE computations (
    id BLOB PRIMARY KEY NOT NULL,
    draft BLOB NOT NULL,
    -- The creator's order to close, if it came.
    close_order BLOB,
    -- How often the computation was begun (C8).
    generation INTEGER NOT NULL DEFAULT 0,
    -- The list that counts, once this member has signed it.
    seal BLOB,
    conclusion BLOB
);

-- Inputs that this member took from contributors (held = 1), and such as it fetched from other members (held = 0).
CREATE TABLE inputs (
    computation BLOB NOT NULL REFERENCES computations (id),
    contributor BLOB NOT NULL,
    body_digest BLOB NOT NULL,
    signature BLOB NOT NULL,
    body BLOB NOT NULL,
    held INTEGER NOT NULL,
    PRIMARY KEY (computation, contributor, body_digest)
);

-- The statements of all members; one of a kind each.
CREATE TABLE statements (
    computation BLOB NOT NULL REFERENCES computations (id),
    member INTEGER NOT NULL,
    kind TEXT NOT NULL,
    statement BLOB NOT NULL,
    PRIMARY KEY (computation, member, kind)
);

-- Two statements that contradict each other.
CREATE TABLE equivocations (
    computation BLOB NOT NULL REFERENCES computations (id),
    member INTEGER NOT NULL,
    evidence BLOB NOT NULL,
    PRIMARY KEY (computation, member)
);

-- What an engine must not do twice; for ever, write-once.
CREATE TABLE marks (
    computation BLOB NOT NULL REFERENCES computations (id),
    name BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (computation, name)
);
