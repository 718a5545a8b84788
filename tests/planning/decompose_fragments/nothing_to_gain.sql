-- Queries that share no fragment need a record each.
-- stream: parts(ts timestamp, part int, x int) time=ts
-- records: all

-- name: one
SELECT count(*) AS n FROM parts
WHERE part = 1
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: two
SELECT count(*) AS n FROM parts
WHERE part = 2
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: three
SELECT count(*) AS n FROM parts
WHERE part = 3
GROUP BY window(ts, '10 minutes', '5 minutes');
