-- How many actions the room's hosts had done when the epoch was opened: who was admitted by then may have a slot.
ALTER TABLE epochs ADD COLUMN actions INTEGER NOT NULL DEFAULT 0;
