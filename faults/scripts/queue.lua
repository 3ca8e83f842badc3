-- A queue: its head is looked for by an index, and goes to the end.
sysbench.cmdline.options = {
  near = {"of the first so many one is taken", 32},
}

function thread_init()
  con = sysbench.sql.driver():connect()
  last = 1000000 * (sysbench.tid + 1)
end

function event()
  local head = con:query("SELECT id FROM sbtest1 WHERE k > 0 ORDER BY k LIMIT " .. sysbench.opt.near)
  local taken = sysbench.rand.uniform(1, head.nrows)
  local id
  for _ = 1, taken do
    id = head:fetch_row()[1]
  end
  last = last + 1
  con:query("UPDATE sbtest1 SET k = " .. last .. " WHERE id = " .. id)
end

function thread_done()
  con:disconnect()
end
