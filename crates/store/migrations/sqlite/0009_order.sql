-- Of what a server had heard when it made an announcement is judged by the numbers of announcements: of the one that created a
-- room, planned a batch or opened an epoch, and of those by which servers said that they hold a batch. What is here already,
-- all have heard of.
ALTER TABLE rooms ADD COLUMN announcement INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN planned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN said_0 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN said_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN said_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE epochs ADD COLUMN announcement INTEGER NOT NULL DEFAULT 0;
