-- A query that joins later reads the running grid of its keys and attribute, which gets one more
-- cut.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts
-- running: heavy, by_symbol

-- name: heavy
SELECT count(*) AS n FROM trades
WHERE vol > 100
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: by_symbol
SELECT symbol, count(*) AS n FROM trades
WHERE price < 50
GROUP BY symbol, window(ts, '10 minutes', '5 minutes');

-- name: later
SELECT count(*) AS n FROM trades
WHERE vol > 300
GROUP BY window(ts, '10 minutes', '5 minutes');
