-- What the engine has decided in an epoch, until every server has settled it. Marks that stand for ever, and an epoch's marks
-- of earlier versions, are in the table journal.
CREATE TABLE epoch_marks (
    room  BYTEA NOT NULL,
    epoch BIGINT NOT NULL,
    name  TEXT NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (room, epoch, name)
);
