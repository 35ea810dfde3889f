-- With which minimum an epoch was opened; the room's, where that is not known.
ALTER TABLE epochs ADD COLUMN minimum INTEGER;
-- By which announcement each server said that it is due.
ALTER TABLE epochs ADD COLUMN due_0 INTEGER;
ALTER TABLE epochs ADD COLUMN due_1 INTEGER;
ALTER TABLE epochs ADD COLUMN due_2 INTEGER;
