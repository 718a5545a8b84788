-- Few cuts: one grid of both attributes costs less than grouping every row twice.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts

-- name: heavy
SELECT count(*) AS n FROM trades
WHERE vol > 100
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: cheap
SELECT count(*) AS n FROM trades
WHERE price < 50
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: both
SELECT count(*) AS n FROM trades
WHERE vol > 200 AND price < 20
GROUP BY window(ts, '10 minutes', '5 minutes');
