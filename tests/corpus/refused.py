"""Queries that a shared run cannot answer, whatever Spark says of them."""

# ruff: noqa: E501  (a query is a line)

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.shapes import query_text

# A line is a query; W in capitals stands for a window of one minute.
REFUSED: dict[str, str] = {
    "FROM": """
SELECT count(*) AS c FROM events TABLESAMPLE (10 PERCENT) GROUP BY W
SELECT count(*) AS c FROM events TABLESAMPLE (5 ROWS) GROUP BY W
SELECT count(*) AS c FROM events TABLESAMPLE (BUCKET 1 OUT OF 2) GROUP BY W
SELECT count(*) AS c FROM events TABLESAMPLE (10 PERCENT) REPEATABLE (3) GROUP BY W
SELECT count(*) AS c FROM events AS e (a, b) GROUP BY W
SELECT sum(a2) AS c FROM info AS t (a1, a2, a3, a4, a5, a6) GROUP BY a1
SELECT label, count(*) AS c FROM events JOIN info AS t (k, l, label, x1, x2, x3) USING (k) GROUP BY label, W
SELECT count(*) AS c FROM default.events GROUP BY W
SELECT count(*) AS c FROM spark_catalog.default.events GROUP BY W
SELECT count(*) AS c FROM events VERSION AS OF 1 GROUP BY W
SELECT count(*) AS c FROM events TIMESTAMP AS OF '2024-01-01' GROUP BY W
SELECT count(*) AS c FROM events FOR SYSTEM_TIME AS OF '2024-01-01' GROUP BY W
SELECT count(*) AS c FROM events LATERAL VIEW explode(arr) t AS e GROUP BY W
SELECT count(*) AS c FROM events LATERAL VIEW OUTER explode(arr) t AS e GROUP BY W
SELECT count(*) AS c FROM events, LATERAL (SELECT 1) GROUP BY W
SELECT count(*) AS c FROM events, LATERAL explode(arr) GROUP BY W
SELECT count(*) AS c FROM events JOIN LATERAL (SELECT 1) GROUP BY W
SELECT count(*) AS c FROM (SELECT * FROM events) GROUP BY W
SELECT count(*) AS c FROM (SELECT * FROM events) AS events GROUP BY W
SELECT count(*) AS c FROM (TABLE events) GROUP BY W
SELECT count(*) AS c FROM VALUES (1) GROUP BY W
SELECT count(*) AS c FROM range(10) GROUP BY W
SELECT count(*) AS c FROM STREAM events GROUP BY W
SELECT count(*) AS c FROM STREAM(events) GROUP BY W
SELECT count(*) AS c FROM TABLE(events) GROUP BY W
SELECT count(*) AS c FROM parquet.`/none` GROUP BY W
SELECT count(*) AS c FROM IDENTIFIER('events') GROUP BY W
SELECT count(*) AS c FROM events PIVOT (count(*) FOR k IN ('k1', 'k2')) GROUP BY W
SELECT count(*) AS c FROM events UNPIVOT (val FOR col IN (i, i8)) GROUP BY W
SELECT count(*) AS c FROM events MATCH_RECOGNIZE (x) GROUP BY W
SELECT count(*) AS c FROM nosuch GROUP BY W
SELECT count(*) AS c FROM info GROUP BY window(k, '1 minute')
SELECT count(*) AS c GROUP BY W
SELECT count(*) AS c FROM events, events GROUP BY W
SELECT count(*) AS c FROM events e, words GROUP BY window(e.ts, '1 minute')
SELECT count(*) AS c FROM events EVENTS_2 WITH (a = 1) GROUP BY W
""",
    "joins": """
SELECT count(*) AS c FROM events NATURAL JOIN info GROUP BY W
SELECT count(*) AS c FROM events NATURAL LEFT JOIN info GROUP BY W
SELECT count(*) AS c FROM events FULL JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events FULL OUTER JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events RIGHT JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events RIGHT OUTER JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events LEFT SEMI JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events SEMI JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events LEFT ANTI JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events ANTI JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events ASOF JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events OUTER JOIN info USING (k) GROUP BY W
SELECT count(*) AS c FROM events JOIN info ON EXISTS (SELECT 1) GROUP BY W
SELECT count(*) AS c FROM events JOIN (SELECT * FROM info) t USING (k) GROUP BY W
SELECT count(*) AS c FROM events JOIN info TABLESAMPLE (50 PERCENT) USING (k) GROUP BY W
SELECT count(*) AS c FROM events JOIN words USING (ts) GROUP BY W
""",
    "GROUP BY": """
SELECT k, count(*) AS c FROM events GROUP BY ROLLUP (k), W
SELECT k, count(*) AS c FROM events GROUP BY CUBE (k, W)
SELECT k, count(*) AS c FROM events GROUP BY GROUPING SETS ((k), ()), W
SELECT k, count(*) AS c FROM events GROUP BY k, W WITH ROLLUP
SELECT k, count(*) AS c FROM events GROUP BY k, W WITH CUBE
SELECT k, n, count(*) AS c FROM events GROUP BY k, n, W GROUPING SETS ((k, W), (n, W))
SELECT k, count(*) AS c FROM events GROUP BY k
SELECT count(*) AS c FROM events
SELECT k, count(*) AS c FROM events GROUP BY session_window(ts, '10 seconds')
SELECT k, count(*) AS c FROM events GROUP BY k, session_window(ts, '10 seconds'), W
SELECT count(*) AS c FROM events GROUP BY sum(i), W
SELECT count(*) AS c FROM events GROUP BY rand(), W
SELECT count(*) AS c FROM events GROUP BY explode(arr), W
SELECT count(*) AS c FROM events GROUP BY (SELECT 1), W
SELECT k, i, count(*) AS c FROM events GROUP BY k, W
SELECT k, i + 1, count(*) AS c FROM events GROUP BY k, W
SELECT k, max(i) + n, count(*) AS c FROM events GROUP BY k, W
SELECT st.b, count(*) AS c FROM events GROUP BY st.a, W
SELECT count(*) AS c FROM events GROUP BY v, W
SELECT count(*) AS c FROM events GROUP BY m, W
SELECT DISTINCT k, count(*) AS c FROM events GROUP BY k, W
SELECT count(*) AS c FROM events GROUP BY W WINDOW w AS (PARTITION BY k)
""",
    "clauses": """
SELECT count(*) AS c FROM events GROUP BY W ORDER BY c
SELECT count(*) AS c FROM events GROUP BY W SORT BY c
SELECT count(*) AS c FROM events GROUP BY W CLUSTER BY c
SELECT count(*) AS c FROM events GROUP BY W DISTRIBUTE BY c
SELECT count(*) AS c FROM events GROUP BY W LIMIT 5
SELECT count(*) AS c FROM events GROUP BY W LIMIT ALL
SELECT count(*) AS c FROM events GROUP BY W OFFSET 1
SELECT count(*) AS c FROM events GROUP BY W QUALIFY row_number() OVER (ORDER BY c) = 1
SELECT count(*) AS c FROM events GROUP BY W UNION SELECT 1
SELECT count(*) AS c FROM events GROUP BY W UNION ALL SELECT count(*) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W EXCEPT SELECT 1
SELECT count(*) AS c FROM events GROUP BY W MINUS SELECT 1
SELECT count(*) AS c FROM events GROUP BY W INTERSECT SELECT 1
WITH t AS (SELECT 1) SELECT count(*) AS c FROM events GROUP BY W
WITH events AS (SELECT * FROM events) SELECT count(*) AS c FROM events GROUP BY W
FROM events |> WHERE i > 2 |> AGGREGATE count(*) AS c GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W |> WHERE c > 3
EXPLAIN SELECT count(*) AS c FROM events GROUP BY W
CREATE TABLE t AS SELECT count(*) AS c FROM events GROUP BY W
INSERT INTO t SELECT count(*) AS c FROM events GROUP BY W
SET x = 1
SELECT 1
DROP TABLE events
SHOW TABLES
VALUES (1)
TABLE events
BEGIN SELECT 1; END
SELECT count(*) AS c FROM events GROUP BY W; SELECT 1
SELECT count(*) AS c FROM events GROUP BY W; DROP VIEW events
SELECT TRANSFORM (i) USING 'cat' FROM events GROUP BY W
SELECT count(*) AS c INTO t FROM events GROUP BY W
SELECT TOP 3 count(*) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W FOR UPDATE
SELECT count(*) AS c FROM events GROUP BY W HAVING c > 1 HAVING c > 2
SELECT count(*) AS c FROM events WHERE i > 1 WHERE i > 2 GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W WHERE i > 1
SELECT AS STRUCT count(*) AS c FROM events GROUP BY W
""",
    "subqueries": """
SELECT count(*) AS c FROM events WHERE i > (SELECT 1) GROUP BY W
SELECT count(*) AS c FROM events WHERE i IN (SELECT w FROM info) GROUP BY W
SELECT count(*) AS c FROM events WHERE EXISTS (SELECT 1 FROM info WHERE info.k = events.k) GROUP BY W
SELECT count(*) AS c FROM events WHERE NOT EXISTS (SELECT 1) GROUP BY W
SELECT (SELECT max(w) FROM info) AS z, count(*) AS c FROM events GROUP BY W
SELECT max((SELECT 1)) AS z FROM events GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W HAVING count(*) > (SELECT 1)
SELECT count(*) FILTER (WHERE i > (SELECT 1)) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events WHERE i = ANY (SELECT 1) GROUP BY W
SELECT count(*) AS c FROM events WHERE (i, n) IN (SELECT 1, 2) GROUP BY W
SELECT count(*) AS c FROM events WHERE exists(arr, x -> x > (SELECT 1)) GROUP BY W
""",
    "aggregates": """
SELECT count(*) AS c FROM events WHERE sum(i) > 2 GROUP BY W
SELECT count(*) AS c FROM events WHERE count(*) > 2 GROUP BY W
SELECT sum(max(i)) AS c FROM events GROUP BY W
SELECT max(count(*)) AS c FROM events GROUP BY W
SELECT sum(i) OVER (PARTITION BY k) AS c FROM events GROUP BY i, k, W
SELECT sum(sum(i)) OVER () AS c FROM events GROUP BY W
SELECT row_number() OVER (ORDER BY count(*)) AS c FROM events GROUP BY W
SELECT count(*) OVER w AS c FROM events GROUP BY W WINDOW w AS (PARTITION BY k)
SELECT count(DISTINCT i) AS c FROM events GROUP BY W
SELECT COUNT( distinct i, k) AS c FROM events GROUP BY W
SELECT sum(DISTINCT i) / count(*) AS c FROM events GROUP BY W
SELECT collect_list(i) AS c FROM events GROUP BY W
SELECT first(i) IGNORE NULLS AS c FROM events GROUP BY W
SELECT first(i, true) AS c FROM events GROUP BY W
SELECT last(i) RESPECT NULLS AS c FROM events GROUP BY W
SELECT any_value(i) AS c FROM events GROUP BY W
SELECT listagg(s, ',') WITHIN GROUP (ORDER BY s) AS c FROM events GROUP BY W
SELECT mode() WITHIN GROUP (ORDER BY i) AS c FROM events GROUP BY W
SELECT max(ALL i) AS c FROM events GROUP BY W
SELECT sum(ALL i) AS c FROM events GROUP BY W
SELECT count() AS c FROM events GROUP BY W
SELECT sum() AS c FROM events GROUP BY W
SELECT sum(i, d) AS c FROM events GROUP BY W
SELECT max(i, d) AS c FROM events GROUP BY W
SELECT nosuch(i) AS c FROM events GROUP BY W
SELECT count(*) AS c, explode(arr) FROM events GROUP BY W
SELECT explode(array(max(i), 1)) AS c FROM events GROUP BY W
SELECT inline(array(struct(max(i)))) FROM events GROUP BY W
SELECT max(explode(arr)) AS c FROM events GROUP BY W
SELECT sum(rand()) AS c FROM events GROUP BY W
SELECT rand() AS c, count(*) AS n2 FROM events GROUP BY W
SELECT count(*) + rand(3) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W HAVING rand() > 0.5
SELECT count(*) FILTER (WHERE rand() > 0.5) AS c FROM events GROUP BY W
SELECT max(uuid()) AS c FROM events GROUP BY W
SELECT shuffle(array(max(i))) AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events WHERE RAND ( ) > 0.5 GROUP BY W
SELECT count(*) AS c FROM events WHERE `rand`() > 0.5 GROUP BY W
SELECT count(*) AS c FROM events WHERE ts < now() GROUP BY W
SELECT count(*) AS c FROM events WHERE dt < current_date GROUP BY W
SELECT count(*) AS c FROM events WHERE monotonically_increasing_id() > 5 GROUP BY W
SELECT approx_percentile(i, d) AS c FROM events GROUP BY W
SELECT approx_percentile(i, 1.5) AS c FROM events GROUP BY W
SELECT approx_count_distinct(i, 2) AS c FROM events GROUP BY W
SELECT approx_count_distinct(i, d) AS c FROM events GROUP BY W
SELECT approx_percentile(i, 0.5, -1) AS c FROM events GROUP BY W
SELECT approx_percentile(i, 0.25 + 0.25) AS c FROM events GROUP BY W
SELECT min_by(i) AS c FROM events GROUP BY W
SELECT max_by(i, id, 0) AS c FROM events GROUP BY W
SELECT max_by(i, id, 1 + 1) AS c FROM events GROUP BY W
SELECT count_if(i) AS c FROM events GROUP BY W
SELECT bool_and(i) AS c FROM events GROUP BY W
SELECT bit_and(d) AS c FROM events GROUP BY W
SELECT sum(k) AS c FROM events GROUP BY W
SELECT avg(b) AS c FROM events GROUP BY W
SELECT max(m) AS c FROM events GROUP BY W
SELECT sum(arr) AS c FROM events GROUP BY W
SELECT i FROM events GROUP BY W
SELECT count(*) AS c FROM events WHERE i GROUP BY W
SELECT count(*) AS c FROM events WHERE 'true' GROUP BY W
SELECT count(*) AS c FROM events WHERE s GROUP BY W
SELECT count(*) AS c FROM events WHERE i = array(1) GROUP BY W
SELECT count(*) AS c FROM events WHERE i > dt GROUP BY W
SELECT count(*) AS c FROM events WHERE m = m GROUP BY W
SELECT count(*) AS c FROM events WHERE v > 1 GROUP BY W
SELECT count(*) AS c FROM events WHERE i LIKE 1 GROUP BY W
SELECT count(*) AS c FROM events WHERE i > :param GROUP BY W
SELECT count(*) AS c FROM events WHERE i > ? GROUP BY W
SELECT count(*) AS c FROM events WHERE i > ${x} GROUP BY W
SELECT count(*) AS c FROM events WHERE i > @x GROUP BY W
SELECT * EXCEPT (i) FROM events GROUP BY W
SELECT count(*) AS c FROM events WHERE (i > 1 GROUP BY W
SELECT count(*) AS c FROM events WHERE i > GROUP BY W
SELECT count(* AS c FROM events GROUP BY W
SELECT count(*) AS c FROM events WHERE s = 'open GROUP BY W
SELECT count(*) AS c FROM events WHERE i > 1 /* open GROUP BY W
SELECT count(*) AS `open FROM events GROUP BY W
SELECT count(*) c d FROM events GROUP BY W
SELECT count(*) AS c FROM events GROUP BY W)
SELECT count(*) AS c FROM events WHERE i === 2 GROUP BY W
SELECT count(*) AS c FROM events WHERE i => 2 GROUP BY W
SELECT count(*) AS c FROM events WHERE i =! 2 GROUP BY W
SELECT count(*) AS c FROM events WHERE i ! = 2 GROUP BY W
SELECT count(*) AS c FROM events WHERE i IS 2 GROUP BY W
SELECT count(*) AS c FROM events WHERE i BETWEEN 1 GROUP BY W
SELECT count(*) AS c FROM events WHERE i IN () GROUP BY W
SELECT count(*) AS c FROM events WHERE i && b GROUP BY W
SELECT count(*) AS c FROM events WHERE b XOR b GROUP BY W
SELECT count(*) AS c FROM events WHERE i NOT NULL GROUP BY W
SELECT count(*) AS c FROM events WHERE i ISNULL GROUP BY W
SELECT count(*) AS c FROM events WHERE s GLOB 'a*' GROUP BY W
SELECT count(*) AS c FROM events WHERE s SIMILAR TO 'a' GROUP BY W
SELECT count(*) AS c FROM events WHERE s ~ 'a' GROUP BY W
SELECT count(*) AS c FROM events WHERE i = 1 COLLATE x GROUP BY W
SELECT count(*) AS c FROM events WHERE s COLLATE nosuch = 'a' GROUP BY W
SELECT count(*) AS c FROM events WHERE ci = s COLLATE UNICODE_CI GROUP BY W
SELECT count(*) AS c FROM events WHERE ci = un GROUP BY W
SELECT count(*) AS c FROM events WHERE CAST(i AS nosuch) = 1 GROUP BY W
SELECT count(*) AS c FROM events WHERE SAFE_CAST(i AS STRING) = '1' GROUP BY W
SELECT count(*) AS c FROM events WHERE TRY_CAST(s AS INT) = 7 GROUP BY W
SELECT count(*) AS c FROM events WHERE s::INT = 7 GROUP BY W
SELECT count(*) AS c FROM events WHERE ts AT TIME ZONE 'UTC' > '2024' GROUP BY W
SELECT count(*) AS c FROM events WHERE i % 2 = 1 IS NOT NULL GROUP BY W
SELECT LEFT(max(s), 1) AS l1, RIGHT(max(s), 1) AS r1, REPLACE(max(s), 'a', 'z') AS z FROM events GROUP BY W
SELECT NVL2(max(s), 1, 2) AS z, DECODE(max(i), 7, 'x', 'y') AS y2 FROM events GROUP BY W
SELECT GETDATE() AS z, count(*) FROM events GROUP BY W
SELECT ISNULL(max(i), 0) AS z FROM events GROUP BY W
SELECT LISTAGG(s) AS z FROM events GROUP BY W
SELECT STRING_AGG(s, ',') AS z FROM events GROUP BY W
SELECT ARRAY_AGG(s) AS z FROM events GROUP BY W
SELECT APPROX_DISTINCT(s) AS z FROM events GROUP BY W
SELECT ARG_MAX(s, id) AS z FROM events GROUP BY W
SELECT QUANTILE(i, 0.5) AS z FROM events GROUP BY W
SELECT COUNTIF(i > 2) AS z FROM events GROUP BY W
SELECT LOGICAL_OR(b) AS z FROM events GROUP BY W
SELECT STDDEV_SAMP(i) AS z, VARIANCE_POP(i) AS y2 FROM events GROUP BY W
SELECT SUM(IF(b, 1, 0)) AS z, COUNT(CASE WHEN b THEN 1 END) AS y2 FROM events GROUP BY W
SELECT SUBSTR(max(s), 1, 1) AS z, STRPOS(max(s), 'a') AS y2 FROM events GROUP BY W
SELECT TO_TIMESTAMP(max(tz)) AS z, UNIX_TO_TIME(3) AS y2 FROM events GROUP BY W
""",
}


def refused() -> Iterator[tuple[str, str]]:
    """The kind and the text of every query here."""
    for kind, lines in REFUSED.items():
        for line in lines.strip().splitlines():
            yield kind, query_text(line)
