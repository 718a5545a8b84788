-- Windows of time, of rows, and of rows of each key are cut apart, each kind woven for itself.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts
-- rows: 10000000 over 100000 seconds

-- name: by_time
SELECT symbol, count(*) AS n FROM trades
WHERE vol > 100
GROUP BY symbol, window(ts, '10 minutes', '5 minutes');

-- name: every_100
SELECT count(*) AS n FROM trades [ROWS 1000 SLIDE 100]
WHERE vol > 100;

-- name: every_250
SELECT count(*) AS n FROM trades [ROWS 1000 SLIDE 250]
WHERE vol > 200;

-- name: of_each_symbol
SELECT symbol, count(*) AS n FROM trades [ROWS 50 SLIDE 10 PER symbol]
WHERE vol > 100 GROUP BY symbol;
