-- What a member needs to go on with an attempt after a restart (docs/spec/committee.md, C8): place 0 has the attempt's
-- 32 random bytes, the others the pieces of its tape. Erased when the computation is over.
CREATE TABLE attempts (
    computation BLOB NOT NULL REFERENCES computations (id),
    attempt BLOB NOT NULL,
    place INTEGER NOT NULL,
    piece BLOB NOT NULL,
    PRIMARY KEY (computation, attempt, place)
);

-- When it was over, in seconds since 1970 by this member's clock.
ALTER TABLE computations ADD COLUMN over INTEGER;

-- What is left of computations whose time is up: they are never begun again. No archive where there was no result.
CREATE TABLE past (
    computation BLOB PRIMARY KEY NOT NULL,
    archive BLOB
);

-- What answers have cost contributors, in thousandths of ε; kept when computations are deleted.
CREATE TABLE spent (
    contributor BLOB NOT NULL,
    computation BLOB NOT NULL,
    epsilon INTEGER NOT NULL,
    PRIMARY KEY (contributor, computation)
);
