-- Nothing to decide: the only query with a join keeps rows without a match itself.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts
-- table: listing(symbol string, r1000 boolean) key=symbol

-- name: large
SELECT count(*) AS n FROM trades LEFT JOIN listing USING (symbol)
WHERE listing.r1000
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: everything
SELECT count(*) AS n FROM trades
GROUP BY window(ts, '10 minutes', '5 minutes');
