-- Users: each a coroutine that serves one wish of the engine after the other, and lives as long as its
-- user does.
local ffi = require("ffi")
local state, environments, sql, cmdline, report = ...

local mailbox, ask, ask_for, DONE = state.mailbox, state.ask, state.ask_for, state.answered.DONE
local RESTART_EVENT = 1

-- The percentage of what is in use at which the collector begins anew. With LuaJIT's 200 half of the memory of all
-- users is garbage most of the time, at the same cost of an event.
collectgarbage("setpause", 125)

-- How many users come to their events between two collections: see wishes.thread_run().
local USERS_A_COLLECTION = 16

-- The numbers of this state's users, and of those that have come to their events.
local made, arrived = 0, 0

local kernel = {}

--- Collects all that is garbage, unless a script has stopped the collector: this would start it again.
function kernel.collect_garbage()
  if collectgarbage("isrunning") then
    collectgarbage()
  end
end

-- Runs one event, repeatedly as long as it must restart; returns its result.
local function run_event(user)
  local env = user.env
  local event = env.event
  while true do
    local ok, result = pcall(event, user.tid)
    if ok then
      return result
    end
    if type(result) ~= "table" or result.errcode ~= RESTART_EVENT then
      error(result, 0)
    end
    local hook = env.sysbench.hooks.before_restart_event
    if hook then
      hook(result)
    end
  end
end

--- What thread_run() does unless the script has its own: events, until there are no more of them or
--- one has returned something true, which calls it off.
function kernel.thread_run()
  local user = state.current
  while ask(ask_for.NEXT_EVENT, 0) == DONE do
    if run_event(user) then
      mailbox.cancelled = true
      return
    end
  end
end

-- What the engine may wish for.
local wishes = {}

local configure

-- The values of the options: the same for all users of a state.
local given

local function call_hook(name)
  return function(user)
    local hook = rawget(user.env, name)
    if hook then
      hook(user.tid)
    end
  end
end

--- Loads the script once more, without a word: what it prints then was printed when it was first read.
local function load_silently(user)
  local host = state.host
  local print = host.print
  host.print = function() end
  local ok, problem = pcall(wishes.load, user)
  host.print = print
  if not ok then
    error(problem, 0)
  end
end

local function call_once(user, name)
  local hook = rawget(user.env, name)
  if hook then
    -- As in sysbench, without the number of a thread: it runs in none of them.
    hook()
  end
end

--- init() and done() share globals and connections with each other, and with no user that drives.
local function call_apart(name)
  return function(user)
    if not rawget(user.env, "init") and not rawget(user.env, "done") then
      return
    end
    if user.runs_once then
      sql.open_deferred(user)
      return call_once(user, name)
    end
    local own, connection = user.env, user.connection
    local is_new = user.master == nil
    user.master = user.master or environments.make(user, user.script)
    user.env, user.connection = user.master, user.master_connection
    debug.setfenv(user.thread, user.master)
    local ok, problem = pcall(function()
      if is_new then
        user.env.thread_run = kernel.thread_run
        load_silently(user)
        configure(user.env, given)
        sql.open_deferred(user)
      end
      call_once(user, name)
    end)
    user.master_connection = user.connection
    user.env, user.connection = own, connection
    debug.setfenv(user.thread, own)
    if not ok then
      error(problem, 0)
    end
  end
end

--- Runs the file from top to bottom.
function wishes.load(user)
  local chunk, problem = environments.instance(user.script, user.env)
  if not chunk then
    error(problem, 0)
  end
  -- What it opens now is opened when there is a server: see sql.open_deferred().
  user.loading = true
  local ok, told = pcall(chunk)
  user.loading = nil
  if not ok then
    error(told, 0)
  end
end

wishes.init = call_apart("init")
wishes.done = call_apart("done")
wishes.thread_init = call_hook("thread_init")
wishes.thread_done = call_hook("thread_done")

--- Before the load the garbage of loading and of thread_init() is collected: events of prepared statements make none,
--- so that the collector would not get to it.
function wishes.thread_run(user)
  arrived = arrived + 1
  if arrived % USERS_A_COLLECTION == 0 or arrived == made then
    kernel.collect_garbage()
  end
  user.env.thread_run(user.tid)
end

function wishes.command(user)
  local call, _, declared = cmdline.command(user, user.argument)
  if type(call) ~= "function" then
    error("attempt to call a " .. type(call) .. " value", 0)
  end
  local result = call()
  -- A declared command that returns false has failed, without a word. With more threads than one
  -- sysbench does not look at what they return.
  if declared and result == false and user.env.sysbench.opt.threads == 1 then
    user.env.os.exit(1)
  end
end

--- One of the reporting hooks, with its figures.
function wishes.report(user)
  local name, stat = unpack(user.argument)
  local env = user.env
  local hook = env.sysbench.hooks[name]
  if hook then
    -- The number behind those of the threads is that of the thread that reports; the last report
    -- is made when they are over, by the one that has started them.
    env.sysbench.tid = stat.threads_running
    env.thread_id = stat.threads_running
    hook(stat)
  end
