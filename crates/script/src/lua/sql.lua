-- sysbench.sql: drivers and connections.
--
-- Scripts look at types (`type(con) == "cdata"`), so these are FFI structures with methods; what else
-- belongs to a connection is in a separate table, under its number.
local ffi = require("ffi")
local state, refusal, results, statement = ...

local mailbox, ask, ask_for, DONE = state.mailbox, state.ask, state.ask_for, state.answered.DONE
local refuse, refuse_for_good, clear = refusal.refuse, refusal.refuse_for_good, refusal.clear
local connections, take_result = results.connections, results.take

ffi.cdef([[
typedef struct { uint32_t number; } sql_driver;
typedef struct {
  uint32_t number;
  int error;
  int sql_errno;
  const char *sql_state;
  const char *sql_errmsg;
} sql_connection;
]])

-- The length at which collected rows are sent, in bytes: half a megabyte fits into the smallest
-- max_allowed_packet in use.
local BULK_BYTES = 512 * 1024

-- sysbench's number of the counter of connections that were opened again.
local RECONNECTS = 5

local last_number = 0

local function next_number()
  last_number = last_number + 1
  return last_number
end

--- The servers' driver: that of the command line.
local function driver_name()
  return (state.current.env.sysbench.opt or {}).db_driver or "mysql"
end

--- Opens what was asked for while the file is loaded.
local function open_deferred(user)
  while user.deferred and user.deferred[1] do
    local number = table.remove(user.deferred, 1)
    local record = connections[number]
    if record then
      if ask(ask_for.CONNECT, number) ~= DONE then
        error("connection creation failed", 0)
      end
      record.open = true
    end
  end
end

--- The connection's record. One that the file has asked for is opened by the first statement on it, though the file
--- is still being loaded.
local function record_of(face)
  local record = connections[face.number]
  if record and not record.open and record.user.loading then
    open_deferred(record.user)
  end
  return record
end

local function open_connection(face, level)
  local record = record_of(face)
  if not record or not record.open then
    state.alert("attempt to use an already closed connection")
    error("SQL API error", level + 2)
  end
  return record
end

local Connection = {}

--- Carries out a text; returns its result.
function Connection:query(query)
  local record = open_connection(self, 2)
  mailbox.text = query
  mailbox.text_length = #query
  if ask(ask_for.QUERY, record.number) ~= DONE then
    refuse(self, query, 2)
  end
  clear(self)
  return results.take_of_text(record)
end

--- The values of the first row of the answer; nil if there is none.
function Connection:query_row(query)
  local record = open_connection(self, 2)
  mailbox.text = query
  mailbox.text_length = #query
  if ask(ask_for.QUERY, record.number) ~= DONE then
    refuse(self, query, 2)
  end
  clear(self)
  local result = take_result(record)
  if result.nrows == 0 then
    return nil
  end
  return unpack(result:fetch_row(), 1, result.nfields)
end

--- A statement that the server parses once. The driver pgsql has it parsed when its parameters are bound, whose types
--- it sends along.
function Connection:prepare(query)
  local record = open_connection(self, 2)
  local prepared = statement.new(next_number(), record, self, query)
  if query:find("?", 1, true) and driver_name() == "pgsql" then
    return prepared
  end
  if statement.prepare(prepared) ~= DONE then
    refuse_for_good(self, 2)
  end
  return prepared
end

local function send_bulk(face, record, call, level)
  local bulk = record.bulk
  if bulk.rows == 0 then
    return
  end
  local query = bulk.head .. table.concat(bulk.parts, ",")
  mailbox.text = query
  mailbox.text_length = #query
  if ask(ask_for.QUERY, record.number) ~= DONE then
    refusal.refused(face, query)
    -- The rows stay for the next attempt, as in sysbench.
    error("db_" .. call .. "() failed", level + 1)
  end
  clear(face)
  bulk.parts, bulk.rows, bulk.bytes = {}, 0, #bulk.head
end

