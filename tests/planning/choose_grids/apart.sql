-- Many cuts of two attributes that no query reads together: their product would be too many
-- shards.
-- stream: trades(ts timestamp, symbol string, price double, vol int) time=ts
-- rows: 1000000 over 3600 seconds

-- name: round_lots
SELECT count(*) AS n FROM trades
WHERE vol IN (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000)
GROUP BY window(ts, '1 second');

-- name: round_prices
SELECT count(*) AS n FROM trades
WHERE price IN (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200)
GROUP BY window(ts, '1 second');
