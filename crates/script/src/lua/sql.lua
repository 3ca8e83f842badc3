-- sysbench.sql: drivers, connections, statements, parameters and results.
--
-- Scripts look at types (`type(con) == "cdata"`) and at fields (`result.nrows`), so these are FFI
-- structures with methods; what else belongs to one lies in a table beside it, under its number.
local ffi = require("ffi")
local state, random = ...

local mailbox, ask, ask_for, DONE = state.mailbox, state.ask, state.ask_for, state.answered.DONE

ffi.cdef([[
typedef struct { uint32_t number; } sql_driver;
typedef struct { uint32_t number; } sql_connection;
typedef struct { uint32_t number; } sql_statement;
typedef struct { uint32_t nrows; uint32_t nfields; uint32_t number; } sql_result;
]])

-- The length at which collected rows are sent, in bytes: half a megabyte fits into the smallest
-- max_allowed_packet in use.
local BULK_BYTES = 512 * 1024

local TYPE = {
  NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
  DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}
local RESTART_EVENT = 1

-- Kinds of a parameter's value; `RawValue` in mailbox.rs has the same numbers.
local NULL, INTEGER, REAL, TEXT = 0, 1, 2, 3

local connections, statements = {}, {}
local last_number = 0

local function next_number()
  last_number = last_number + 1
  return last_number
end

-- Errors -----------------------------------------------------------------------------------------

local function is_ignorable(user, description)
  if user.ignored.all or user.ignored[description.sql_errno] then
    return true
  end
  local hook = user.env.sysbench.hooks.sql_error_ignorable
  return hook ~= nil and hook(description)
end

--- Raises what the server refused; `level` is as for error(), seen from the caller.
local function refuse(face, query, level)
  local description = {
    connection = face,
    query = query,
    sql_errno = mailbox.errno,
    sql_state = ffi.string(mailbox.sql_state, 5),
    sql_errmsg = ffi.string(mailbox.message, mailbox.message_length),
  }
  if is_ignorable(state.current, description) then
    description.errcode = RESTART_EVENT
    error(description, 0)
  end
  error(string.format("SQL error, errno = %d, state = '%s': %s", description.sql_errno,
    description.sql_state, description.sql_errmsg), level + 1)
end

local function open_connection(face, level)
  local record = connections[face.number]
  if not record or not record.open then
    error("attempt to use an already closed connection", level + 1)
  end
  return record
end

-- Results ----------------------------------------------------------------------------------------

local Result = {}

-- Integers of the protocol with a length of their own: their first byte tells how many follow.
local function length_at(bytes, position)
  local first = bytes:byte(position)
  if first < 0xfb then
    return first, position + 1
  end
  local width = first == 0xfc and 2 or first == 0xfd and 3 or 8
  local length = 0
  for offset = width, 1, -1 do
    length = length * 256 + bytes:byte(position + offset)
  end
  return length, position + 1 + width
end

--- The next row, a list of its values as text, nil for NULL; nil behind the last one.
function Result:fetch_row()
  local record = connections[self.number]
  local rows = record and record.rows
  if not rows or record.position > #rows then
    return nil
  end
  local row, position = {}, record.position
  for field = 1, self.nfields do
    if rows:byte(position) == 0xfb then
      position = position + 1
    else
      local length, start = length_at(rows, position)
      row[field] = rows:sub(start, start + length - 1)
      position = start + length
    end
  end
  record.position = position
  return row
end

--- Forgets the rows.
function Result:free()
  local record = connections[self.number]
  if record then
    record.rows = nil
  end
  return true
end

local sql_result = ffi.metatype("sql_result", {
  __index = Result,
  __tostring = function()
    return "<sql_result>"
  end,
})

--- Takes the first result of the answer in the mailbox. A connection has one result: as with the
--- field's tools, the next statement replaces it.
local function take_result(record)
  local result = record.result
  result.nrows = mailbox.row_count
  result.nfields = mailbox.field_count
  if mailbox.rows_length > 0 then
    record.rows = ffi.string(mailbox.rows, mailbox.rows_length)
    record.position = 1
  else
    record.rows = nil
  end
  return result
end

-- Statements and their parameters ----------------------------------------------------------------

local Parameter = {}
Parameter.__index = Parameter

function Parameter.__tostring()
  return "<sql_param>"
end

local function set_integer(self, value)
  self.cell.integer = value
  self.cell.kind = INTEGER
end

