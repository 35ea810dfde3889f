-- What the engine has decided in an epoch, until every server has settled it. Marks that stand for ever, and an epoch's marks
-- of earlier versions, are in the table journal.
CREATE TABLE epoch_marks (
    room  BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    name  TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (room, epoch, name)
) STRICT, WITHOUT ROWID;
