-- What a user's script sees: globals of its own, over code that all users of a state share.
--
-- A coroutine has its own table of globals, and what it loads or starts inherits it. So setting that
-- once keeps users apart, also in loadstring(), dofile() and coroutines of a script.
local ffi = require("ffi")
local state, sql, random, histogram, report, legacy, cmdline = ...

local LIBRARIES = { "string", "table", "math", "io", "os", "debug", "bit", "jit" }

local pristine = {}
for name, value in pairs(_G) do
  pristine[name] = value
end

local real_resume, real_yield, create = coroutine.resume, coroutine.yield, coroutine.create
local running, REQUEST = coroutine.running, state.REQUEST

local function copy(from)
  local to = {}
  for name, value in pairs(from) do
    to[name] = value
  end
  return to
end

-- Views --------------------------------------------------------------------------------------------

-- What is known of views, by their metatable: whether they show a name that is not their own, what puts into one all
-- that it shows, and for some what makes the metatable of those that show all but one name.
local kinds = {}

--- What looks at a table as a whole finds a copy where there was a view.
local function complete(value)
  local kind = kinds[getmetatable(value)]
  if kind then
    setmetatable(value, nil)
    kind.fill(value)
  end
end

--- From now on a view does not show this name: the script sets it, or takes it away.
local function leave_out(view, name)
  local kind = kinds[getmetatable(view)]
  if not kind or not kind.shows(name) then
    return
  end
  local rest = kind.without and kind.without(name)
  if rest then
    setmetatable(view, rest)
  else
    complete(view)
  end
end

--- The metatable of views that find what they show by `index`.
local function viewing(index, shows, fill)
  local meta = {
    __index = index,
    __newindex = function(view, name, value)
      leave_out(view, name)
      rawset(view, name, value)
    end,
  }
  kinds[meta] = { shows = shows, fill = fill }
  return meta
end

-- The same script sets the same names for each user, so what is left to show is shared too. One that sets more than so
-- many gets a copy: their orders may be as many as users.
local MOST_LEFT_OUT = 4

--- Gives a view what it has not had yet of these.
local function make_rest(view, makers)
  for name, make in pairs(makers) do
    if rawget(view, name) == nil then
      rawset(view, name, make(view))
    end
  end
end

--- What finds in a view what is the same for all, and makes what is the user's own.
local function finding(original, makers)
  if next(makers) == nil then
    return original
  end
  return function(view, name)
    local make = makers[name]
    if not make then
      return original[name]
    end
    local own = make(view)
    rawset(view, name, own)
    return own
  end
end

local function without(from, name)
  local rest = copy(from)
  rest[name] = nil
  return rest
end

--- The metatable of views of this table, of which so many names may still be left out. What is made for each view,
--- once its script looks at it, has a maker.
local function viewing_table(original, may_leave, makers)
  makers = makers or {}
  local meta = viewing(finding(original, makers), function(name)
    return makers[name] ~= nil or rawget(original, name) ~= nil
  end, function(view)
    make_rest(view, makers)
    for name, member in pairs(original) do
      view[name] = member
    end
  end)
  local rests = {}
  kinds[meta].without = may_leave > 0 and function(name)
    rests[name] = rests[name] or viewing_table(without(original, name), may_leave - 1, without(makers, name))
    return rests[name]
  end
  return meta
end

--- Makes the views of a table, one for each user: a table in which a script finds what is in that, and sets what is
--- its own. A copy for each user would take a kilobyte for each library.
local function shared(original, makers)
  local meta = viewing_table(original, MOST_LEFT_OUT, makers)
  return function()
    return setmetatable({}, meta)
  end
end

-- What has been made for an owner: the sum of its marks, which takes less memory than a list.
local made = setmetatable({}, { __mode = "k" })
local next_mark = 1

--- Makes something for an owner, and nothing when asked again: the owner has it, or has taken it away.
local function once(make)
  local mark = next_mark
  next_mark = next_mark * 2
  return function(owner)
    local marks = made[owner] or 0
    if bit.band(marks, mark) ~= 0 then
      return nil
    end
    made[owner] = marks + mark
    return make(owner)
  end
