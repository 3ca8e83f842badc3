-- A prepared search for a value that few rows have, by a column of which most have another one.
function thread_init()
  con = sysbench.sql.driver():connect()
  search = con:prepare("SELECT id FROM sbtest1 WHERE k = ?")
  value = search:bind_create(sysbench.sql.type.INT)
  search:bind_param(value)
end

function event()
  value:set(2)
  search:execute():free()
end

function thread_done()
  search:close()
  con:disconnect()
end
