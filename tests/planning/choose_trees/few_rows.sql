-- The same queries over few rows: opening a second tree would cost more than it saves.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts
-- rows: 60 over 60 seconds

-- name: alert0
SELECT sum(vol) AS v, count(*) AS n FROM trades
WHERE vol > 0
GROUP BY window(ts, '2 seconds', '1 seconds');

-- name: alert1
SELECT sum(vol) AS v, count(*) AS n FROM trades
WHERE vol > 500
GROUP BY window(ts, '4 seconds', '2 seconds');

-- name: report0
SELECT sum(vol) AS v, count(*) AS n FROM trades
WHERE vol > 0 AND price < 0
GROUP BY window(ts, '240 seconds', '120 seconds');

-- name: report1
SELECT sum(vol) AS v, count(*) AS n FROM trades
WHERE vol > 100 AND price < 9
GROUP BY window(ts, '480 seconds', '240 seconds');

-- name: report2
SELECT sum(vol) AS v, count(*) AS n FROM trades
WHERE vol > 200 AND price < 18
GROUP BY window(ts, '720 seconds', '360 seconds');

-- name: report3
SELECT sum(vol) AS v, count(*) AS n FROM trades
WHERE vol > 300 AND price < 27
GROUP BY window(ts, '240 seconds', '120 seconds');

-- name: report4
SELECT sum(vol) AS v, count(*) AS n FROM trades
WHERE vol > 400 AND price < 36
GROUP BY window(ts, '480 seconds', '240 seconds');

-- name: report5
SELECT sum(vol) AS v, count(*) AS n FROM trades
WHERE vol > 500 AND price < 45
GROUP BY window(ts, '720 seconds', '360 seconds');
