-- Prepared statements and their parameters.
--
-- Scripts look at types, so a statement is an FFI structure with methods. A user may have hundreds of them: all that
-- fits is in the structure itself, and the rest in one list.
local ffi = require("ffi")
local state, random, refusal, results = ...

local mailbox, ask, ask_for, DONE = state.mailbox, state.ask, state.ask_for, state.answered.DONE
local refuse, refuse_for_good, clear = refusal.refuse, refusal.refuse_for_good, refusal.clear
local take_result = results.take

-- `life` is that of the connection when the statement was prepared, and 0 once it is closed: see open_statement().
ffi.cdef("typedef struct { uint32_t number, life, count; bool is_prepared; } sql_statement;")

local TYPE = {
  NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
  DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}

-- Kinds of a parameter's value; `RawValue` in ffi_value.rs has the same numbers.
local NULL, INTEGER, REAL, TEXT = 0, 1, 2, 3

-- What the list of a statement holds, for as long as a script holds the statement: the record and the face of its
-- connection, its text, and behind that, once they are bound, its parameters, so that they stay where they are.
local CONNECTION, FACE, QUERY = 1, 2, 3
local lists = setmetatable({}, { __mode = "k" })

-- The cells of the statement that is being executed. All users have them in turn, as the engine has read them when the
-- next one runs.
local most_cells = 16
local cells = ffi.new("loadstone_value *[?]", most_cells)

-- Parameters ---------------------------------------------------------------------------------------

-- What the list of a parameter holds: its value as the engine reads it, and of a text the buffer and how many bytes
-- fit there.
local CELL, BUFFER, CAPACITY = 1, 2, 3

local Integer, Real, Text = {}, {}, {}

--- The parameter's next value; nil is NULL.
function Integer:set(value)
  local cell = self[CELL]
  if value == nil then
    cell.kind = NULL
    return
  end
  cell.integer = value
  cell.kind = INTEGER
end

function Real:set(value)
  local cell = self[CELL]
  if value == nil then
    cell.kind = NULL
    return
  end
  cell.real = value
  cell.kind = REAL
end

