-- For which slots intake processes have recorded submissions that the engine has not heard of: one row per epoch and batch, written
-- with the submissions and taken away by the engine. Only PostgreSQL serves several processes; the table is here too, for one set
-- of queries.
CREATE TABLE arrivals (
    id    INTEGER PRIMARY KEY,
    room  BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    -- Four bytes for each slot, the lowest first.
    slots BLOB NOT NULL
) STRICT;
