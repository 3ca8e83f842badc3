-- Numbers of a sequence, many in a statement, and no row that has them.
sysbench.cmdline.options = {
  numbers = {"that a statement takes", 200},
}

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query("SELECT sum(nextval('ticket')) FROM generate_series(1, " .. sysbench.opt.numbers .. ")")
end

function thread_done()
  con:disconnect()
end
