-- As in the SQLite schema of the same number.
UPDATE entries SET body = decode(repeat('00', 4096), 'hex') || body;
UPDATE epochs SET conclusion = decode(repeat('00', 4096), 'hex') || conclusion WHERE conclusion IS NOT NULL;
