-- Queries with other keys are never in one grid.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts

-- name: total
SELECT count(*) AS n FROM trades
WHERE vol > 100
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: by_symbol
SELECT symbol, count(*) AS n FROM trades
WHERE vol > 100
GROUP BY symbol, window(ts, '10 minutes', '5 minutes');
