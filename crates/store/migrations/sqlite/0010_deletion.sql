-- Whether this server's operator has deleted the room: then it is not shown, and its messages are erased.
ALTER TABLE rooms ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
