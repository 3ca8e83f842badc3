-- The test bulk_insert: each thread fills a table of its own. As in sysbench an event is one row, and
-- a statement has as many rows as fit.

function thread_init()
  connection = sysbench.sql.driver():connect()
  connection:bulk_insert_init(string.format("INSERT INTO sbtest%d VALUES", sysbench.tid + 1))
  id = 0
end

function event()
  id = id + 1
  connection:bulk_insert_next(string.format("(%d,%d)", id, id))
end

function thread_done()
  connection:bulk_insert_done()
  connection:disconnect()
end