end

-- All arguments are passed on, by tail calls: Lua tells of one that is missing, and where in the script that was.

local function all_pairs(...)
  complete((...))
  return pairs(...)
end

local function all_next(...)
  complete((...))
  return next(...)
end

local function for_each(...)
  complete((...))
  return table.foreach(...)
end

--- With another metatable it would be no view any more.
local function set_metatable(...)
  complete((...))
  return setmetatable(...)
end

local string_metatable

--- That a table is a view is nothing that a script has to know: what it views has no metatable.
local function get_metatable(...)
  if type((...)) == "string" then
    return string_metatable()
  end
  if kinds[getmetatable((...))] then
    return nil
  end
  return getmetatable(...)
end

--- What a view shows is in what it views.
local function raw_get(...)
  local value, name = ...
  if select("#", ...) > 1 and kinds[getmetatable(value)] then
    return value[name]
  end
  return rawget(...)
end

local function raw_set(...)
  local value, name = ...
  leave_out(value, name)
  return rawset(...)
end

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

setmetatable(C, { __index = ffi.C })

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

local function load_preloaded(name)
  return state.current.env.package.preload[name] or string.format("\n\tno field package.preload['%s']", name)
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

-- By script: what makes views of its `package`.
local packages = {}

local of_package = {
  preload = once(function()
    return copy(pristine.package.preload)
  end),
  loaded = once(function()
    return setmetatable({}, loaded_meta)
  end),
  loaders = once(function()
    return { load_preloaded, load_file, unpack(pristine.package.loaders, 3) }
  end),
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
  for _, look in ipairs(package.loaders) do
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

-- Strings ------------------------------------------------------------------------------------------

-- All strings of a state have one metatable, and each user its own table `string`. Lua's own functions are found
-- there, at no cost; what a script has added, `text:split(",")`, by the metatable of that table. Once a script changes
-- one of Lua's functions, or looks at the metatable, each method is looked for in what its user has.

-- By their environment: the table `string` of a user, and what it has for the metatable of strings.
local strings, string_metas = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

setmetatable(pristine.string, {
  __index = function(_, name)
    local own = state.current and strings[state.current.env]
    return own and rawget(own, name)
  end,
})

local real_string_meta = getmetatable("")

local function method_of_user(text, name)
  local env = state.current and state.current.env
  local own = string_metas[env]
  local index = strings[env] or pristine.string
  if own then
    index = rawget(own, "__index")
  end
  if type(index) == "function" then
    return index(text, name)
  end
  return index and index[name]
end

local function look_for_each_method()
  real_string_meta.__index = method_of_user
end

local string_view = viewing_table(pristine.string, MOST_LEFT_OUT)

local function string_of(env)
  strings[env] = strings[env] or setmetatable({}, string_view)
  return strings[env]
end

do
  local kind = kinds[string_view]
  local leave, fill = kind.without, kind.fill
  function kind.without(name)
    look_for_each_method()
    return leave(name)
  end
  function kind.fill(view)
    look_for_each_method()
    fill(view)
  end
end

-- What strings do by their metatable, where a script gives it to them.
local STRING_EVENTS = {
  __add = "perform arithmetic on", __sub = "perform arithmetic on", __mul = "perform arithmetic on",
  __div = "perform arithmetic on", __mod = "perform arithmetic on", __pow = "perform arithmetic on",
  __unm = "perform arithmetic on", __call = "call", __concat = "concatenate", __newindex = "index",
}

local function let_strings(event)
  local doing = STRING_EVENTS[event]
  if not doing or real_string_meta[event] then
    return
  end
  real_string_meta[event] = function(...)
    local own = string_metas[state.current.env]
    local handler = own and rawget(own, event)
    if not handler then
      error("attempt to " .. doing .. " a string value", 2)
    end
    return handler(...)
  end
end

local string_meta_view = viewing(nil, function()
  return false
end, function()
  for event in pairs(STRING_EVENTS) do
    let_strings(event)
  end
end)
string_meta_view.__newindex = function(own, event, handler)
  let_strings(event)
  rawset(own, event, handler)
end

--- The metatable of strings, as one user sees it.
function string_metatable()
  local env = state.current.env
  if not string_metas[env] then
    look_for_each_method()
    string_metas[env] = setmetatable({ __index = string_of(env) }, string_meta_view)
  end
  return string_metas[env]
end

-- Random numbers of Lua's own ----------------------------------------------------------------------

--- math.random() and math.randomseed() of one user: other users do not draw from the same numbers.
local function own_random()
  local loaded, env = pristine.package.loaded, getfenv(0)
  local shared_math, of_env = loaded.math, rawget(env, "math")
  -- What opens the library fills in the table of that name, where there is one.
  loaded.math = nil
  rawset(env, "math", nil)
  local own = state.host.open_math()
  loaded.math = shared_math
  rawset(env, "math", of_env)
  return own.random, own.randomseed
end

local give_random = once(function(view)
  local random, seed = own_random()
  rawset(view, "random", rawget(view, "random") or random)
  rawset(view, "randomseed", rawget(view, "randomseed") or seed)
  return true
end)

local of_math = {}
for _, name in ipairs({ "random", "randomseed" }) do
  of_math[name] = function(view)
    give_random(view)
    return rawget(view, name)
  end
end
local common_math = copy(pristine.math)
common_math.random, common_math.randomseed = nil, nil

-- Output, files and processes ----------------------------------------------------------------------

local function print_line(...)
  local texts = {}
  for index = 1, select("#", ...) do
    texts[index] = tostring((select(index, ...)))
  end
  state.host.print(table.concat(texts, "\t") .. "\n")
end

--- What a script writes on the standard output comes in the order of what it prints.
local function write_as_print(io)
  local out = pristine.io.stdout
  local function write(...)
    local texts = { ... }
    for index = 1, select("#", ...) do
      local kind = type(texts[index])
      if kind ~= "string" and kind ~= "number" then
        error(string.format("bad argument #%d to 'write' (string expected, got %s)", index, kind), 3)
      end
    end
    state.host.print(table.concat(texts))
    return true
  end
  io.stdout = setmetatable({}, {
    __index = {
      write = function(_, ...)
        return write(...)
      end,
      flush = function()
        return true
      end,
      setvbuf = function()
        return true
      end,
      close = function()
        return true
      end,
    },
    __tostring = function()
      return "file (stdout)"
    end,
  })
  function io.write(...)
    local chosen = pristine.io.output()
    if chosen ~= out then
      return chosen:write(...)
    end
    return write(...)
  end
end

local function input_and_output()
  local own = copy(pristine.io)
  write_as_print(own)
  return own
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
  own.foreach = for_each
  return own
end

local changed = { io = input_and_output(), os = operating_system(), table = tables() }
local views = {
  coroutine = once(shared(coroutines())),
  ffi = once(shared(foreign())),
  package = once(function()
    return modules(state.current.script)
  end),
}
for _, name in ipairs(LIBRARIES) do
  views[name] = once(shared(changed[name] or pristine[name]))
end
views.math, views.string = once(shared(common_math, of_math)), once(string_of)

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

-- Views that a user has once its script looks at them.
local of_sysbench = {
  error = once(shared({ NONE = 0, RESTART_EVENT = 1 })),
  sql = once(shared(sql.face)),
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
for name in pairs(views) do
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
globals.pairs, globals.next, globals.rawget, globals.rawset = all_pairs, all_next, raw_get, raw_set
globals.getmetatable, globals.setmetatable = get_metatable, set_metatable
setmetatable(globals, {
  __index = function(_, name)
    local make = views[name]
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
  return rawget(globals, name) ~= nil or views[name] ~= nil
end, function(env)
  for name, value in pairs(globals) do
    env[name] = value
  end
  make_rest(env, views)
end)

--- rawget() for which what a view shows is there.
state.raw_get = raw_get

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
