-- The globals of sysbench 0.5, in terms of the library of 1.0.
local state, sql, random = ...

local DB = { DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2 }

-- Kinds of values that 0.5 binds a parameter to by.
local function kind_of(value)
  local TYPE = sql.face.type
  if type(value) == "string" then
    return TYPE.VARCHAR, #value
  end
  return TYPE.BIGINT
end

local function connection(level)
  local user = state.current
  if not user.connection then
    error("there is no connection: call db_connect() first", level + 1)
  end
  return user.connection
end

local legacy = { constants = DB, db = {}, globals = {} }

function legacy.db.connect()
  state.current.connection = sql.face.driver():connect()
end

function legacy.db.disconnect()
  connection(2):disconnect()
  state.current.connection = nil
end

function legacy.db.query(query)
  connection(2):query(query)
  return DB.DB_ERROR_NONE
end

function legacy.db.bulk_insert_init(head)
  return connection(2):bulk_insert_init(head)
end

function legacy.db.bulk_insert_next(row)
  return connection(2):bulk_insert_next(row)
end

function legacy.db.bulk_insert_done()
  return connection(2):bulk_insert_done()
end

function legacy.db.prepare(query)
  return { statement = connection(2):prepare(query) }
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
    parameter:set(prepared.values[index])
  end
  prepared.result = prepared.statement:execute()
  return prepared
end

--- Results are stored as they come.
function legacy.db.store_results() end

function legacy.db.free_results(prepared)
  if type(prepared) == "table" and prepared.result then
    prepared.result:free()
  end
end

function legacy.db.close(prepared)
  prepared.statement:close()
end

for name, call in pairs(legacy.db) do
  legacy.globals["db_" .. name] = call
end

legacy.globals.sb_rand = random.default
legacy.globals.sb_rand_uniform = random.uniform
legacy.globals.sb_rand_gaussian = random.gaussian
legacy.globals.sb_rand_special = random.special
legacy.globals.sb_rand_str = random.string

--- A number of 32 bits.
function legacy.globals.sb_rnd()
  return random.uniform(0, 0xffffffff)
end

--- A number of the range that few others draw: ids that no other user has, folded into it.
function legacy.globals.sb_rand_uniq(low, high)
  return low + random.unique() % (high - low + 1)
end

legacy.globals.mysql_table_engine = "innodb"
legacy.globals.myisam_max_rows = 1000000

return legacy
