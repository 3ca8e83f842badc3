-- A question to a partitioned table that says nothing of the partition.
function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query("SELECT count(*) FROM part WHERE n = " .. sysbench.rand.uniform(1, 1000))
end

function thread_done()
  con:disconnect()
end
