-- Locks two of a few rows, in any order: users that hold one wait for the other.
sysbench.cmdline.options = {
  rows = {"that are changed", 20},
}

function thread_init()
  con = sysbench.sql.driver():connect()
end

local function change(first, second)
  con:query("BEGIN")
  con:query("UPDATE sbtest1 SET k = k + 1 WHERE id = " .. first)
  con:query("UPDATE sbtest1 SET k = k + 1 WHERE id = " .. second)
  con:query("COMMIT")
end

function event()
  local first = sysbench.rand.uniform(1, sysbench.opt.rows)
  local second = (first + sysbench.rand.uniform(1, sysbench.opt.rows - 1) - 1) % sysbench.opt.rows + 1
  local done, why = pcall(change, first, second)
  if not done then
    -- PostgreSQL refuses all else in a transaction that has failed.
    con:query("ROLLBACK")
    error(why, 0)
  end
end

function thread_done()
  con:disconnect()
end
