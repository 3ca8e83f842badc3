-- Replays what one connection did, statement by statement, each when it is due.
--
-- `sysbench.opt.lanes` is a folder with a file for each user. A record of it is a line, `KIND
-- MICROSECONDS LENGTH`, then so many bytes and a line's end. Kinds: `S` a statement, `C` a session
-- begins (its schema), `U` the session goes to another schema, `Q` the session ends.
--
-- An event is a statement. The wait for its time is no part of it: it is done between events. An event
-- whose statement or connection was refused has failed.
local ffi = require("ffi")

ffi.cdef([[
typedef struct { long seconds; long nanoseconds; } loadstone_replay_time;
int loadstone_replay_clock(int, loadstone_replay_time *) __asm__("clock_gettime");
]])

local MONOTONIC = 1
-- CR_SERVER_GONE_ERROR is of a connection that is not there any more; CR_SERVER_LOST and
-- CR_MALFORMED_PACKET are of one that the event loop has opened again.
local GONE = 2006
local LOST = { [GONE] = true, [2013] = true, [2027] = true }
-- A sleep never ends before its time but by rounding: what does was broken off, as the load is over.
local BROKEN_OFF_S = 1e-5
-- Buckets of lateness: eight for each doubling of microseconds.
local A_DOUBLING = 8

local moment = ffi.new("loadstone_replay_time")

local function now()
  ffi.C.loadstone_replay_clock(MONOTONIC, moment)
  return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end

-- Known when a user begins, and not yet while the file is loaded.
local options, lane, connection, mailbox
local schema, connected = nil, false
local told = {
  sent = 0, refused = 0, cycles = 0, sessions = 0, held = 0, held_max_us = 0, late_max_us = 0,
}
local late = {}
-- When the time that the replay was given is over.
local ends_s = math.huge

local function next_record()
  local line = lane:read("*l")
  if not line then
    return nil
  end
  local kind, at_us, length = line:match("^(%u) (%d+) (%d+)$")
  local text = lane:read(tonumber(length)) or ""
  lane:read(1)
  return kind, tonumber(at_us) / 1e6, text
end

-- The engine counts an event as failed if `cancelled` is set in its mailbox when the event ends. The
-- only documented way to set it is that event() returns true, which would end the user. So this finds
-- the mailbox where sb_event_stop() has it.
local function mailbox_of_engine()
  local _, state = debug.getupvalue(ffi.C.sb_event_stop, 1)
  return assert(type(state) == "table" and state.mailbox, "the engine has no mailbox here")
end

--- Ends the event. All users of a state share its mailbox, and none runs between these lines.
local function end_event(succeeded)
  mailbox.cancelled = not succeeded
  ffi.C.sb_event_stop()
  mailbox.cancelled = false
end

local function open_connection()
  connection = sysbench.sql.driver():connect()
  connected = true
end

local function close_connection()
  if connected then
    connection:disconnect()
    connected = false
  end
end

local function text_of_use()
  return "USE `" .. schema:gsub("`", "``") .. "`"
end

--- After a loss the connection is a new one, which is not where the session was.
local function recover(errno)
  if errno == GONE and not pcall(connection.reconnect, connection) then
    return
  end
  if schema then
    pcall(connection.query, connection, text_of_use())
  end
end

--- Sends a statement, and reads all of its answer; returns whether it succeeded. Errors are counted
--- by the engine.
local function send(text)
  if not connected and not pcall(open_connection) then
    told.refused = told.refused + 1
    return false
  end
  local ok, problem = pcall(connection.query, connection, text)
  if ok then
    return true
  end
  told.refused = told.refused + 1
  if type(problem) == "table" and LOST[problem.sql_errno] then
    recover(problem.sql_errno)
  end
  return false
end

local function use(name)
  if options.use_schemas == "yes" and name ~= "" then
    schema = name
    return send(text_of_use())
  end
  return true
end

--- A session begins: on a connection of its own, of which the first is there already.
local function begin_session(name)
  told.sessions = told.sessions + 1
  if told.sessions > 1 then
    close_connection()
    if not pcall(open_connection) then
      schema = nil
      return false
    end
  end
  schema = nil
  return use(name)
end

--- Whether the load is over; returns when it is due otherwise.
local function wait_until(due)
  if due > ends_s then
    return true
  end
  local left = due - now()
  if left <= 0 then
    return false
  end
  ffi.C.usleep(left * 1e6)
  return due - now() > BROKEN_OFF_S
end

local function count_lateness(us, waited_for_answer)
  if waited_for_answer then
    told.held = told.held + 1
    told.held_max_us = math.max(told.held_max_us, us)
    return
  end
  told.late_max_us = math.max(told.late_max_us, us)
  local bucket = us < 1 and 0 or math.floor(math.log(us) / math.log(2) * A_DOUBLING) + 1
  late[bucket] = (late[bucket] or 0) + 1
end

function thread_init(tid)
  options = sysbench.opt
  mailbox = mailbox_of_engine()
  lane = assert(io.open(options.lanes .. "/" .. tid .. ".lane", "rb"))
  open_connection()
end

--- What is an event: whoever is stopped finishes it first. Each returns whether it succeeded.
local carry_out = { S = send, C = begin_session, U = use }

--- One time through the lane; whether the load is over, and when the last answer was there.
local function replay(begin_s, speed, freed_s)
  for kind, at_s, text in next_record do
    local due = speed > 0 and begin_s + at_s / speed or 0
    if wait_until(due) then
      return true, freed_s
    end
    if kind == "Q" then
      close_connection()
    else
      if not ffi.C.sb_more_events() then
        return true, freed_s
      end
      if kind == "S" then
        told.sent = told.sent + 1
        if due > 0 then
          count_lateness((now() - due) * 1e6, freed_s > due)
        end
      end
      end_event(carry_out[kind](text))
      freed_s = now()
    end
  end
  return false, freed_s
end

function thread_run()
  -- The load begins for all users together with their first event, which is over at once: it falls
  -- into the warm-up, and what is replayed begins behind that.
  if not ffi.C.sb_more_events() then
    return
  end
  ffi.C.sb_event_stop()
  local begin_s = now() + tonumber(options.lead_s)
  local speed, length_s = tonumber(options.speed), tonumber(options.length_s)
  ends_s = begin_s + tonumber(options.duration_s)
  -- At full speed, too: what is sent while connections open and before the window is not measured.
  if wait_until(begin_s) then
    return
  end
  local freed_s = 0
  repeat
    local over
    over, freed_s = replay(begin_s, speed, freed_s)
    if over then
      return
    end
    told.cycles = told.cycles + 1
    lane:seek("set", 0)
    if speed > 0 then
      begin_s = begin_s + length_s / speed
    end
  until options.loop ~= "yes"
end

function thread_done(tid)
  if not lane then
    return
  end
  lane:close()
  lane = nil
  close_connection()
  local file = assert(io.open(options.lanes .. "/" .. tid .. ".told", "wb"))
  for name, value in pairs(told) do
    file:write(string.format("%s %d\n", name, value))
  end
  for bucket, count in pairs(late) do
    file:write(string.format("late %d %d\n", bucket, count))
  end
  file:close()
end
