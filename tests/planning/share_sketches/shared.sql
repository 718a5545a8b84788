-- Two queries over the same join: they share the sketch of customers, and a sketch of orders
-- for each measure.
-- stream: orders(ts timestamp, customer bigint, amount bigint, region int) time=ts
-- table: customers(id bigint, city int, rating int) key=id
-- sketches: 600 words

-- name: pairs
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id GROUP BY window(orders.ts, '10 minutes');

-- name: amounts
SELECT sum(orders.amount) AS amount FROM orders, customers
WHERE orders.customer = customers.id GROUP BY window(orders.ts, '10 minutes');
