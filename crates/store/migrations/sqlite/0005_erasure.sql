-- Bodies that may have to be erased come after a lead of zeros, so that all of them is on overflow pages, of which
-- SQLite leaves no copies behind.
UPDATE entries SET body = CAST(zeroblob(4096) || body AS BLOB);
UPDATE epochs SET conclusion = CAST(zeroblob(4096) || conclusion AS BLOB) WHERE conclusion IS NOT NULL;