--- Begins to collect rows for this beginning of an INSERT.
function Connection:bulk_insert_init(head)
  local record = open_connection(self, 2)
  record.bulk = { head = head, parts = {}, rows = 0, bytes = #head }
  return true
end

--- One more row, `(…)`; sends those before when they are many.
function Connection:bulk_insert_next(row)
  local record = open_connection(self, 2)
  local bulk = record.bulk
  if not bulk then
    state.alert("attempt to call bulk_insert_next() before bulk_insert_init()")
    error("db_bulk_insert_next() failed", 2)
  end
  if bulk.bytes + #row + 1 > BULK_BYTES then
    send_bulk(self, record, "bulk_insert_next", 2)
  end
  bulk.rows = bulk.rows + 1
  bulk.parts[bulk.rows] = row
  bulk.bytes = bulk.bytes + #row + 1
  return true
end

--- Sends what is left.
function Connection:bulk_insert_done()
  local record = open_connection(self, 2)
  if record.bulk then
    send_bulk(self, record, "bulk_insert_done", 2)
    record.bulk = nil
  end
  return true
end

--- Whether the answer has results behind the one that was taken.
function Connection:more_results()
  open_connection(self, 2)
  return state.host.more_results(self.number)
end

--- The next result of the answer; nil if there is none.
function Connection:next_result()
  local record = open_connection(self, 2)
  if not state.host.next_result(self.number) then
    return nil
  end
  return take_result(record)
end

--- Errors are raised where they happen, so there is none left to check for.
function Connection:check_error()
  open_connection(self, 2)
  return true
end

--- Closes the connection.
function Connection:disconnect()
  local record = record_of(self)
  if record and record.open then
    record.open = false
    statement.forget(record)
    ask(ask_for.DISCONNECT, record.number)
  else
    state.alert("attempt to close an already closed connection")
  end
  return true
end

--- Closes and opens it again. Statements must be prepared again. The driver pgsql cannot do that.
function Connection:reconnect()
  if driver_name() == "pgsql" then
    state.alert("reconnect is not supported by the current driver")
    return true
  end
  local record = connections[self.number]
  statement.forget(record)
  record.open, record.bulk = false, nil
  if ask(ask_for.RECONNECT, record.number) ~= DONE then
    refuse(self, "", 2)
  end
  record.open = true
  mailbox.count = RECONNECTS
  ask(ask_for.COUNT, 0)
  return true
end

local sql_connection = ffi.metatype("sql_connection", {
  __index = Connection,
  __tostring = function()
    return "<sql_connection>"
  end,
})

local Driver = {}

--- A connection that a script has dropped without closing it; it is closed when the next is opened,
--- since a collector of garbage cannot wait for the event loop.
local function collect_connection(face)
  local record = connections[face.number]
  if record then
    connections[face.number] = nil
    if record.open then
      local user = record.user
      user.dropped = user.dropped or {}
      table.insert(user.dropped, face.number)
    end
  end
end

local function close_dropped(user)
  while user.dropped and #user.dropped > 0 do
    ask(ask_for.DISCONNECT, table.remove(user.dropped))
  end
end

--- A new connection. One that is asked for while the file is loaded is opened when it is first used, at the latest
--- before the file's functions are called: who only looks at the file needs no server.
function Driver:connect()
  local user = state.current
  local number = next_number()
  if user.loading then
    user.deferred = user.deferred or {}
    table.insert(user.deferred, number)
  else
    close_dropped(user)
    if ask(ask_for.CONNECT, number) ~= DONE then
      error("connection creation failed", 2)
    end
  end
  connections[number] = {
    number = number,
    user = user,
    open = not user.loading,
    -- What was prepared in an earlier one is not prepared any more.
    life = 1,
    result = results.new(number),
  }
  return ffi.gc(ffi.new(sql_connection, number), collect_connection)
end

function Driver:name()
  return driver_name()
end

local sql_driver = ffi.metatype("sql_driver", {
  __index = Driver,
  __tostring = function()
    return "<sql_driver>"
  end,
})

local the_driver = ffi.new(sql_driver, 0)

local DRIVERS = { mysql = true, pgsql = true }
local PS_MODES = { auto = true, disable = true }

local function driver(name)
  local opt = state.current.env.sysbench.opt or {}
  local there = driver_name()
  if name and not DRIVERS[name] then
    state.fatal("invalid database driver name: '" .. tostring(name) .. "'")
  end
  if (name or there) ~= there or not DRIVERS[there] or not PS_MODES[opt.db_ps_mode or "auto"] then
    error("failed to initialize the DB driver", 2)
  end
  return the_driver
end

return {
  face = {
    driver = driver,
    type = statement.TYPE,
    error = refusal.ERROR,
  },
  open_deferred = open_deferred,
  --- Forgets all that the user has: its connections are closed. They are few enough to look through those of all.
  forget = function(user)
    for number, record in pairs(connections) do
      if record.user == user then
        statement.forget(record)
        connections[number] = nil
      end
    end
  end,
}