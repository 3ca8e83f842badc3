-- Prepared statements and their parameters.
--
-- Scripts look at types, so a statement is an FFI structure with methods; what else belongs to it is in
-- a separate table, under its number.
local ffi = require("ffi")
local state, random, refusal, results = ...

local mailbox, ask, ask_for, DONE = state.mailbox, state.ask, state.ask_for, state.answered.DONE
local refuse, take_result = refusal.refuse, results.take

ffi.cdef("typedef struct { uint32_t number; } sql_statement;")

local TYPE = {
  NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
  DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}

-- Kinds of a parameter's value; `RawValue` in mailbox.rs has the same numbers.
local NULL, INTEGER, REAL, TEXT = 0, 1, 2, 3

local statements = {}

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

--- Room for a text of so many bytes.
function Parameter:reserve(length)
  if length > self.capacity then
    self.capacity = length
    self.buffer = ffi.new("char[?]", length)
    self.cell.text = self.buffer
  end
end

--- A random string after a pattern: see sysbench.rand.string. It may be longer than what was bound.
function Parameter:set_rand_str(pattern)
  if self.write ~= set_text then
    error("set_rand_str() is for parameters of the type CHAR or VARCHAR", 2)
  end
  self:reserve(#pattern)
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

--- A statement that the server knows, on the connection with this record and this face.
local function new_statement(number, record, face, query)
  statements[number] = { number = number, connection = record, face = face, query = query, count = 0 }
  record.statements[number] = true
  return ffi.gc(ffi.new(sql_statement, number), collect_statement)
end

--- The connection is gone, and with it what it had prepared.
local function forget_statements(record)
  for number in pairs(record.statements) do
    statements[number] = nil
  end
  record.statements = {}
end

return { TYPE = TYPE, new = new_statement, forget = forget_statements }
