-- What a user's script sees: globals of its own, over code that all users of a state share.
--
-- A coroutine has its own table of globals, and what it loads or starts inherits it. So setting that
-- once keeps users apart, also in loadstring(), dofile() and coroutines of a script.
local ffi = require("ffi")
local state, views, strings, numbers, files, sql, random, histogram, report, legacy, cmdline = ...

local copy, kinds, viewing, viewing_table = views.copy, views.kinds, views.viewing, views.of_table
local shared, once, make_rest, MOST_LEFT_OUT = views.shared, views.once, views.make_rest, views.MOST_LEFT_OUT

local LIBRARIES = { "string", "table", "math", "io", "os", "debug", "bit", "jit" }

local pristine = {}
for name, value in pairs(_G) do
  pristine[name] = value
end

local real_resume, real_yield, create = coroutine.resume, coroutine.yield, coroutine.create
local running, REQUEST = coroutine.running, state.REQUEST

-- Coroutines of a script ---------------------------------------------------------------------------

--- A statement inside a script's own coroutine: the wait is passed on to the event loop, and the
--- coroutine goes on with the answer, unseen by who resumed it.
local function pass_on(thread, ok, first, ...)
  if ok and first == REQUEST then
    real_yield(REQUEST)
    return pass_on(thread, real_resume(thread))
  end
  return ok, first, ...
end

local function resume(thread, ...)
  return pass_on(thread, real_resume(thread, ...))
end

local function unwrap(ok, ...)
  if not ok then
    error((...), 0)
  end
  return ...
end

local function coroutines()
  local own = copy(coroutine)
  own.resume = resume
  function own.wrap(body)
    local thread = create(body)
    return function(...)
      return unwrap(resume(thread, ...))
    end
  end
  function own.yield(...)
    if not state.in_own_coroutine() then
      error("attempt to yield from outside a coroutine", 2)
    end
    return real_yield(...)
  end
  function own.running()
    return state.in_own_coroutine() and running() or nil
  end
  return own
end

-- FFI ----------------------------------------------------------------------------------------------

-- What scripts call of sysbench's own C functions. The numbers of counters are those of 1.0.
local C = {
  SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_EVENT = 3, SB_CNT_ERROR = 4,
  SB_CNT_RECONNECT = 5, SB_CNT_MAX = 6,
}

-- The types that scripts declare these functions with, or make values of.
ffi.cdef([[
typedef int32_t sb_counter_type;
typedef int32_t sql_error_t;
typedef int32_t sql_bind_type_t;
]])

function C.sb_counter_inc(_, counter)
  state.mailbox.count = counter
  state.ask(state.ask_for.COUNT, 0)
end

function C.sb_more_events()
  return state.ask(state.ask_for.NEXT_EVENT, 0) == state.answered.DONE
end

-- What waits in C waits in the event loop here.

function C.usleep(microseconds)
  state.sleep(tonumber(microseconds) / 1e6)
  return 0
end

function C.sleep(seconds)
  state.sleep(tonumber(seconds))
  return 0
end

function C.poll(files, count, milliseconds)
  if count ~= 0 then
    return ffi.C.poll(files, count, milliseconds)
  end
  state.sleep(tonumber(milliseconds) / 1e3)
  return 0
end

for _, name in ipairs({ "default", "uniform", "special", "gaussian", "pareto", "zipfian", "unique",
  "uniform_double", "uniform_uint64" }) do
  C["sb_rand_" .. name] = random[name]
end

function C.sb_rand_str(pattern, buffer)
  random.fill(type(pattern) == "string" and pattern or ffi.string(pattern), buffer)
end

--- The event loop knows when an event begins.
function C.sb_event_start() end

--- What follows until the next event is no part of this one.
function C.sb_event_stop()
  state.ask(state.ask_for.EVENT_OVER, 0)
end

setmetatable(C, { __index = ffi.C, __newindex = ffi.C })

local declared = {}

local function foreign()
  local own = copy(ffi)
  own.C = C
  -- Users of a state share its declarations: what was declared by another one is there already.
  function own.cdef(text, ...)
    if select("#", ...) > 0 then
      return ffi.cdef(text, ...)
    end
    if not declared[text] then
      local ok, problem = pcall(ffi.cdef, text)
      if not ok then
        error(problem, 2)
      end
      declared[text] = true
    end
  end
  -- Methods belong to one user, while a type has one set of them: such users need a state each.
  function own.metatype(...)
    state.host.need_own_state()
    return ffi.metatype(...)
  end
  return own
