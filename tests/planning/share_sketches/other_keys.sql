-- Joins by other attributes share no sketch.
-- stream: orders(ts timestamp, customer bigint, amount bigint, region int) time=ts
-- table: customers(id bigint, city bigint, rating int) key=id
-- sketches: 600 words

-- name: by_customer
SELECT count(*) AS n FROM orders, customers
WHERE orders.customer = customers.id GROUP BY window(orders.ts, '10 minutes');

-- name: by_city
SELECT count(*) AS n FROM orders, customers
WHERE orders.amount = customers.city GROUP BY window(orders.ts, '10 minutes');
