-- Each event is a connection of its own: logs in, asks for one row, leaves.
sysbench.cmdline.options = {
  table_size = {"rows of the table", 25000},
}

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:reconnect()
  con:query("SELECT c FROM sbtest1 WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.table_size))
end

function thread_done()
  con:disconnect()
end
