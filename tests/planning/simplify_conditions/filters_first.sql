-- Filters of aggregates make too many cells: they become part of the partials, and the
-- predicate stays broken into attributes.
-- stream: trades(ts timestamp, vol int, c0 int, c1 int, c2 int, c3 int, c4 int, c5 int, c6 int, c7 int, c8 int, c9 int, c10 int) time=ts

-- name: filtered
SELECT count(*) FILTER (WHERE c0 > 0) AS n0,
    count(*) FILTER (WHERE c1 > 1) AS n1,
    count(*) FILTER (WHERE c2 > 2) AS n2,
    count(*) FILTER (WHERE c3 > 3) AS n3,
    count(*) FILTER (WHERE c4 > 4) AS n4,
    count(*) FILTER (WHERE c5 > 5) AS n5,
    count(*) FILTER (WHERE c6 > 6) AS n6,
    count(*) FILTER (WHERE c7 > 7) AS n7,
    count(*) FILTER (WHERE c8 > 8) AS n8,
    count(*) FILTER (WHERE c9 > 9) AS n9,
    count(*) FILTER (WHERE c10 > 10) AS n10 FROM trades
WHERE vol > 100
GROUP BY window(ts, '10 minutes', '5 minutes');

-- name: narrow
SELECT count(*) AS n FROM trades
WHERE c0 > 5
GROUP BY window(ts, '10 minutes', '5 minutes');
