"""Shapes of queries: clauses, names, aliases, joins, windows, comments and blanks."""

# ruff: noqa: E501  (a query is a line)

from __future__ import annotations

import re
from collections.abc import Iterator

W = "window(ts, '1 minute')"

# A line is a query; `W` in capitals stands for a window of one minute.
SHAPES: dict[str, str] = {
    "aliases": """
SELECT i AS k, count(*) AS c FROM events GROUP BY k, W
SELECT i AS k, count(*) AS c FROM events GROUP BY i, W
SELECT k AS i, sum(d) AS z FROM events GROUP BY k, W
SELECT k AS i, sum(i) AS z FROM events GROUP BY k, W
SELECT i + 1 AS i, count(*) AS c FROM events GROUP BY i, W
SELECT i % 2 AS p, count(*) AS c FROM events GROUP BY p, W
SELECT i % 2 AS n, count(*) AS c FROM events GROUP BY n, W
SELECT count(*) AS n FROM events WHERE n > 1 GROUP BY W
SELECT count(*) AS n FROM events GROUP BY W HAVING n > 30
SELECT count(*) AS c FROM events GROUP BY W HAVING c > 30
SELECT sum(i) AS i FROM events GROUP BY W HAVING i > 100
SELECT sum(i) AS i FROM events GROUP BY W HAVING sum(i) > 100
SELECT max(i) AS cnt, cnt FROM events GROUP BY cnt, W
SELECT max(i) cnt2, min(i) 'quoted' FROM events GROUP BY W
SELECT max(i) cnt2, min(i) `back tick` FROM events GROUP BY W
SELECT max(i) AS "double" FROM events GROUP BY W
SELECT max(i) AS a, a + 1 AS z FROM events GROUP BY W
SELECT i % 3 AS a, a * 2 AS z, count(*) AS c FROM events GROUP BY i % 3, W
SELECT count(*) AS c, c * 2 AS dd, dd + c AS e FROM events GROUP BY W
SELECT sum(i) AS d, d AS e FROM events GROUP BY d, W
SELECT k AS a, a AS z, count(*) FROM events GROUP BY k, W
SELECT max(i) AS A, max(d) AS a FROM events GROUP BY W
SELECT max(i) AS x, max(d) AS x FROM events GROUP BY W
SELECT k, k, count(*) FROM events GROUP BY k, W
SELECT count(*), count(*) FROM events GROUP BY W
SELECT k AS g, k AS h, count(*) AS c FROM events GROUP BY k, W
SELECT s AS k, k AS s, count(*) AS c FROM events GROUP BY s, k, W
SELECT s AS k, count(*) AS c FROM events GROUP BY s, W HAVING k = 'a'
SELECT i AS k, count(*) AS c FROM events GROUP BY i, W HAVING k > 1
SELECT count(*) AS `count(1)` FROM events GROUP BY W
SELECT count(*) AS `a.b` FROM events GROUP BY W
SELECT count(*) AS `it``s` FROM events GROUP BY W
SELECT count(*) AS (a) FROM events GROUP BY W
SELECT max(i) AS ts FROM events GROUP BY W
SELECT min(ts) AS ts, max(ts) AS te FROM events GROUP BY W
""",
    "names of outputs": """
SELECT count(*) FROM events GROUP BY W
SELECT COUNT(*), SUM(i), Avg(d) FROM events GROUP BY W
SELECT sum(i+1), sum( i + 1 ) FROM events GROUP BY W
SELECT sum(i  +  2) FROM events GROUP BY W
SELECT k, max(i) - min(i) FROM events GROUP BY k, W
SELECT -sum(i), +sum(d), ~max(i) FROM events GROUP BY W
SELECT CAST(sum(i) AS DOUBLE) FROM events GROUP BY W
SELECT sum(i)::double, max(num::int) FROM events GROUP BY W
SELECT CASE WHEN sum(i) > 3 THEN 'a' ELSE 'b' END FROM events GROUP BY W
SELECT if(count(*) > 3, 1, 0), coalesce(max(i), 0) FROM events GROUP BY W
SELECT i % 2, count(*) FROM events GROUP BY i % 2, W
SELECT upper(k), count(*) FROM events GROUP BY upper(k), W
SELECT upper(k), lower(upper(k)), count(*) FROM events GROUP BY upper(k), W
SELECT st.a, count(*) FROM events GROUP BY st.a, W
SELECT st.c.d, count(*) FROM events GROUP BY st.c.d, W
SELECT (st).a, count(*) FROM events GROUP BY (st).a, W
SELECT array(st)[0].c.d AS x, count(*) FROM events WHERE array(st)[0].a > 1 GROUP BY 1, W
SELECT max(from_json(js, 'a INT, `end` INT').a) AS x FROM events GROUP BY W
SELECT count(from_json(js, 'a INT, `end` INT').`end`) AS x FROM events GROUP BY W
SELECT max(map('k', st)['k'].b) AS x FROM events GROUP BY W
SELECT struct(k, max(i), st.a, upper(s)) AS x FROM events GROUP BY k, st.a, upper(s), W
SELECT to_json(struct(k, count(*), window.start)) AS x FROM events GROUP BY k, W
SELECT count(*) AS n, to_json(struct(n, max(i) AS m, 1, 'a')) AS x FROM events GROUP BY W
SELECT count(*) AS n FROM events GROUP BY W HAVING to_json(struct(n)) LIKE '%"n"%'
SELECT to_json(struct(t.label, e.k)) AS x, count(*) FROM events e JOIN info t ON e.k = t.k GROUP BY 1, W
SELECT arrays_zip(max_by(arr, id), max_by(sarr, id)) AS x FROM events GROUP BY W
SELECT max_by(arrays_zip(arr, sarr), id) AS x FROM events GROUP BY W
SELECT struct(max(i) AS hi, min(i) AS lo).hi AS x FROM events GROUP BY W
SELECT window(ts, '1 minute').start AS x, count(*) FROM events GROUP BY window(ts, '1 minute')
SELECT m['a'], arr[0], count(*) FROM events GROUP BY m['a'], arr[0], W
SELECT v:a::int, count(*) FROM events GROUP BY v:a::int, W
SELECT max(st.a), max(m['a']), max(get(arr, 0)) FROM events GROUP BY W
SELECT 1, 'a', NULL, count(*) FROM events GROUP BY W
SELECT 1 + 1, 2.50, DATE'2024-01-01', count(*) FROM events GROUP BY W
SELECT INTERVAL 1 DAY, X'1F', 1e3, -5, TRUE, count(*) FROM events GROUP BY W
SELECT count(*) > 3, sum(i) IS NULL, NOT max(b) FROM events GROUP BY W
SELECT count(*) FILTER (WHERE i > 2), sum(i) FILTER (WHERE b) FROM events GROUP BY W
SELECT sum(i) / count(*), sum(i) * 1.0 / count(i) FROM events GROUP BY W
SELECT max(i) BETWEEN 1 AND 3, max(i) IN (1, 2) FROM events GROUP BY W
SELECT max(s) LIKE 'a%', max(s) || 'x', concat(max(s), 'y') FROM events GROUP BY W
SELECT approx_count_distinct(k), approx_percentile(i, 0.5), stddev(d) FROM events GROUP BY W
SELECT min_by(s, id), max_by(s, id) FROM events GROUP BY W
SELECT named_struct('a', max(i)), array(max(i), min(i)), map('k', count(*)) FROM events GROUP BY W
SELECT struct(max(i), min(d) AS z) FROM events GROUP BY W
SELECT transform(array(max(i), 2), e -> e + 1) FROM events GROUP BY W
SELECT extract(HOUR FROM max(tz)), date_trunc('HOUR', max(tz)) FROM events GROUP BY W
SELECT count(1), count(i), count(i, d), count(NULL) FROM events GROUP BY W
SELECT mean(i), std(d), every(b), some(b), any(b), first(i) FROM events GROUP BY W
SELECT mean(i), std(d), every(b), some(b), any(b) FROM events GROUP BY W
SELECT events.k, max(events.i) FROM events GROUP BY events.k, W
SELECT e.k, max(e.i) FROM events e GROUP BY e.k, W
SELECT MIXED, max(mixed), K FROM events GROUP BY Mixed, k, W
SELECT `k`, max(`i`) FROM events GROUP BY `k`, W
SELECT K AS Kk, Max(I) FROM EVENTS GROUP BY k, W
""",
    "ordinals and GROUP BY ALL": """
SELECT k, count(*) AS c FROM events GROUP BY 1, W
SELECT count(*) AS c, k FROM events GROUP BY 2, W
SELECT window, count(*) AS c FROM events GROUP BY 1
SELECT W, count(*) AS c FROM events GROUP BY 1
SELECT W AS w, k, count(*) AS c FROM events GROUP BY 1, 2
SELECT W AS w, k, count(*) AS c FROM events GROUP BY ALL
SELECT W, count(*) AS c FROM events GROUP BY ALL
SELECT k, W.start, count(*) AS c FROM events GROUP BY ALL
SELECT k, i % 2 AS p, W AS w, max(d) AS z FROM events GROUP BY ALL
SELECT k, max(i) + n AS z, W AS w FROM events GROUP BY ALL
SELECT count(*) AS c FROM events GROUP BY ALL
SELECT k, count(*) AS c FROM events GROUP BY 1, 1, W
SELECT k, count(*) AS c FROM events GROUP BY 0, W
SELECT k, count(*) AS c FROM events GROUP BY 99, W
SELECT k, count(*) AS c FROM events GROUP BY -1, W
SELECT k, count(*) AS c FROM events GROUP BY 2, W
SELECT k, count(*) AS c FROM events GROUP BY 1.5, k, W
SELECT k, count(*) AS c FROM events GROUP BY '1', k, W
SELECT k, count(*) AS c FROM events GROUP BY 1 + 0, k, W
SELECT k, count(*) AS c FROM events GROUP BY k, NULL, W
SELECT k, count(*) AS c FROM events GROUP BY k, true, 'x', W
SELECT i + 1, i, count(*) FROM events GROUP BY 1, 2, W
SELECT count(*) AS c FROM events GROUP BY (W)
""",
    "keys": """
SELECT k, count(*) AS c FROM events GROUP BY k, k, W
SELECT k, count(*) AS c FROM events GROUP BY (k), W
SELECT k, count(*) AS c FROM events GROUP BY ((k)), W
SELECT k, n, count(*) AS c FROM events GROUP BY (k, n), W
SELECT k, count(*) AS c FROM events GROUP BY W, k
SELECT count(*) AS c FROM events GROUP BY k, W
SELECT count(*) AS c FROM events GROUP BY k, n, Mixed, W
SELECT k FROM events GROUP BY k, W
SELECT k FROM events WHERE i > 100 GROUP BY k, W
SELECT upper(k) AS u, count(*) AS c FROM events GROUP BY k, W
SELECT k || '-' || n AS u, count(*) AS c FROM events GROUP BY k, n, W
SELECT i + 1 AS p, count(*) AS c FROM events GROUP BY i, W
SELECT i + 1 AS p, count(*) AS c FROM events GROUP BY i + 1, W
SELECT 1 + i AS p, count(*) AS c FROM events GROUP BY i + 1, W
SELECT (i + 1) * 2 AS p, count(*) AS c FROM events GROUP BY i + 1, W
SELECT i + 2 AS p, count(*) AS c FROM events GROUP BY i + 1, W
SELECT i % 2 + n AS p, count(*) AS c FROM events GROUP BY i % 2, n, W
SELECT CASE WHEN i > 2 THEN 'hi' ELSE 'lo' END AS g, count(*) AS c FROM events GROUP BY CASE WHEN i > 2 THEN 'hi' ELSE 'lo' END, W
SELECT CASE WHEN i > 2 THEN 'hi' ELSE 'lo' END AS g, count(*) AS c FROM events GROUP BY g, W
SELECT upper(k) AS u, max(lower(k)) AS z FROM events GROUP BY upper(k), W
SELECT k, sum(i) + n AS z FROM events GROUP BY k, n, W
SELECT k, sum(i + n) AS z, n FROM events GROUP BY k, n, W
SELECT k, max(k) AS z, count(k) AS y FROM events GROUP BY k, W
SELECT date_trunc('HOUR', tz) AS h, count(*) AS c FROM events GROUP BY date_trunc('HOUR', tz), W
SELECT date_trunc('hour', tz) AS h, count(*) AS c FROM events GROUP BY DATE_TRUNC('hour', tz), W
SELECT st, count(*) AS c FROM events GROUP BY st, W
SELECT st.a, st.b, count(*) AS c FROM events GROUP BY st, W
SELECT st, count(*) AS c FROM events GROUP BY st.a, W
SELECT arr, count(*) AS c FROM events GROUP BY arr, W
SELECT arr[0] AS a0, count(*) AS c FROM events WHERE size(arr) > 0 GROUP BY arr, W
SELECT struct(k, n) AS g, count(*) AS c FROM events GROUP BY struct(k, n), W
SELECT array(k, s) AS g, count(*) AS c FROM events GROUP BY array(k, s), W
SELECT b, i > 2 AS g, count(*) AS c FROM events GROUP BY b, i > 2, W
SELECT NOT b AS g, count(*) AS c FROM events GROUP BY NOT b, W
SELECT x, count(*) AS c FROM events GROUP BY x, W
SELECT x + 0.0 AS g, count(*) AS c FROM events GROUP BY x + 0.0, W
SELECT -x AS g, count(*) AS c FROM events GROUP BY -x, W
SELECT f, d, count(*) AS c FROM events GROUP BY f, d, W
SELECT lower(ci) AS g, count(*) AS c FROM events GROUP BY lower(ci), W
SELECT s COLLATE UTF8_LCASE AS g, count(*) AS c FROM events GROUP BY s COLLATE UTF8_LCASE, W
SELECT s, k, n, b, count(*) AS c FROM events GROUP BY s, k, n, b, W
SELECT dt, year(dt) AS y, count(*) AS c FROM events GROUP BY dt, W
SELECT ts, count(*) AS c FROM events GROUP BY ts, W
SELECT minute(ts) AS g, count(*) AS c FROM events GROUP BY minute(ts), W
SELECT id % 3 AS g, sum(id) AS c FROM events GROUP BY id % 3, W
SELECT map('a', i) AS g, count(*) AS c FROM events GROUP BY map('a', i), W
SELECT max(i) AS g, count(*) AS c FROM events GROUP BY g, W
SELECT i, count(*) AS c FROM events GROUP BY events.i, W
SELECT events.i, count(*) AS c FROM events GROUP BY i, W
SELECT e.i AS i, count(*) AS c FROM events AS e GROUP BY i, W
SELECT I, count(*) AS c FROM events GROUP BY i, W
""",
    "HAVING": """
SELECT k, count(*) AS c FROM events GROUP BY k, W HAVING count(*) > 4
SELECT k, count(*) AS c FROM events GROUP BY k, W HAVING c > 4 AND k IS NOT NULL
SELECT k FROM events GROUP BY k, W HAVING sum(i) > 10
SELECT k FROM events GROUP BY k, W HAVING k = 'k1' OR max(d) > 2
SELECT k, count(*) AS c FROM events GROUP BY k, W HAVING upper(k) = 'K1'
SELECT k, count(*) AS c FROM events GROUP BY k, W HAVING NOT sum(i) BETWEEN 5 AND 12
SELECT k, avg(d) AS a FROM events GROUP BY k, W HAVING a > 0 AND a < 1.5
SELECT count(*) AS c FROM events GROUP BY W HAVING max(x) > 1
SELECT count(*) AS c FROM events GROUP BY W HAVING max(b)
SELECT count(*) AS c FROM events GROUP BY W HAVING true
SELECT count(*) AS c FROM events GROUP BY W HAVING NULL
SELECT count(*) AS c FROM events GROUP BY W HAVING 1 = 2
SELECT count(*) AS c FROM events GROUP BY W HAVING i > 2
SELECT count(*) AS c FROM events GROUP BY W HAVING sum(i)
SELECT count(*) AS c FROM events GROUP BY W HAVING window.start > TIMESTAMP'2024-01-01 00:01:00'
SELECT window, count(*) AS c FROM events GROUP BY W HAVING window.end < '2024-01-01 00:03:00'
SELECT count(*) AS c FROM events GROUP BY W HAVING W.start > '2024-01-01 00:01:00'
SELECT k, count(*) AS c FROM events GROUP BY k, W HAVING count(*) FILTER (WHERE i > 2) > 1
SELECT k, count(*) AS c FROM events GROUP BY k, W HAVING exists(array(max(i), min(i)), e -> e = 7)
SELECT k, count(*) AS c FROM events GROUP BY k, W HAVING CASE WHEN k = 'k1' THEN count(*) > 3 ELSE true END
SELECT i % 2 AS p, count(*) AS c FROM events GROUP BY i % 2, W HAVING p = 1
SELECT i % 2 AS p, count(*) AS c FROM events GROUP BY i % 2, W HAVING i % 2 = 1
SELECT k AS s, count(*) AS c FROM events GROUP BY k, W HAVING s = 'k1'
SELECT max(i) AS m1 FROM events GROUP BY W HAVING max(i) > min(i) AND m1 > 3
SELECT k, count(*) FROM events GROUP BY k, W HAVING `count(1)` > 4
SELECT k, count(*) AS C FROM events GROUP BY k, W HAVING c > 4
SELECT k, count(*) AS c FROM events HAVING c > 4
SELECT k, count(*) AS c FROM events WHERE c > 4 GROUP BY k, W
""",
    "windows": """
SELECT window, count(*) AS c FROM events GROUP BY W
SELECT window.start, window.end, count(*) AS c FROM events GROUP BY W
SELECT window.start AS ws, window.end AS we, count(*) AS c FROM events GROUP BY W
SELECT window.start AS window_start, count(*) AS c FROM events GROUP BY W
SELECT window.start AS window_start, window.end AS window_end, count(*) AS c FROM events GROUP BY W
SELECT window.end AS window_start, count(*) AS c FROM events GROUP BY W
SELECT count(*) AS window_start FROM events GROUP BY W
SELECT k AS window_end, count(*) AS c FROM events GROUP BY k, W
SELECT W, count(*) AS c FROM events GROUP BY W
SELECT W.start, count(*) AS c FROM events GROUP BY W
SELECT W AS w, count(*) AS c FROM events GROUP BY W
SELECT W AS w, count(*) AS c FROM events GROUP BY w
SELECT window AS w, w.start AS s1, count(*) AS c FROM events GROUP BY W
SELECT window['start'] AS s1, count(*) AS c FROM events GROUP BY W
SELECT window.start + INTERVAL 1 MINUTE AS s1, count(*) AS c FROM events GROUP BY W
SELECT minute(window.start) AS mi, count(*) AS c FROM events GROUP BY W
SELECT date_format(window.end, 'HH:mm') AS mi, k, count(*) AS c FROM events GROUP BY W, k
SELECT struct(window.start AS a) AS w, count(*) AS c FROM events GROUP BY W
SELECT unix_seconds(window.end) - unix_seconds(window.start) AS len, count(*) FROM events GROUP BY W
SELECT window_time(window) AS wt, count(*) AS c FROM events GROUP BY W
SELECT WINDOW.START, count(*) AS c FROM events GROUP BY WINDOW(ts, '1 minute')
SELECT Window, count(*) AS c FROM events GROUP BY Window(TS, '1 MINUTE')
SELECT window, count(*) AS c FROM events GROUP BY window(events.ts, '1 minute')
SELECT window, count(*) AS c FROM events e GROUP BY window(e.ts, '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(`ts`, '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY `window`(ts, '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window((ts), '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, ('1 minute'))
SELECT window, count(*) AS c FROM events GROUP BY window(ts, "1 minute")
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 ' || 'minute')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '60 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute 30 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, 'interval 1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, INTERVAL 1 MINUTE)
SELECT window, count(*) AS c FROM events GROUP BY window(ts, INTERVAL '1' MINUTE)
SELECT window, count(*) AS c FROM events GROUP BY window(ts, INTERVAL '1:30' MINUTE TO SECOND)
SELECT window, count(*) AS c FROM events GROUP BY window(ts, INTERVAL '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, INTERVAL 1 MINUTE 30 SECONDS)
SELECT window, count(*) AS c FROM events GROUP BY window(ts, 60000000)
SELECT window, count(*) AS c FROM events GROUP BY window(ts, 60000000L, 30000000L)
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 hour')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 day')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 week')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1.5 minutes')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '0.5 minutes')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1.5 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '0.5 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '90000 milliseconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1500000 microseconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 min')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1m')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minutes')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, ' 1   minute ')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '+1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '-1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '0 minutes')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 month')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 year')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, NULL)
SELECT window, count(*) AS c FROM events GROUP BY window(ts, 'x')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, k)
SELECT window, count(*) AS c FROM events GROUP BY window(ts)
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '30 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '40 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '1 minute', '15 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '1 minute', '-15 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '30 seconds', '45 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '2 minutes')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '0 seconds')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '30 seconds', '1 hour')
SELECT window, count(*) AS c FROM events GROUP BY window(ts, '1 minute', '30 seconds', '5 s', '5 s')
SELECT window, count(*) AS c FROM events GROUP BY window(tz, '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(ntz, '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(ts + INTERVAL 1 MINUTE, '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY window(k, '1 minute')
SELECT window, count(*) AS c FROM events GROUP BY W, window(ts, '2 minutes')
SELECT window, count(*) AS c FROM events GROUP BY W, W
SELECT count(*) AS c FROM events WHERE W.start > '2024-01-01 00:01:00' GROUP BY W
SELECT max(window.start) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W.start
SELECT count(*) AS c FROM events GROUP BY window
SELECT window.middle, count(*) AS c FROM events GROUP BY W
SELECT window, count(*) AS c FROM events GROUP BY window(timeColumn => ts, windowDuration => '1 minute')
""",
    "names": """
SELECT e.k, count(*) AS c FROM events e WHERE e.i > 2 GROUP BY e.k, window(e.ts, '1 minute')
SELECT e.k, count(*) AS c FROM events AS e WHERE i > 2 GROUP BY k, W
SELECT events.k, count(*) AS c FROM events e GROUP BY k, W
SELECT E.K, count(*) AS c FROM Events e GROUP BY e.k, W
SELECT `e`.`k`, count(*) AS c FROM `events` AS `e` GROUP BY `e`.`k`, W
SELECT `e.k`, count(*) AS c FROM events e GROUP BY e.k, W
SELECT e.*, count(*) AS c FROM events e GROUP BY e.k, W
SELECT * FROM events GROUP BY W
SELECT k, count(*) FROM events AS `my alias` WHERE `my alias`.i > 1 GROUP BY k, W
SELECT count(e.*) AS c FROM events e GROUP BY W
SELECT count(*) AS c FROM events WHERE nosuch > 1 GROUP BY W
SELECT count(*) AS c FROM events WHERE e.i > 1 GROUP BY W
SELECT count(*) AS c FROM events events GROUP BY W
SELECT max(events.events) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events i WHERE i > 2 GROUP BY W
SELECT max(i.i) AS c FROM events i WHERE i.i > 2 GROUP BY W
SELECT max(st.a) AS c FROM events st WHERE st.i > 2 GROUP BY W
SELECT max(st.st.a) AS c FROM events st GROUP BY W
SELECT ünï, count(*) FROM events GROUP BY k, W
""",
    "joins": """
SELECT count(*) AS c FROM events JOIN info USING (k) GROUP BY W
SELECT k, count(*) AS c FROM events JOIN info USING (k) GROUP BY k, W
SELECT label, count(*) AS c FROM events JOIN info USING (k) GROUP BY label, W
SELECT label, count(*) AS c FROM events LEFT JOIN info USING (k) GROUP BY label, W
SELECT label, count(*) AS c FROM events LEFT OUTER JOIN info USING (k) GROUP BY label, W
SELECT label, count(*) AS c FROM events INNER JOIN info USING (k) GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.k = info.k GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON info.k = events.k GROUP BY label, W
SELECT label, count(*) AS c FROM events e JOIN info t ON e.k = t.k GROUP BY label, W
SELECT t.label, e.n, count(*) AS c FROM events e LEFT JOIN info t ON e.k = t.k GROUP BY t.label, e.n, W
SELECT label, count(*) AS c FROM events, info WHERE events.k = info.k GROUP BY label, W
SELECT label, count(*) AS c FROM events, info WHERE events.k = info.k AND w > 0 GROUP BY label, W
SELECT label, count(*) AS c FROM events e, info t WHERE e.k = t.k AND e.i > t.w GROUP BY label, W
SELECT label, count(*) AS c FROM events CROSS JOIN info WHERE events.k = info.k GROUP BY label, W
SELECT count(*) AS c FROM events CROSS JOIN info GROUP BY W
SELECT count(*) AS c FROM events, info GROUP BY W
SELECT count(*) AS c FROM events JOIN info GROUP BY W
SELECT label, count(*) AS c FROM events JOIN info ON events.k = info.k AND info.w > 0 GROUP BY label, W
SELECT label, count(*) AS c FROM events LEFT JOIN info ON events.k = info.k AND info.w > 0 GROUP BY label, W
SELECT label, count(*) AS c FROM events LEFT JOIN info ON events.k = info.k AND events.i > 2 GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.k <=> info.k GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON upper(events.k) = info.k GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.k = upper(info.k) GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.s = info.k GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.k = info.s GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.ci = info.k GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.ch = info.k GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON (events.k = info.k) GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON ((events.k) = (info.k)) GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON k = k GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON true GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.k > info.k GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.k = info.k OR info.w = 1 GROUP BY label, W
SELECT label, count(*) AS c FROM events JOIN info ON events.i = info.w GROUP BY label, W
SELECT d, count(*) AS c FROM events JOIN info USING (k) GROUP BY d, W
SELECT info.d, count(*) AS c FROM events JOIN info USING (k) GROUP BY info.d, W
SELECT events.d, info.d AS d2, count(*) AS c FROM events JOIN info USING (k) GROUP BY events.d, info.d, W
SELECT max(events.d) AS a, max(info.d) AS z FROM events JOIN info USING (k) GROUP BY W
SELECT max(events.s) AS a, max(info.s) AS z FROM events LEFT JOIN info USING (k) GROUP BY W
SELECT info.k, count(*) AS c FROM events LEFT JOIN info USING (k) GROUP BY info.k, W
SELECT events.k, count(*) AS c FROM events LEFT JOIN info USING (k) GROUP BY events.k, W
SELECT k, count(*) AS c FROM events LEFT JOIN info ON events.k = info.k GROUP BY k, W
SELECT count(*) AS c FROM events JOIN info USING (k) WHERE label = 'one' GROUP BY W
SELECT count(*) AS c FROM events LEFT JOIN info USING (k) WHERE label IS NULL GROUP BY W
SELECT count(*) AS c FROM events LEFT JOIN info USING (k) WHERE w > 0 OR w IS NULL GROUP BY W
SELECT count(*) FILTER (WHERE w > i) AS c, sum(w) AS z FROM events LEFT JOIN info USING (k) GROUP BY W
SELECT sum(w * i) AS c FROM events JOIN info USING (k) GROUP BY W HAVING max(code) > 102
SELECT label || k AS g, count(code) AS c FROM events JOIN info USING (k) GROUP BY label || k, W
SELECT info.label, count(info.code) AS c FROM events JOIN info USING (k) GROUP BY info.label, W
SELECT t.label, count(*) AS c FROM events JOIN info AS t USING (k) GROUP BY t.label, W
SELECT count(*) AS c FROM events JOIN info USING (K) GROUP BY W
SELECT count(*) AS c FROM events JOIN info USING (`k`) GROUP BY W
SELECT count(*) AS c FROM events JOIN info USING (k, s) GROUP BY W
SELECT count(*) AS c FROM events JOIN info USING (s) GROUP BY W
SELECT count(*) AS c FROM events JOIN info USING (nosuch) GROUP BY W
SELECT count(*) AS c FROM events JOIN nosuch USING (k) GROUP BY W
SELECT count(*) AS c FROM events JOIN info USING (k) JOIN info USING (k) GROUP BY W
SELECT a.label, z.w, count(*) AS c FROM events JOIN info a ON events.k = a.k JOIN info z ON events.s = z.k GROUP BY a.label, z.w, W
SELECT count(*) AS c FROM info JOIN events USING (k) GROUP BY W
SELECT count(*) AS c FROM events e1 JOIN events e2 ON e1.id = e2.id GROUP BY window(e1.ts, '1 minute')
SELECT k, w, d, count(*) FROM events JOIN info USING (k) GROUP BY ALL, W
SELECT min(w), max(label) FROM events JOIN info USING (k) WHERE info.w >= 0 AND events.d < 1 GROUP BY W
SELECT info.*, count(*) AS c FROM events JOIN info USING (k) GROUP BY W
SELECT w AS n, count(*) AS c FROM events JOIN info USING (k) GROUP BY n, W
SELECT w AS n, count(*) AS c FROM events JOIN info USING (k) GROUP BY w, W
SELECT count(*) AS c FROM (events JOIN info USING (k)) GROUP BY W
SELECT count(*) AS c FROM (events) GROUP BY W
SELECT count(*) AS c FROM events LEFT JOIN info ON events.k = info.k WHERE events.k = info.k GROUP BY W
""",
    "three-valued logic": """
SELECT count(*) AS c FROM events WHERE i > 2 AND NULL GROUP BY W
SELECT count(*) AS c FROM events WHERE i > 2 OR NULL GROUP BY W
SELECT count(*) AS c FROM events WHERE NOT (i > 2 AND b) GROUP BY W
SELECT count(*) AS c FROM events WHERE NOT (i > 2 OR b) GROUP BY W
SELECT count(*) AS c FROM events WHERE (i > 2 AND b) IS NULL GROUP BY W
SELECT count(*) AS c FROM events WHERE (i > 2 OR b) IS NOT NULL GROUP BY W
SELECT count(*) AS c FROM events WHERE (i > 2) = (i8 > 0) GROUP BY W
SELECT count(*) AS c FROM events WHERE (i > 2) <> (i8 > 0) GROUP BY W
SELECT count(*) AS c FROM events WHERE (i > 2) <=> (i8 > 0) GROUP BY W
SELECT count(*) AS c FROM events WHERE (i > 2) < (i8 > 0) GROUP BY W
SELECT count(*) AS c FROM events WHERE (i > 2 AND NULL) IS NULL GROUP BY W
SELECT count(*) AS c FROM events WHERE NOT (i IN (1, NULL)) IS NULL GROUP BY W
SELECT count(*) AS c FROM events WHERE (s LIKE 'a%') IS NULL OR b IS TRUE GROUP BY W
SELECT count(*) AS c FROM events WHERE ((i > 2) IS TRUE) AND ((d > 0) IS NOT FALSE) GROUP BY W
SELECT count(*) AS c FROM events WHERE i > 2 IS NOT NULL AND NOT b IS NOT TRUE GROUP BY W
SELECT count(*) FILTER (WHERE (b AND i > 3) IS NULL) AS c FROM events WHERE b OR i < 2 GROUP BY W
""",
    "comments and blanks": r"""
SELECT count(*) AS c /* a comment */ FROM events GROUP BY W
SELECT count(*) AS c /* a /* nested */ comment */ FROM events GROUP BY W
SELECT count(*) AS c -- to the end of the line\n FROM events GROUP BY W
-- first line\nSELECT count(*) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W -- last
SELECT count(*) AS c FROM events GROUP BY W -- last\n
SELECT count(*) AS c FROM events GROUP BY W /* last */
SELECT count(*) AS c FROM events GROUP BY W;
SELECT count(*) AS c FROM events GROUP BY W ; -- end
SELECT count(*) AS c FROM events GROUP BY W;;
SELECT /*+ BROADCAST(info) */ count(*) AS c FROM events JOIN info USING (k) GROUP BY W
SELECT /*+ COALESCE(1) */ count(*) AS c FROM events GROUP BY W
SELECT /*+ REPARTITION(3), SHUFFLE_HASH(info) */ count(*) AS c FROM events GROUP BY W
SELECT /*+ nosuch */ count(*) AS c FROM events GROUP BY W
SELECT count/* */(*) AS c FROM events GROUP BY W
SELECT count (*) AS c FROM events GROUP BY window (ts, '1 minute')
SELECT count( * ) AS c FROM events GROUP BY window/**/( ts , '1 minute' )
SELECT\tcount(*)\tAS\tc\tFROM\tevents\tGROUP\tBY\tW
SELECT\n\ncount(*)\r\nAS c\nFROM events\nGROUP BY\nW\n
   SELECT   count(*)   AS   c   FROM   events   GROUP   BY   W
select count(*) as c from events group by W
SeLeCt CoUnT(*) aS c fRoM events gRoUp bY W
SELECT count(*)AS c FROM events WHERE(i>2)AND(b)GROUP BY W
SELECT count(*) AS c FROM events WHERE i>2AND b GROUP BY W
SELECT count(*) AS c FROM events WHERE i>-1 AND i<- 1+5 GROUP BY W
SELECT count(*) AS c FROM events WHERE i --1\n > 2 GROUP BY W
SELECT count(*) AS c FROM events WHERE s = '-- no' OR s = '/* no' OR s = 'a' GROUP BY W
SELECT count(*) AS c FROM events WHERE s = "/* no */" OR `s` = 'b' -- yes\n GROUP BY W
SELECT count(*) AS c FROM events WHERE s <> 'window(ts' GROUP BY W
SELECT count(*) AS c FROM events WHERE s <> 'GROUP BY' AND s <> 'FROM x' GROUP BY W
SELECT count(*) AS `FROM events` FROM events WHERE s <> '(' GROUP BY W
SELECT 'GROUP BY k' AS g, count(*) AS c FROM events GROUP BY W
SELECT 'a''b' AS g, "c""d" AS h, count(*) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events WHERE s = 'a\nb' OR s = 'a' GROUP BY W
SELECT count(*) AS c FROM events\u00a0GROUP BY W
SELECT count(*) AS c\u3000FROM events GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W \ufeff
\ufeffSELECT count(*) AS c FROM events GROUP BY W
(SELECT count(*) AS c FROM events GROUP BY W)
FROM events SELECT count(*) AS c GROUP BY W
SELECT count(*) AS c, FROM events GROUP BY W
SELECT ALL count(*) AS c FROM events GROUP BY W
""",
    "FILTER": """
SELECT count(*) FILTER (WHERE i > 2) AS a, count(*) FILTER (WHERE NOT i > 2) AS z FROM events GROUP BY W
SELECT sum(i) FILTER (WHERE b AND s LIKE 'a%') AS a FROM events WHERE i > 0 GROUP BY W
SELECT max(d) FILTER (WHERE x > 0) AS a, min(d) FILTER (WHERE x IS NULL) AS z FROM events GROUP BY k, W
SELECT avg(i) FILTER (WHERE i BETWEEN 1 AND 4) / count(*) AS a FROM events GROUP BY W
SELECT count(*) FILTER (WHERE true) AS a, count(*) FILTER (WHERE false) AS z FROM events GROUP BY W
SELECT count(*) FILTER (WHERE NULL) AS a FROM events GROUP BY W
SELECT count(*) FILTER (WHERE i) AS a FROM events GROUP BY W
SELECT count(*) FILTER (WHERE sum(i) > 2) AS a FROM events GROUP BY W
SELECT count(*) FILTER (i > 2) AS a FROM events GROUP BY W
SELECT abs(i) FILTER (WHERE i > 2) AS a FROM events GROUP BY i, W
SELECT filter(array(max(i), 1), e -> e > 1) AS a FROM events GROUP BY W
SELECT approx_count_distinct(k) FILTER (WHERE i > 2) AS a FROM events GROUP BY W
SELECT max_by(s, id) FILTER (WHERE i > 2) AS a FROM events GROUP BY W
SELECT sum(i) filter(where b) AS a FROM events GROUP BY W HAVING sum(i) FILTER (WHERE b) > 20
SELECT count(*) FILTER (WHERE w.i > 2) AS a FROM events w GROUP BY W
SELECT bool_or(b) FILTER (WHERE k = 'k1') AS a, bool_and(b) FILTER (WHERE k = 'k1') AS z FROM events GROUP BY n, W
""",
}


def shapes() -> Iterator[tuple[str, str]]:
    """The kind and the text of every query here."""
    for kind, lines in SHAPES.items():
        for line in lines.strip("\n").splitlines():
            yield kind, query_text(line)


def query_text(line: str) -> str:
    """The text of a line: W spelled out, escapes such as a newline put in."""
    for sign, meaning in (("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\u00a0", "\u00a0"),
                          ("\\u3000", "\u3000"), ("\\ufeff", "\ufeff")):  # fmt: skip
        line = line.replace(sign, meaning)
    return re.sub(r"\bW\b", W, line)
