-- Nine cells: conditions stay broken into attributes.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts

-- name: one
SELECT count(*) AS n FROM trades
WHERE vol > 100 AND price < 50
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: filtered
SELECT count(*) AS n, count(*) FILTER (WHERE price < 50) AS cheap FROM trades
WHERE vol > 100
GROUP BY window(ts, '10 minutes', '5 minutes');
