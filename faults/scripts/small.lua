-- A search through a table of few rows, which needs no index.
function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query("SELECT id FROM item WHERE n = " .. sysbench.rand.uniform(1, 200))
end

function thread_done()
  con:disconnect()
end
