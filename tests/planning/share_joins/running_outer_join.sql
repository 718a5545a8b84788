-- Every query that is left drops rows without a match. But the join kept these rows for the one
-- that was removed, and a join that is running stays as it is.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts
-- table: listing(symbol string, r1000 boolean) key=symbol
-- running: everything, large
-- removed: everything

-- name: everything
SELECT count(*) AS n FROM trades
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: large
SELECT count(*) AS n FROM trades JOIN listing USING (symbol)
WHERE listing.r1000
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: later
SELECT count(*) AS n FROM trades JOIN listing USING (symbol)
WHERE vol > 100 AND listing.r1000
GROUP BY window(ts, '10 minutes', '5 minutes');
