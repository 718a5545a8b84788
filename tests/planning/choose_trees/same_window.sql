-- One window for all: there is nothing to weave.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts
-- rows: 10000000 over 100000 seconds

-- name: all
SELECT count(*) AS n FROM trades
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: heavy
SELECT count(*) AS n FROM trades
WHERE vol > 100
GROUP BY window(ts, '10 minutes', '5 minutes');
