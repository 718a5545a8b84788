-- Sixteen cells, but the queries tell only three sets of them apart: these are the fragments.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts

-- name: corner
SELECT count(*) AS n FROM trades
WHERE vol > 100 AND price < 50
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: other
SELECT count(*) AS n FROM trades
WHERE vol > 200 AND price < 20
GROUP BY window(ts, '10 minutes', '5 minutes');
