-- Counts of four pairs in a circle: three records do, since ab + cd = bc + da.
-- stream: parts(ts timestamp, part int, x int) time=ts
-- records: all

-- name: ab
SELECT count(*) AS n FROM parts
WHERE part IN (1, 2)
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: bc
SELECT count(*) AS n FROM parts
WHERE part IN (2, 3)
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: cd
SELECT count(*) AS n FROM parts
WHERE part IN (3, 4)
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: da
SELECT count(*) AS n FROM parts
WHERE part IN (4, 1)
GROUP BY window(ts, '10 minutes', '5 minutes');
