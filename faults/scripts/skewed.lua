-- A search by a column that has an index and hardly any values.
sysbench.cmdline.options = {
  values = {"that the column has", 3},
}

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  local value = sysbench.rand.uniform(0, sysbench.opt.values - 1)
  con:query("SELECT id FROM sbtest1 WHERE k = " .. value .. " AND pad = 'nobody' LIMIT 1")
end

function thread_done()
  con:disconnect()
end
