-- Every query drops rows without a listing: the join itself drops them.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts
-- table: listing(symbol string, r1000 boolean) key=symbol

-- name: large
SELECT count(*) AS n FROM trades JOIN listing USING (symbol)
WHERE listing.r1000
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: heavy
SELECT count(*) AS n FROM trades JOIN listing USING (symbol)
WHERE vol > 100 AND NOT listing.r1000
GROUP BY window(ts, '10 minutes', '5 minutes');
