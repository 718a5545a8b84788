-- One pass cuts orders into the fragments of all selections. Each selection has a sketch of its
-- own fragments; all share the sketch of customers.
-- stream: orders(ts timestamp, customer bigint, amount bigint, region int) time=ts
-- table: customers(id bigint, city int, rating int) key=id
-- sketches: 600 words

-- name: all
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id GROUP BY window(orders.ts, '10 minutes');

-- name: west
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id AND orders.region < 3 GROUP BY window(orders.ts, '10 minutes');

-- name: east
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id AND orders.region >= 3 GROUP BY window(orders.ts, '10 minutes');
