-- Users: each a coroutine that serves one wish of the engine after the other, and lives as long as its
-- user does.
local state, environments, sql, cmdline = ...

local mailbox, ask, ask_for, DONE = state.mailbox, state.ask, state.ask_for, state.answered.DONE
local RESTART_EVENT = 1

local kernel = {}

-- One event, again for as long as it is told to begin anew; what it returned.
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
--- one has returned something true.
function kernel.thread_run()
  local user = state.current
  while ask(ask_for.NEXT_EVENT, 0) == DONE do
    if run_event(user) then
      return
    end
  end
end

local function call_hook(name)
  return function(user)
    local hook = rawget(user.env, name)
    if hook then
      hook(user.tid)
    end
  end
end

-- What the engine may wish for.
local wishes = {}

--- Runs the file from top to bottom.
function wishes.load(user)
  local chunk, problem = environments.instance(user.script, user.env)
  if not chunk then
    error(problem, 0)
  end
  chunk()
end

wishes.init = call_hook("init")
wishes.done = call_hook("done")
wishes.thread_init = call_hook("thread_init")
wishes.thread_done = call_hook("thread_done")

function wishes.thread_run(user)
  user.env.thread_run(user.tid)
end

function wishes.command(user)
  local call = cmdline.command(user, user.argument)
  call(user.tid)
end

--- One of the reporting hooks, with its figures.
function wishes.report(user)
  local name, stat = unpack(user.argument)
  local hook = user.env.sysbench.hooks[name]
  if hook then
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
  return "an error that is no text: " .. tostring(problem)
end

--- The life of a user. Between two wishes it waits, with the outcome of the last one in the mailbox.
local function serve(user)
  state.current = user
  user.thread = coroutine.running()
  while true do
    ask(ask_for.IDLE, 0)
    local ok, problem = pcall(wishes[user.wish], user)
    user.problem = not ok and text_of(user, problem) or nil
    mailbox.failed = not ok
  end
end

--- A user with its coroutine, which has begun to wait.
function kernel.user(tid, stream, script)
  local user = {
    tid = tid,
    stream = stream,
    script = script,
    connections = {},
    dropped = {},
    counters = {},
    ignored = state.host.ignored_errors,
  }
  user.env = environments.make(user, script)
  user.env.thread_run = kernel.thread_run
  local thread = coroutine.create(serve)
  debug.setfenv(thread, user.env)
  assert(coroutine.resume(thread, user))
  return user, thread
end

--- What the user shall do when it is resumed.
function kernel.wish(user, name, argument)
  user.wish, user.argument = name, argument
end

--- Why the last wish failed.
function kernel.problem(user)
  return user.problem
end

--- The options that the script of this user declares.
function kernel.declared(user)
  local options = user.env.sysbench.cmdline.options
  return options and cmdline.declared(options)
end

--- Sets sysbench.opt, and the globals that scripts of 0.5 read their options from. Libraries and
--- functions keep their names.
function kernel.configure(user, options)
  local opt = {}
  for name, value in pairs(options) do
    if type(value) == "table" then
      value = { unpack(value) }
    end
    opt[name] = value
    local global = rawget(user.env, name)
    if type(global) ~= "table" and type(global) ~= "function" then
      user.env[name] = value
    end
  end
  user.env.sysbench.opt = opt
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

--- The user is over: what it held can be collected.
function kernel.forget(user)
  sql.forget(user)
end

return kernel
