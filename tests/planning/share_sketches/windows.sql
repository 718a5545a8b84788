-- Windows share slices where that lowers the error in the same memory: a minute, and two minutes
-- that move by one, do. An hour that moves by ten minutes would have to be kept in slices of a
-- minute for their sake: it has slices of its own.
-- stream: orders(ts timestamp, customer bigint, amount bigint, region int) time=ts
-- stream: visits(ts timestamp, customer bigint, page int) time=ts
-- sketches: 6000 words

-- name: minute
SELECT count(*) AS n FROM orders, visits
WHERE orders.customer = visits.customer GROUP BY window(ts, '1 minute');

-- name: two_minutes
SELECT count(*) AS n FROM orders, visits
WHERE orders.customer = visits.customer GROUP BY window(ts, '2 minutes', '1 minute');

-- name: hour
SELECT count(*) AS n FROM orders, visits
WHERE orders.customer = visits.customer GROUP BY window(ts, '1 hour', '10 minutes');
