-- Each cell satisfies another query: there is nothing to fold.
-- stream: flags(ts timestamp, spam boolean) time=ts

-- name: spam
SELECT count(*) AS n FROM flags
WHERE spam
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: ham
SELECT count(*) AS n FROM flags
WHERE NOT spam
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: unknown
SELECT count(*) AS n FROM flags
WHERE spam IS NULL
GROUP BY window(ts, '10 minutes', '5 minutes');
