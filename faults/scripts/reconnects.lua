-- Each event is a connection of its own: logs in, asks for one row, leaves.
sysbench.cmdline.options = {
  table_size = {"rows of the table", 25000},
}

function thread_init()
  driver = sysbench.sql.driver()
end

function event()
  local con = driver:connect()
  con:query("SELECT c FROM sbtest1 WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.table_size))
  con:disconnect()
end
