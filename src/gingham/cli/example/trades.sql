-- Standing queries over an hour on the stock market, as plain SQL.
--
--   gingham example market            writes this file and its data
--   gingham run market/trades.sql     runs the queries in one pass
--
-- Paths are relative to this file; a value with spaces stands in quotes.

-- stream: trades path=data/trades time=ts watermark="10 seconds"
-- table: close path=data/close key=symbol
-- table: listing path=data/listing key=symbol

-- name: turnover
SELECT sum(price * vol) AS value, count(*) AS trades
FROM trades
GROUP BY window(ts, '10 minutes');

-- name: big_caps
SELECT symbol, sum(price * vol) AS value, max(price) AS high
FROM trades JOIN listing USING (symbol)
WHERE vol > 50000 AND listing.r1000
GROUP BY symbol, window(ts, '12 minutes', '5 minutes');

-- name: movers
SELECT symbol, count(*) AS n, max(abs(price - cp) / cp) AS most
FROM trades JOIN close USING (symbol)
WHERE abs(price - cp) / cp > 0.03
GROUP BY symbol, window(ts, '20 minutes', '5 minutes')
HAVING count(*) >= 10;