--- A text is cut to the length that was bound.
function Text:set(value)
  local cell = self[CELL]
  if value == nil then
    cell.kind = NULL
    return
  end
  if type(value) ~= "string" then
    error("this parameter is a text, not a " .. type(value), 2)
  end
  local length = math.min(#value, self[CAPACITY])
  ffi.copy(self[BUFFER], value, length)
  cell.length = length
  cell.kind = TEXT
end

--- Room for a text of so many bytes.
function Text:reserve(length)
  if length > self[CAPACITY] then
    self[CAPACITY] = length
    self[BUFFER] = ffi.new("char[?]", length)
    self[CELL].text = self[BUFFER]
  end
end

--- A random string after a pattern: see sysbench.rand.string. It may be longer than what was bound.
function Text:set_rand_str(pattern)
  self:reserve(#pattern)
  random.fill(pattern, self[BUFFER])
  local cell = self[CELL]
  cell.length = #pattern
  cell.kind = TEXT
end

local function is_no_text()
  error("set_rand_str() is for parameters of the type CHAR or VARCHAR", 2)
end

Integer.set_rand_str, Real.set_rand_str = is_no_text, is_no_text

-- The kind of the values of each.
Integer.kind, Real.kind, Text.kind = INTEGER, REAL, TEXT

local METHODS = {
  [TYPE.TINYINT] = Integer, [TYPE.SMALLINT] = Integer, [TYPE.INT] = Integer,
  [TYPE.BIGINT] = Integer, [TYPE.FLOAT] = Real, [TYPE.DOUBLE] = Real,
  [TYPE.CHAR] = Text, [TYPE.VARCHAR] = Text,
}

-- The metatables of parameters, by their types; and which metatables are some.
local metatables, is_of_parameter = {}, {}
for kind, methods in pairs(METHODS) do
  local prototype = { type = kind }
  for name, method in pairs(methods) do
    prototype[name] = method
  end
  local meta = {
    __index = prototype,
    __tostring = function()
      return "<sql_param>"
    end,
  }
  metatables[kind], is_of_parameter[meta] = meta, true
end

local function new_parameter(kind, capacity)
  local cell = ffi.new("loadstone_value")
  if METHODS[kind] ~= Text then
    return setmetatable({ cell }, metatables[kind])
  end
  local buffer = ffi.new("char[?]", math.max(capacity, 1))
  cell.text = buffer
  return setmetatable({ cell, buffer, capacity }, metatables[kind])
end

-- Statements ---------------------------------------------------------------------------------------

local Statement = {}

--- The statement's list. What is no longer prepared has another life than its connection, which begins a new one
--- when it is closed: so nothing has to know all statements of a connection.
local function open_statement(face, level)
  local list = lists[face]
  if not list or face.life ~= list[CONNECTION].life then
    error("attempt to use an already closed statement", level + 1)
  end
  return list
end

--- Has the server parse the statement, for `count` parameters of these kinds; returns its answer.
local function prepare(statement, kinds, count)
  local list = lists[statement]
  mailbox.text = list[QUERY]
  mailbox.text_length = #list[QUERY]
  mailbox.statement = statement.number
  mailbox.cells = kinds
  mailbox.count = count or 0
  local answer = ask(ask_for.PREPARE, list[CONNECTION].number)
  statement.is_prepared = answer == DONE
  return answer
end

--- Has the server parse it for parameters like these, of which it has to know the kinds alone.
local function prepare_for(statement, count, ...)
  local values = ffi.new("loadstone_value[?]", count)
  local kinds = ffi.new("loadstone_value *[?]", count)
  for index = 1, count do
    values[index - 1].kind = select(index, ...).kind
    kinds[index - 1] = values + (index - 1)
  end
  return prepare(statement, kinds, count)
end

--- A parameter of this type; texts need their greatest length in bytes.
function Statement:bind_create(kind, capacity)
  open_statement(self, 2)
  if not METHODS[kind] then
    error("Unsupported argument type: " .. tostring(kind), 2)
  end
  if kind == TYPE.CHAR or kind == TYPE.VARCHAR then
    if type(capacity) ~= "number" or capacity < 0 then
      error("a parameter of the type CHAR or VARCHAR needs its greatest length", 2)
    end
  end
  return new_parameter(kind, capacity)
end

--- Binds parameters to the placeholders, in their order.
function Statement:bind_param(...)
  local list = open_statement(self, 2)
  local count = select("#", ...)
  if count == 0 then
    return nil
  end
  for index = 1, count do
    local parameter = select(index, ...)
    if not is_of_parameter[getmetatable(parameter)] then
      error("bind_param() takes what bind_create() made", 2)
    end
  end
  lists[self] = { list[CONNECTION], list[FACE], list[QUERY], ... }
  self.count = count
  if not self.is_prepared and prepare_for(self, count, ...) ~= DONE then
    return 1
  end
  return 0
end

--- Puts the cells of a statement's parameters where the engine reads them.
local function show_parameters(list, count)
  if count > most_cells then
    most_cells = count
    cells = ffi.new("loadstone_value *[?]", count)
  end
  for index = 1, count do
    cells[index - 1] = list[QUERY + index][CELL]
  end
  mailbox.cells = cells
  mailbox.count = count
end

--- Carries the statement out.
function Statement:execute()
  local list = open_statement(self, 2)
  -- Nothing was bound to it, or what was bound did not fit.
  if not self.is_prepared and prepare(self) ~= DONE then
    refuse_for_good(list[FACE], 2)
  end
  local connection = list[CONNECTION]
  mailbox.statement = self.number
  show_parameters(list, self.count)
  state.current.executing = list[QUERY]
  if ask(ask_for.EXECUTE, connection.number) ~= DONE then
    refuse(list[FACE], list[QUERY], 2)
  end
  clear(list[FACE])
  return take_result(connection)
end

--- Tells the server to forget the statement.
function Statement:close()
  local list = lists[self]
  if list and self.life == list[CONNECTION].life then
    self.life = 0
    mailbox.statement = self.number
    ask(ask_for.CLOSE_STATEMENT, list[CONNECTION].number)
  end
  return 0
end

local sql_statement = ffi.metatype("sql_statement", {
  __index = Statement,
  __tostring = function()
    return "<sql_statement>"
  end,
})

--- A statement that the server knows, on the connection with this record and this face. The server keeps one that a
--- script drops without closing it for as long as the connection lives.
local function new_statement(number, record, face, query)
  local statement = ffi.new(sql_statement, { number = number, life = record.life })
  lists[statement] = { record, face, query }
  return statement
end

--- The connection is gone, and with it what it had prepared.
local function forget_statements(record)
  record.life = record.life + 1
end

return { TYPE = TYPE, new = new_statement, prepare = prepare, forget = forget_statements }
