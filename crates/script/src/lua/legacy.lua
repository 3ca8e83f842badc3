-- The globals of sysbench 0.5, in terms of the library of 1.0.
local state, sql, random, results = ...

local DB = { DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2 }

-- Kinds of values that 0.5 binds a parameter to by.
local function kind_of(value)
  local TYPE = sql.face.type
  if type(value) == "string" then
    return TYPE.VARCHAR, #value
  end
  return TYPE.BIGINT
end

--- A new connection.
local function connected(level)
  local ok, opened = pcall(function()
    return sql.face.driver():connect()
  end)
  if not ok then
    error("Failed to connect to the database", level + 1)
  end
  return opened
end

--- The connection of this user. As with 1.0, the first call that needs one opens it: scripts of 0.5
--- connect by hand in prepare() only.
local function connection(level)
  local user = state.current
  if not user.connection then
    user.connection = connected(level + 1)
  end
  return user.connection
end

local legacy = { constants = DB, db = {}, globals = {} }

function legacy.db.connect()
  state.current.connection = connected(2)
end

function legacy.db.disconnect()
  local open = state.current.connection
  if open then
    open:disconnect()
    state.current.connection = nil
  end
end

--- The result of a method, whose failure is told with the name of the script's call.
local function attempt(name, method, ...)
  local ok, result = pcall(method, ...)
  if ok then
    return result
  elseif type(result) == "table" or result == "not enough memory" then
    error(result, 0) -- its event restarts, or the script has taken all that it may
  end
  error(name .. "() failed", 3)
end

function legacy.db.query(query)
  local open = connection(2)
  attempt("db_query", open.query, open, query)
end

-- As with the field's tools, a script does not learn that rows were refused; whoever reads its output does.

function legacy.db.bulk_insert_init(head)
  connection(2):bulk_insert_init(head)
end

function legacy.db.bulk_insert_next(row)
  local open = connection(2)
  pcall(open.bulk_insert_next, open, row)
end

function legacy.db.bulk_insert_done()
  local open = connection(2)
  pcall(open.bulk_insert_done, open)
end

function legacy.db.prepare(query)
  local open = connection(2)
  return { statement = attempt("db_prepare", open.prepare, open, query) }
end

--- Binds a list of values; changes to the list are seen by the next db_execute().
function legacy.db.bind_param(prepared, values)
  prepared.values, prepared.parameters = values, {}
  for index, value in ipairs(values) do
    prepared.parameters[index] = prepared.statement:bind_create(kind_of(value))
  end
  prepared.statement:bind_param(unpack(prepared.parameters))
end

--- Results are counted and skipped.
function legacy.db.bind_result() end

function legacy.db.execute(prepared)
  for index, parameter in ipairs(prepared.parameters or {}) do
    local value = prepared.values[index]
    if parameter.reserve and value ~= nil then
      value = tostring(value)
      parameter:reserve(#value)
    end
    parameter:set(value)
  end
  prepared.result = attempt("db_execute", prepared.statement.execute, prepared.statement)
  return prepared
end

--- Results are stored as they come.
function legacy.db.store_results() end

function legacy.db.free_results(prepared)
  if type(prepared) == "table" and prepared.result then
    results.forget(prepared.result)
  end
end

function legacy.db.close(prepared)
  prepared.statement:close()
end

for name, call in pairs(legacy.db) do
  legacy.globals["db_" .. name] = call
end

--- Options of 0.5 are texts: `sb_rand(1, oltp_table_size)`.
local function of_numbers(kind, name)
  local draw = random.drawer(kind, name)
  return function(low, high)
    return draw(tonumber(low) or low, tonumber(high) or high)
  end
end

legacy.globals.sb_rand = of_numbers("default", "sb_rand")
legacy.globals.sb_rand_uniform = of_numbers("uniform", "sb_rand_uniform")
legacy.globals.sb_rand_gaussian = of_numbers("gaussian", "sb_rand_gaussian")
legacy.globals.sb_rand_special = of_numbers("special", "sb_rand_special")
legacy.globals.sb_rand_str = random.string

--- A number of 32 bits.
function legacy.globals.sb_rnd()
  return random.uniform(0, 0xffffffff)
end

--- A number of the range, each of them once; without a range, one of 32 bits.
function legacy.globals.sb_rand_uniq(low, high)
  if low == nil or high == nil then
    return random.unique()
  end
  return random.unique_within(tonumber(low), tonumber(high))
end

--- sysbench.db of one user.
function legacy.face()
  local face = {}
  for name, value in pairs(legacy.db) do
    face[name] = value
  end
  for name, value in pairs(DB) do
    face[name] = value
  end
  return face
end

legacy.globals.mysql_table_engine = "innodb"
legacy.globals.myisam_max_rows = 1000000

return legacy
