-- What a member of a committee remembers (docs/spec/committee.md). Digests and keys are 32 bytes.

CREATE TABLE computations (
    id BLOB PRIMARY KEY NOT NULL,
    draft BLOB NOT NULL,
    -- The computation whose sealed inputs are used again, if it is an earlier one's (C14).
    earlier BLOB,
    -- The creator's order to close, if it came.
    close_order BLOB,
    -- How often the computation was begun (C8).
    generation INTEGER NOT NULL DEFAULT 0,
    -- The list that counts, once this member has signed it.
    seal BLOB,
    conclusion BLOB,
    -- When it was over, in seconds since 1970 by this member's clock.
    over INTEGER
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

-- What a member needs to go on with an attempt after a restart (docs/spec/committee.md, C8): place 0 has the attempt's
-- 32 random bytes, the others the pieces of its tape. Erased when the computation is over.
CREATE TABLE attempts (
    computation BLOB NOT NULL REFERENCES computations (id),
    attempt BLOB NOT NULL,
    place INTEGER NOT NULL,
    piece BLOB NOT NULL,
    PRIMARY KEY (computation, attempt, place)
);

-- What is left of computations whose time is up: they are never begun again. No archive where there was no result.
CREATE TABLE past (
    computation BLOB PRIMARY KEY NOT NULL,
    archive BLOB
);

-- What answers have cost contributors, in thousandths of ε, none if they were exact; kept when computations are deleted.
CREATE TABLE spent (
    contributor BLOB NOT NULL,
    computation BLOB NOT NULL,
    epsilon INTEGER,
    PRIMARY KEY (contributor, computation)
);

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