end

-- Modules ------------------------------------------------------------------------------------------

local templates = {}

--- What makes the function of a file: compiled once, so that users share its code, and with it the
--- machine code that LuaJIT makes of it. Each call gives a function of its own.
local function template(path)
  if templates[path] then
    return templates[path]
  end
  local file, problem = io.open(path, "rb")
  if not file then
    return nil, "cannot open " .. problem
  end
  local source = file:read("*a")
  file:close()
  source = string.gsub(source, "^#[^\n]*", "")
  local chunk
  chunk, problem = loadstring(source, "@" .. path)
  if not chunk then
    return nil, problem
  end
  local maker = loadstring("return function(...) " .. source .. "\nend", "@" .. path)
  -- A file that cannot stand inside a function (one of bytecode) is compiled for each user.
  templates[path] = maker or function()
    return (loadstring(source, "@" .. path))
  end
  return templates[path]
end

local function instance(path, env)
  local maker, problem = template(path)
  if not maker then
    return nil, problem
  end
  return setfenv(maker(), env)
end

local function find_module(package, name)
  local path, problem = pristine.package.searchpath(name, package.path)
  if path then
    return path
  end
  return nil, problem
end

-- Where sysbench's packages put what its scripts have in common.
local INSTALLED = ";/usr/share/sysbench/?.lua;/usr/local/share/sysbench/?.lua"
-- Where LuaRocks puts what a user has installed.
local ROCKS = ";~/.luarocks/share/lua/5.1/?.lua;~/.luarocks/share/lua/5.1/?/init.lua"

local IS_LOADED = { _G = true, coroutine = true, ffi = true, package = true }
for _, name in ipairs(LIBRARIES) do
  IS_LOADED[name] = true
end

-- package.loaded: what a user has not loaded itself are its libraries.
local loaded_meta = viewing(function(_, name)
  return IS_LOADED[name] and state.current.env[name] or nil
end, function(name)
  return IS_LOADED[name] ~= nil
end, function(loaded)
  for name in pairs(IS_LOADED) do
    loaded[name] = state.current.env[name]
  end
end)

local function search_path(script)
  local folder = string.match(script, "^(.*/)") or "./"
  local near = "./?.lua;./?/init.lua;" .. folder .. "?.lua;" .. folder .. "?/init.lua"
  local named = os.getenv("LUA_PATH_5_1") or os.getenv("LUA_PATH")
  local home = os.getenv("HOME")
  local of_user = home and string.gsub(ROCKS, "~", (string.gsub(home, "%%", "%%%%"))) or ""
  local original = pristine.package.path
  -- What the user has named is searched first; the original path has it already.
  return (named and original .. ";" .. near or near .. ";" .. original) .. of_user .. INSTALLED
end

-- What `package.preload` and `package.loaders` of each script begin with. Most scripts never look at theirs.
local preload = pristine.package.preload
local loaders

local own_preload, has_preload = once(function()
  return copy(preload)
end)

local own_loaders, has_loaders = once(function()
  return copy(loaders)
end)

--- A part of a user's `package`: that of all users until the script has looked at its own, or set another.
local function part(package, name, has_own, of_all)
  local view = kinds[getmetatable(package)]
  if view and view.shows(name) and rawget(package, name) == nil and not has_own(package) then
    return of_all
  end
  return package[name]
end

local function load_preloaded(name)
  local known = part(state.current.env.package, "preload", has_preload, preload)
  return known[name] or string.format("\n\tno field package.preload['%s']", name)
end

local function load_file(name)
  local env = state.current.env
  local path, problem = find_module(env.package, name)
  if not path then
    return problem
  end
  local load
  load, problem = instance(path, env)
  if not load then
    error(string.format("error loading module '%s' from file '%s':\n\t%s", name, path, problem), 4)
  end
  return load
end

loaders = { load_preloaded, load_file, unpack(pristine.package.loaders, 3) }

-- By script: what makes views of its `package`.
local packages = {}

local of_package = {
  preload = own_preload,
  loaded = once(function()
    return setmetatable({}, loaded_meta)
  end),
  loaders = own_loaders,
}