end

local function text_of(user, problem)
  if problem == "not enough memory" then
    -- What it held is garbage now; without it there is memory to tell of this.
    collectgarbage()
    return user.script .. ": not enough memory: the script has taken all that it may"
  elseif type(problem) == "string" then
    return problem
  elseif type(problem) == "table" and problem.sql_errmsg then
    return string.format("SQL error, errno = %d, state = '%s': %s", problem.sql_errno,
      problem.sql_state, problem.sql_errmsg)
  end
  return "(not a string)"
end

-- Connections that the file itself has opened are there for these.
local NEEDS_SERVER = { thread_init = true, command = true, report = true }

local function run_wish(user)
  if NEEDS_SERVER[user.wish] then
    sql.open_deferred(user)
  end
  return wishes[user.wish](user)
end

--- The life of a user. Between two wishes it waits, with the outcome of the last one in the mailbox.
local function serve(user)
  state.current = user
  user.thread = coroutine.running()
  while true do
    ask(ask_for.IDLE, 0)
    mailbox.cancelled = false
    local ok, problem = pcall(run_wish, user)
    user.problem = not ok and text_of(user, problem) or nil
    mailbox.failed = not ok
  end
end

local User = { ignored = state.host.ignored_errors }
User.__index = User

--- A user with its coroutine, which has begun to wait.
function kernel.user(tid, stream, script)
  User.script = script
  made = made + 1
  -- As a pointer of the FFI: of calls that are given a light userdata LuaJIT makes no machine code.
  stream = ffi.cast("void *", stream)
  local user = setmetatable({ tid = tid, stream = stream }, User)
  user.env = environments.make(user, script)
  user.env.thread_run = kernel.thread_run
  local thread = coroutine.create(serve)
  debug.setfenv(thread, user.env)
  assert(coroutine.resume(thread, user))
  return user, thread
end

--- The user drives nothing: it runs what runs once for all users.
function kernel.run_once(user)
  user.runs_once = true
end

--- What the user shall do when it is resumed.
function kernel.wish(user, name, argument)
  user.wish, user.argument = name, argument
end

--- Why the last wish failed.
function kernel.problem(user)
  return user.problem
end

--- The text of the statement that it executed last.
function kernel.executing(user)
  return user.executing
end

--- The options that the script of this user declares; else why they cannot be read.
function kernel.declared(user)
  local options = user.env.sysbench.cmdline.options
  if options == nil then
    return
  end
  local ok, list = pcall(cmdline.declared, options)
  if ok then
    return list
  end
  -- Places in this library are named as those in sysbench's, which its users look for.
  return nil, (string.gsub(tostring(list), "^%[(%w+)%]:", '[string "sysbench.%1.lua"]:'))
end

--- Libraries and functions keep their names.
function configure(env, options)
  -- Scripts that declare their options read them there alone.
  if rawget(env.sysbench.cmdline, "options") == nil then
    for name, value in pairs(options) do
      local global = state.raw_get(env, name)
      if type(global) ~= "table" and type(global) ~= "function" then
        env[name] = type(value) == "table" and { unpack(value) } or value
      end
    end
  end
  env.sysbench.opt = environments.options(options)
  environments.share_declared(env)
end

--- Sets sysbench.opt, and the globals that scripts of 0.5 read their options from.
function kernel.configure(user, options)
  given = options
  configure(user.env, options)
end

--- Whether the script has events, or a thread_run() that needs none.
function kernel.can_run(user)
  return type(user.env.event) == "function" or user.env.thread_run ~= kernel.thread_run
end

--- "single" or "parallel"; nothing if the script has no such command.
function kernel.command(user, name)
  local call, parallel = cmdline.command(user, name)
  if call then
    return parallel and "parallel" or "single"
  end
end

--- The commands that the script has under sysbench.cmdline.commands: "single" or "parallel" by name.
function kernel.commands(user)
  local kinds = {}
  for name in pairs(cmdline.commands(user)) do
    kinds[name] = kernel.command(user, name)
  end
  return kinds
end

--- The names of the hooks that it has.
function kernel.hooks(user)
  local names = {}
  for name, hook in pairs(user.env.sysbench.hooks) do
    if type(hook) == "function" then
      names[#names + 1] = name
    end
  end
  return names
end

--- Whether this name is a function of the script.
function kernel.has_function(user, name)
  return type(rawget(user.env, name)) == "function"
end

--- Lists its options.
function kernel.print_options(user)
  cmdline.print_options(user)
end

--- What stands behind the last report.
function kernel.end_reports(user)
  report.finish(user)
end

--- The user is over: what it held can be collected.
function kernel.forget(user)
  sql.forget(user)
end

return kernel