local function set_real(self, value)
  self.cell.real = value
  self.cell.kind = REAL
end

local function set_text(self, value)
  local length = math.min(#value, self.capacity)
  ffi.copy(self.buffer, value, length)
  self.cell.length = length
  self.cell.kind = TEXT
end

local KIND_OF = {
  [TYPE.TINYINT] = set_integer, [TYPE.SMALLINT] = set_integer, [TYPE.INT] = set_integer,
  [TYPE.BIGINT] = set_integer, [TYPE.FLOAT] = set_real, [TYPE.DOUBLE] = set_real,
  [TYPE.TIME] = set_text, [TYPE.DATE] = set_text, [TYPE.DATETIME] = set_text,
  [TYPE.TIMESTAMP] = set_text, [TYPE.CHAR] = set_text, [TYPE.VARCHAR] = set_text,
}

-- What a time has at most as text: a date, a time and six digits of its second.
local LONGEST_TIME = 26

--- The parameter's next value; nil is NULL. A text is cut to the length that was bound.
function Parameter:set(value)
  if value == nil then
    self.cell.kind = NULL
    return
  end
  local write = self.write
  if write == set_text and type(value) ~= "string" then
    error("this parameter is a text, not a " .. type(value), 2)
  end
  write(self, value)
end

--- A random string after a pattern: see sysbench.rand.string.
function Parameter:set_rand_str(pattern)
  if self.write ~= set_text then
    error("set_rand_str() is for parameters of the type CHAR or VARCHAR", 2)
  end
  if #pattern > self.capacity then
    error("the pattern is longer than the parameter", 2)
  end
  random.fill(pattern, self.buffer)
  self.cell.length = #pattern
  self.cell.kind = TEXT
end

local function new_parameter(kind, capacity)
  local parameter = { type = kind, write = KIND_OF[kind], cell = ffi.new("loadstone_value") }
  if parameter.write == set_text then
    parameter.capacity = capacity
    parameter.buffer = ffi.new("char[?]", math.max(capacity, 1))
    parameter.cell.text = parameter.buffer
  end
  return setmetatable(parameter, Parameter)
end

local Statement = {}

--- A statement that a script has dropped without closing it; the server keeps it as long as the
--- connection lives.
local function collect_statement(face)
  local record = statements[face.number]
  if record then
    statements[face.number] = nil
    record.connection.statements[face.number] = nil
  end
end

local function open_statement(face, level)
  local record = statements[face.number]
  if not record then
    error("attempt to use an already closed statement", level + 1)
  end
  return record
end

--- A parameter of this type; texts need their greatest length in bytes.
function Statement:bind_create(kind, capacity)
  open_statement(self, 2)
  local write = KIND_OF[kind]
  if not write then
    error("Unsupported argument type: " .. tostring(kind), 2)
  end
  if kind == TYPE.CHAR or kind == TYPE.VARCHAR then
    if type(capacity) ~= "number" or capacity < 0 then
      error("a parameter of the type CHAR or VARCHAR needs its greatest length", 2)
    end
  else
    capacity = LONGEST_TIME
  end
  return new_parameter(kind, capacity)
end

--- Binds parameters to the placeholders, in their order.
function Statement:bind_param(...)
  local record = open_statement(self, 2)
  local count = select("#", ...)
  local cells = ffi.new("loadstone_value *[?]", math.max(count, 1))
  local parameters = { ... }
  for index = 1, count do
    local parameter = parameters[index]
    if getmetatable(parameter) ~= Parameter then
      error("bind_param() takes what bind_create() made", 2)
    end
    cells[index - 1] = parameter.cell
  end
  -- The parameters are kept so that the cells stay where they are.
  record.parameters, record.cells, record.count = parameters, cells, count
  return 0
end

--- Carries the statement out.
function Statement:execute()
  local record = open_statement(self, 2)
  local connection = record.connection
  if not connection.open then
    error("attempt to use an already closed connection", 2)
  end
  mailbox.statement = record.number
  mailbox.cells = record.cells
  mailbox.count = record.count
  if ask(ask_for.EXECUTE, connection.number) ~= DONE then
    refuse(record.face, record.query, 2)
  end
  return take_result(connection)
end

--- Tells the server to forget the statement.
function Statement:close()
  local record = statements[self.number]
  if not record then
    return 0
  end
  statements[self.number] = nil
  record.connection.statements[self.number] = nil
  if record.connection.open then
    mailbox.statement = record.number
    ask(ask_for.CLOSE_STATEMENT, record.connection.number)
  end
  return 0
end

local sql_statement = ffi.metatype("sql_statement", {
  __index = Statement,
  __tostring = function()
    return "<sql_statement>"
  end,
})

-- Connections ------------------------------------------------------------------------------------

local Connection = {}

--- Carries out a text; returns its result.
function Connection:query(query)
  local record = open_connection(self, 2)
  mailbox.text = query
  mailbox.text_length = #query
  if ask(ask_for.QUERY, record.number) ~= DONE then
    refuse(self, query, 2)
  end
  return take_result(record)
end

--- The values of the first row of the answer; nil if there is none.
function Connection:query_row(query)
  local record = open_connection(self, 2)
  mailbox.text = query
  mailbox.text_length = #query
  if ask(ask_for.QUERY, record.number) ~= DONE then
    refuse(self, query, 2)
  end
  local result = take_result(record)
  local row = result:fetch_row()
  if not row then
    return nil
  end
  return unpack(row, 1, result.nfields)
end

--- A statement that the server parses once.
function Connection:prepare(query)
  local record = open_connection(self, 2)
  local number = next_number()
  mailbox.text = query
  mailbox.text_length = #query
  mailbox.statement = number
  if ask(ask_for.PREPARE, record.number) ~= DONE then
    refuse(self, query, 2)
  end
  statements[number] = { number = number, connection = record, face = self, query = query, count = 0 }
  record.statements[number] = true
  return ffi.gc(ffi.new(sql_statement, number), collect_statement)
end

local function send_bulk(face, record, level)
  local bulk = record.bulk
  if bulk.rows == 0 then
    return
  end
  local query = bulk.head .. " " .. table.concat(bulk.parts, ",")
  bulk.parts, bulk.rows, bulk.bytes = {}, 0, #bulk.head
  mailbox.text = query
  mailbox.text_length = #query
  if ask(ask_for.QUERY, record.number) ~= DONE then
    refuse(face, bulk.head, level + 1)
  end
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
    error("bulk_insert_next() without bulk_insert_init()", 2)
  end
  if bulk.bytes + #row + 1 > BULK_BYTES then
    send_bulk(self, record, 2)
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
    send_bulk(self, record, 2)
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

local function forget_statements(record)
  for number in pairs(record.statements) do
    statements[number] = nil
  end
  record.statements = {}
end

--- Closes the connection.
function Connection:disconnect()
  local record = connections[self.number]
  if record and record.open then
    record.open = false
    forget_statements(record)
    ask(ask_for.DISCONNECT, record.number)
  end
  return true
end

--- Closes and opens it again. Statements have to be prepared anew.
function Connection:reconnect()
  local record = connections[self.number]
  forget_statements(record)
  record.open, record.bulk = false, nil
  if ask(ask_for.RECONNECT, record.number) ~= DONE then
    refuse(self, "", 2)
  end
  record.open = true
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
    record.user.connections[face.number] = nil
    if record.open then
      table.insert(record.user.dropped, face.number)
    end
  end
end

local function close_dropped(user)
  while #user.dropped > 0 do
    ask(ask_for.DISCONNECT, table.remove(user.dropped))
  end
end

--- A new connection.
function Driver:connect()
  local user = state.current
  close_dropped(user)
  local number = next_number()
  if ask(ask_for.CONNECT, number) ~= DONE then
    refuse(nil, "", 2)
  end
  connections[number] = {
    number = number,
    user = user,
    open = true,
    statements = {},
    result = ffi.new(sql_result, 0, 0, number),
  }
  user.connections[number] = true
  return ffi.gc(ffi.new(sql_connection, number), collect_connection)
end

function Driver:name()
  return "mysql"
end

local sql_driver = ffi.metatype("sql_driver", {
  __index = Driver,
  __tostring = function()
    return "<sql_driver>"
  end,
})

local the_driver = ffi.new(sql_driver, 0)

local function driver(name)
  name = name or state.current.env.sysbench.opt.db_driver or "mysql"
  if name ~= "mysql" then
    error("invalid database driver: " .. tostring(name), 2)
  end
  return the_driver
end

return {
  face = {
    driver = driver,
    type = TYPE,
    error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
  },
  --- Forgets all that the user has: its connections are closed.
  forget = function(user)
    for number in pairs(user.connections) do
      forget_statements(connections[number])
      connections[number] = nil
    end
    user.connections = {}
  end,
}
