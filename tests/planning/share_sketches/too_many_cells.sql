-- Four selections together would cut orders into too many cells: two of them are evaluated as part
-- of a measure instead.
-- stream: orders(ts timestamp, customer bigint, a int, b int, c int, d int) time=ts
-- table: customers(id bigint, city int) key=id
-- sketches: 600 words

-- name: a
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id AND orders.a IN (0, 2, 4, 6, 8, 10, 12, 14, 16) GROUP BY window(orders.ts, '10 minutes');

-- name: b
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id AND orders.b IN (0, 2, 4, 6, 8, 10, 12, 14, 16) GROUP BY window(orders.ts, '10 minutes');

-- name: c
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id AND orders.c IN (0, 2, 4, 6, 8, 10, 12, 14, 16) GROUP BY window(orders.ts, '10 minutes');

-- name: d
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id AND orders.d IN (0, 2, 4, 6, 8, 10, 12, 14, 16) GROUP BY window(orders.ts, '10 minutes');
