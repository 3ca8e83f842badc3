-- What all parts of the library share: whose turn it is, and the way from a call in a script to the
-- event loop and back.
--
-- A virtual user is a coroutine. A call that needs the server fills in the mailbox and yields from
-- here, in Lua: a yield out of a foreign function would leave frames behind that cannot be resumed.
local ffi = require("ffi")
local host = ...

ffi.cdef(host.declarations)

local running, yield = coroutine.running, coroutine.yield

local state = {
  host = host,
  mailbox = ffi.cast("loadstone_mailbox *", host.mailbox),
  -- What a coroutine yields that waits for the event loop. Nothing a script yields equals it.
  REQUEST = {},
  -- The user that runs now.
  current = false,
}

-- What is asked for; `Request` in mailbox.rs has the same numbers.
state.ask_for = {
  IDLE = 0,
  CONNECT = 1,
  DISCONNECT = 2,
  RECONNECT = 3,
  QUERY = 4,
  PREPARE = 5,
  EXECUTE = 6,
  CLOSE_STATEMENT = 7,
  NEXT_EVENT = 8,
  COUNT = 9,
  SLEEP = 10,
  EVENT_OVER = 11,
}

-- What came of it.
state.answered = { DONE = 0, REFUSED = 1 }

local mailbox, REQUEST = state.mailbox, state.REQUEST

--- Hands the mailbox to the event loop; returns when the answer lies in it.
function state.ask(what, connection)
  local user = state.current
  mailbox.request = what
  mailbox.connection = connection
  yield(REQUEST)
  state.current = user
  return mailbox.answer
end

--- Waits, and lets others go on.
function state.sleep(seconds)
  mailbox.text_length = math.max(seconds, 0) * 1e9
  state.ask(state.ask_for.SLEEP, 0)
end

-- The last line of the log, and how often it has come again since it was printed.
local last_line, repeated = nil, 0

--- A line of the log that sysbench prints in addition to the error. One that comes several times in a
--- row is printed once, and counted when another comes.
local function log(level, text, verbosity)
  local opt = state.current.env.sysbench.opt
  if opt and (opt.verbosity or 1) < verbosity then
    return
  end
  local line = level .. ": " .. text .. "\n"
  if line == last_line then
    repeated = repeated + 1
    return
  end
  if repeated > 0 then
    host.print(string.format("(last message repeated %d times)\n", repeated))
  end
  last_line, repeated = line, 0
  host.print(line)
end

function state.fatal(text)
  log("FATAL", text, 0)
end

function state.alert(text)
  log("ALERT", text, 1)
end

--- The address of a function of the engine, as a C function of this type.
function state.foreign(name, ctype)
  return ffi.cast(ctype, host.functions[name])
end

--- Whether the code that asks runs in a coroutine that the script made.
function state.in_own_coroutine()
  return running() ~= state.current.thread
end

return state
