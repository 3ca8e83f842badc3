-- The handling of a statement that the server refuses: an error that says whether its event may
-- restart.
local ffi = require("ffi")
local state = ...

local mailbox = state.mailbox

local RESTART_EVENT = 1

local ERROR = { NONE = 0, IGNORABLE = 1, FATAL = 2 }

-- The texts that connections point to, by connection.
local texts = setmetatable({}, { __mode = "k" })

--- Lets the connection have the error of its last statement.
local function note(face, description)
  local code, message = description.sql_state, description.sql_errmsg
  face.error, face.sql_errno = ERROR.IGNORABLE, description.sql_errno
  face.sql_state, face.sql_errmsg = code, message
  texts[face] = { code, message }
end

--- Its last statement was executed.
local function clear(face)
  if face.error ~= ERROR.NONE then
    face.error, face.sql_errno, face.sql_state, face.sql_errmsg = ERROR.NONE, 0, nil, nil
    texts[face] = nil
  end
end

local function is_ignorable(user, description)
  local ignored = user.ignored
  if ignored.all or ignored[description.sql_errno] or ignored[description.sql_state] then
    return true
  end
  local hook = user.env.sysbench.hooks.sql_error_ignorable
  return hook ~= nil and hook(description)
end

--- The error in the mailbox, which the connection has from now on.
local function refused(face, query)
  local description = {
    connection = face,
    query = query,
    sql_errno = mailbox.errno,
    sql_state = ffi.string(mailbox.sql_state, 5),
    sql_errmsg = ffi.string(mailbox.message, mailbox.message_length),
  }
  note(face, description)
  return description
end

--- Raises what the server refused; `level` is as for error(), seen from the caller.
local function refuse(face, query, level)
  local description = refused(face, query)
  if is_ignorable(state.current, description) then
    description.errcode = RESTART_EVENT
    error(description, 0)
  end
  face.error = ERROR.FATAL
  error(string.format("SQL error, errno = %d, state = '%s': %s", description.sql_errno,
    description.sql_state, description.sql_errmsg), level + 1)
end

--- The same for a statement that the server does not prepare: as with the field's tools, this error
--- can neither be ignored nor restart the event, and only the log says what it was.
local function refuse_for_good(face, level)
  face.error = ERROR.FATAL
  error("SQL API error", level + 1)
end

return {
  ERROR = ERROR,
  refused = refused,
  refuse = refuse,
  refuse_for_good = refuse_for_good,
  clear = clear,
}
