-- Maxima cannot be subtracted, but records may overlap: each query is a union of two records.
-- stream: parts(ts timestamp, part int, x int) time=ts
-- records: all

-- name: low
SELECT max(x) AS x FROM parts
WHERE part IN (1, 2, 3)
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: high
SELECT max(x) AS x FROM parts
WHERE part IN (3, 4, 5, 6)
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: all
SELECT max(x) AS x FROM parts
WHERE part IN (1, 2, 3, 4, 5, 6)
GROUP BY window(ts, '10 minutes', '5 minutes');