local function modules(script)
  if not packages[script] then
    local original = copy(pristine.package)
    original.path = search_path(script)
    for name in pairs(of_package) do
      original[name] = nil
    end
    packages[script] = shared(original, of_package)
  end
  return packages[script]()
end

--- What loads a module: of the first of package.loaders that has it.
local function loader(package, name)
  local problems = {}
  for _, look in ipairs(part(package, "loaders", has_loaders, loaders)) do
    local found = look(name)
    if type(found) == "function" then
      return found
    elseif type(found) == "string" then
      problems[#problems + 1] = found
    end
  end
  error(string.format("module '%s' not found:%s", name, table.concat(problems)), 3)
end

local function require(name)
  local package = state.current.env.package
  local loaded = package.loaded[name]
  if loaded ~= nil then
    return loaded
  end
  local load = loader(package, name)
  package.loaded[name] = true
  local result = load(name)
  if result ~= nil then
    package.loaded[name] = result
  end
  return package.loaded[name]
end

--- module() of Lua 5.1 keeps modules in a place that all users share; this one does not.
local function module(name, ...)
  local env = state.current.env
  local module = env.package.loaded[name]
  if type(module) ~= "table" then
    module = {}
    env.package.loaded[name] = module
    local place = env
    for part in string.gmatch(name, "([^.]+)%.") do
      place[part] = place[part] or {}
      place = place[part]
    end
    place[string.match(name, "[^.]+$")] = module
  end
  module._M, module._NAME, module._PACKAGE = module, name, string.match(name, "^(.*%.)[^.]*$") or ""
  for _, option in ipairs({ ... }) do
    option(module)
  end
  setfenv(2, module)
end

-- Output and processes ------------------------------------------------------------------------------

local function print_line(...)
  local texts = {}
  for index = 1, select("#", ...) do
    texts[index] = tostring((select(index, ...)))
  end
  state.host.print(table.concat(texts, "\t") .. "\n")
end

local function operating_system()
  local own = copy(pristine.os)
  function own.execute(command)
    local seconds = command and string.match(command, "^%s*sleep%s+(%d*%.?%d+)s?%s*$")
    if not seconds then
      return pristine.os.execute(command)
    end
    state.sleep(tonumber(seconds))
    return 0
  end
  function own.exit(code)
    local number = type(code) == "number" and code or code == false and 1 or 0
    error("the script called os.exit(" .. number .. ")", 2)
  end
  return own
end

local function tables()
  local own = copy(pristine.table)
  own.foreach = views.for_each
  return own
end

local changed = { io = files, os = operating_system(), table = tables() }
local libraries = {
  coroutine = once(shared(coroutines())),
  ffi = once(shared(foreign())),
  package = once(function()
    return modules(state.current.script)
  end),
}
for _, name in ipairs(LIBRARIES) do
  libraries[name] = once(shared(changed[name] or pristine[name]))
end
libraries.math, libraries.string = once(numbers.view), once(strings.of)

-- sysbench.cmdline ---------------------------------------------------------------------------------

-- Each user has declared the same options, a table for each of them: once they are read one copy is kept, and a script
-- that looks at them again gets a copy of that.
local MOST_DEPTH = 4

--- Whether a value is data alone, at most so deep.
local function is_plain(value, depth)
  if type(value) ~= "table" then
    return type(value) ~= "function"
  elseif depth == 0 or getmetatable(value) ~= nil then
    return false
  end
  for _, member in pairs(value) do
    if not is_plain(member, depth - 1) then
      return false
    end
  end
  return true
end

local function deep_copy(value)
  if type(value) ~= "table" then
    return value
  end
  local own = {}
  for name, member in pairs(value) do
    own[name] = deep_copy(member)
  end
  return own
end

--- Whether both are the same data; the second is plain.
local function is_same(one, other)
  if type(one) ~= "table" or type(other) ~= "table" then
    return one == other
  elseif getmetatable(one) ~= nil then
    return false
  end
  for name, member in pairs(one) do
    if other[name] == nil or not is_same(member, other[name]) then
      return false
    end
  end
  for name in pairs(other) do
    if one[name] == nil then
      return false
    end
  end
  return true
end

local cmdline_face = cmdline.face()
local arguments = cmdline_face.argv
cmdline_face.argv = nil
local cmdline_meta = viewing_table(cmdline_face, MOST_LEFT_OUT, {
  argv = once(function()
    return copy(arguments)
  end),
})
local declared_options

-- The options that a user has declared, by its view: there for as long as its script holds them.
local held = setmetatable({}, { __mode = "kv" })

local function own_options(view)
  return held[view] or deep_copy(declared_options)
end

local with_options = viewing(function(view, name)
  if name ~= "options" then
    return cmdline_meta.__index(view, name)
  end
  local options = own_options(view)
  setmetatable(view, cmdline_meta)
  view.options = options
  return options
end, function(name)
  return name == "options" or kinds[cmdline_meta].shows(name)
end, function(view)
  kinds[cmdline_meta].fill(view)
  view.options = own_options(view)
end)

--- The options that a user has declared have been read.
local function share_declared(env)
  local view = env.sysbench.cmdline
  local options = rawget(view, "options")
  if options == nil or getmetatable(view) ~= cmdline_meta then
    return
  end
  if declared_options == nil and is_plain(options, MOST_DEPTH) then
    declared_options = deep_copy(options)
  end
  if declared_options ~= nil and is_same(options, declared_options) then
    held[view] = options
    view.options = nil
    setmetatable(view, with_options)
  end
end

-- sysbench -----------------------------------------------------------------------------------------

-- The library itself reads the constants that a script may change.
local of_sql = { type = once(shared(sql.face.type)), error = once(shared(sql.face.error)) }

-- Views that a user has once its script looks at them.
local of_sysbench = {
  error = once(shared({ NONE = 0, RESTART_EVENT = 1 })),
  sql = once(shared({ driver = sql.face.driver }, of_sql)),
  rand = once(shared(random.face())),
  histogram = once(shared(histogram)),
  cmdline = once(function()
    return setmetatable({}, cmdline_meta)
  end),
  db = once(shared(legacy.face())),
}
local same_for_all = {
  version = state.host.version,
  version_string = "sysbench " .. state.host.version,
  report_default = report.default,
  report_csv = report.csv,
  report_json = report.json,
}

local sysbench_meta = viewing_table(same_for_all, MOST_LEFT_OUT, of_sysbench)

-- The whole ----------------------------------------------------------------------------------------

local views_of_options = {}

--- Makes views of these options, but for those that are lists: each user has its own of them.
local function shared_options(options)
  local single = {}
  for name, value in pairs(options) do
    if type(value) ~= "table" then
      single[name] = value
    end
  end
  return shared(single)
end

--- sysbench.opt of one user, over the options of all.
local function options_view(options)
  views_of_options[options] = views_of_options[options] or shared_options(options)
  local own = views_of_options[options]()
  for name, value in pairs(options) do
    if type(value) == "table" then
      own[name] = { unpack(value) }
    end
  end
  return own
end

-- The globals that all users begin with, but for libraries: those a user has once its script looks at them.
local globals = copy(pristine)
for name in pairs(libraries) do
  globals[name] = nil
end
globals._G = nil
globals.require, globals.module, globals.print = require, module, print_line
for name, value in pairs(legacy.globals) do
  globals[name] = value
end
for name, value in pairs(legacy.constants) do
  globals[name] = value
end
for name, value in pairs(views.globals) do
  globals[name] = value
end
globals.getmetatable = strings.getmetatable
setmetatable(globals, {
  __index = function(_, name)
    local make = libraries[name]
    if not make then
      return nil
    end
    local env = state.current.env
    local own = make(env)
    rawset(env, name, own)
    return own
  end,
})

local globals_meta = viewing(globals, function(name)
  return rawget(globals, name) ~= nil or libraries[name] ~= nil
end, function(env)
  for name, value in pairs(globals) do
    env[name] = value
  end
  make_rest(env, libraries)
end)

--- rawget() for which what a view shows is there.
state.raw_get = views.globals.rawget

--- The globals of one user.
local function environment(user, script)
  local env = {
    sysbench = setmetatable({ tid = user.tid, hooks = {} }, sysbench_meta),
    thread_id = user.tid,
    test = script,
  }
  env._G = env
  return setmetatable(env, globals_meta)
end

return {
  make = environment,
  instance = instance,
  options = options_view,
  share_declared = share_declared,
}
