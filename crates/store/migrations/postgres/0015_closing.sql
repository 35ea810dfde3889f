-- With which minimum an epoch was opened; the room's, where that is not known.
ALTER TABLE epochs ADD COLUMN minimum BIGINT;
-- By which announcement each server said that it is due.
ALTER TABLE epochs ADD COLUMN due_0 BIGINT;
ALTER TABLE epochs ADD COLUMN due_1 BIGINT;
ALTER TABLE epochs ADD COLUMN due_2 BIGINT;
