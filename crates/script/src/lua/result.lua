-- Results: what a script reads of the answer to a statement.
local ffi = require("ffi")
local state = ...

local mailbox = state.mailbox
local byte, sub = string.byte, string.sub

ffi.cdef("typedef struct { uint32_t nrows; uint32_t nfields; uint32_t number; uint32_t state; } sql_result;")

-- States of a result: rows, if only none, that were not freed yet; none; and that of a text which returns
-- none, which is a null pointer in sysbench and equals nil.
local ROWS, NO_ROWS, NOTHING = 0, 1, 2

-- Indexed by number: what belongs to a connection apart from its FFI structure.
local connections = {}

local Result = {}

-- Integers of the protocol with a length of their own: their first byte tells how many follow.
local function length_at(bytes, position)
  local first = byte(bytes, position)
  if first < 0xfb then
    return first, position + 1
  end
  local width = first == 0xfc and 2 or first == 0xfd and 3 or 8
  local length = 0
  for offset = width, 1, -1 do
    length = length * 256 + byte(bytes, position + offset)
  end
  return length, position + 1 + width
end

--- The next row, a list of its values as text, nil for NULL; nil behind the last one.
function Result:fetch_row()
  local record = connections[self.number]
  if self.nrows == 0 then
    local kind = self.nfields == 0 and "invalid" or "empty"
    state.alert("attempt to fetch row from an " .. kind .. " result set")
    return nil
  end
  local rows = record and record.rows
  if not rows or record.position > #rows then
    return nil
  end
  local row, position = {}, record.position
  for field = 1, self.nfields do
    if byte(rows, position) == 0xfb then
      position = position + 1
    else
      local length, start = length_at(rows, position)
      row[field] = sub(rows, start, start + length - 1)
      position = start + length
    end
  end
  record.position = position
  return row
end

local function forget(result)
  local record = connections[result.number]
  if record then
    record.rows = nil
  end
  result.nrows, result.nfields, result.state = 0, 0, NO_ROWS
end

--- Forgets the rows.
function Result:free()
  if self.state ~= ROWS then
    state.alert("attempt to free an invalid result set")
    error("db_free_results() failed", 0)
  end
  forget(self)
  -- sysbench returns what it gives to assert().
  return true, "db_free_results() failed"
end

local sql_result = ffi.metatype("sql_result", {
  __index = Result,
  __tostring = function()
    return "<sql_result>"
  end,
  __eq = function(one, other)
    if rawequal(other, nil) or rawequal(one, nil) then
      return (one or other).state == NOTHING
    end
    return one.number == other.number and one.state == other.state
  end,
})

local nothing = ffi.new(sql_result, 0, 0, 0, NOTHING)

--- Takes the first result of the answer in the mailbox. A connection has one result: as with the
--- field's tools, the next statement replaces it.
local function take_result(record)
  local result = record.result
  result.nrows = mailbox.row_count
  result.nfields = mailbox.field_count
  result.state = result.nfields > 0 and ROWS or NO_ROWS
  if mailbox.rows_length > 0 then
    record.rows = ffi.string(mailbox.rows, mailbox.rows_length)
    record.position = 1
  else
    record.rows = nil
  end
  return result
end

--- The same for the answer to a text.
local function take_result_of_text(record)
  local result = take_result(record)
  return result.nfields > 0 and result or nothing
end

local function new_result(number)
  return ffi.new(sql_result, 0, 0, number, NO_ROWS)
end

return {
  connections = connections,
  new = new_result,
  take = take_result,
  take_of_text = take_result_of_text,
  forget = forget,
}
