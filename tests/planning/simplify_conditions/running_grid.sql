-- Two more cuts would be too many cells for the grid of a running query, which stays as it is:
-- the query that joins later is simplified instead.
-- stream: trades(ts timestamp, vol int, c0 int, c1 int, c2 int, c3 int, c4 int, c5 int, c6 int, c7 int, c8 int, c9 int, c10 int) time=ts
-- running: wide

-- name: wide
SELECT count(*) AS n FROM trades
WHERE c0 > 0 AND c1 > 1 AND c2 > 2 AND c3 > 3 AND c4 > 4 AND c5 > 5 AND c6 > 6 AND c7 > 7 AND c8 > 8 AND c9 > 9
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: later
SELECT count(*) AS n FROM trades
WHERE c0 > 7 AND c1 > 9
GROUP BY window(ts, '10 minutes', '5 minutes');
