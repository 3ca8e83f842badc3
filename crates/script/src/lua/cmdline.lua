-- sysbench.cmdline: a script's declared options and commands, and the given command line.
local state = ...

local ARG = {
  ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6,
  ARG_FILE = 7, ARG_MAX = 8,
}

local function kind_of(default)
  local kind = type(default)
  if kind == "boolean" then
    return ARG.ARG_BOOL
  elseif kind == "number" then
    -- Also if it is whole: only an option that is declared as ARG_INT refuses what is not.
    return ARG.ARG_DOUBLE
  elseif kind == "table" then
    return ARG.ARG_LIST
  end
  return ARG.ARG_STRING
end

local function default_text(default)
  local kind = type(default)
  if kind == "table" then
    return table.concat(default, ",")
  elseif kind == "boolean" then
    return default and "on" or "off"
  elseif kind == "number" or kind == "string" then
    return tostring(default)
  elseif kind ~= "nil" then
    error("cannot convert '" .. kind .. "' to 'const char *'", 0)
  end
end

--- Raises what is wrong with the declaration of an option, in the words that users may search for.
local function check_option(name, option)
  if type(name) ~= "string" or type(option) ~= "table" then
    error("wrong table structure in sysbench.cmdline.options")
  elseif option[1] == nil then
    error("nil description for option " .. name)
  elseif type(option[1]) ~= "string" then
    error("cannot convert '" .. type(option[1]) .. "' to 'const char *'")
  elseif option[3] ~= nil and type(option[3]) ~= "number" then
    error("Unknown argument type: " .. tostring(option[3]), 0)
  end
end

local cmdline = {}

--- The options that a script declares, sorted: name, help, kind and the default as text.
function cmdline.declared(options)
  if type(options) ~= "table" then
    error("wrong type for sysbench.cmdline.options: " .. type(options), 0)
  end
  local list = {}
  for name, option in pairs(options) do
    check_option(name, option)
    list[#list + 1] = {
      -- On the command line and in sysbench.opt, `sql-dir` is `sql_dir`.
      name = (string.gsub(name, "-", "_")),
      written = name,
      help = option[1],
      kind = option[3] or kind_of(option[2]),
      default = default_text(option[2]),
    }
  end
  table.sort(list, function(one, other)
    return one.written < other.written
  end)
  return list
end

-- What stands behind an option's name, by its kind.
local LABELS = {
  [ARG.ARG_NULL] = "", [ARG.ARG_BOOL] = "[=on|off]", [ARG.ARG_INT] = "=N", [ARG.ARG_SIZE] = "=SIZE",
  [ARG.ARG_DOUBLE] = "=N", [ARG.ARG_STRING] = "=STRING", [ARG.ARG_LIST] = "=[LIST,...]",
  [ARG.ARG_FILE] = "=FILENAME",
}

-- The options as the field's tools list them, with an empty line at the end.
local function option_lines(options)
  local list, width = cmdline.declared(options), 0
  for _, option in ipairs(list) do
    option.shown = option.written .. (LABELS[option.kind] or "")
    width = math.max(width, #option.shown)
  end
  local lines = {}
  for index, option in ipairs(list) do
    local default = option.default and " [" .. option.default .. "]" or ""
    lines[index] = "  --" .. option.shown .. string.rep(" ", width - #option.shown) .. " " .. option.help .. default
  end
  return table.concat(lines, "\n") .. (#lines > 0 and "\n\n" or "\n")
end

--- The commands that a script declares; what is no table declares none.
function cmdline.commands(user)
  local commands = rawget(user.env.sysbench.cmdline, "commands")
  return type(commands) == "table" and commands or {}
end

--- The function of a command, whether it runs on all threads at once, and whether it is declared in
--- sysbench.cmdline.commands; nothing if there is none.
function cmdline.command(user, name)
  local env = user.env
  local entry = cmdline.commands(user)[name]
  if type(entry) == "table" then
    return entry[1], entry[2] == true, true
  end
  local own = entry or state.raw_get(env, name)
  if type(own) == "function" then
    return own, false
  end
end

--- Prints the options that the script of this user declares.
function cmdline.print_options(user)
  state.host.print(option_lines(user.env.sysbench.cmdline.options or {}))
end

--- sysbench.cmdline of one user.
function cmdline.face()
  local line = state.host.command_line
  local face = { PARALLEL_COMMAND = true, command = line.command, script_path = line.script, argv = {} }
  for name, value in pairs(ARG) do
    face[name] = value
  end
  for index, argument in ipairs(line.arguments) do
    face.argv[index - 1] = argument
  end
  function face.command_defined(name)
    return cmdline.command(state.current, name) ~= nil
  end
  function face.command_parallel(name)
    return select(2, cmdline.command(state.current, name)) == true
  end
  function face.call_command(name)
    local call = cmdline.command(state.current, name)
    if call then
      call()
    end
    return call ~= nil
  end
  function face.print_test_options()
    cmdline.print_options(state.current)
  end
  return face
end

return cmdline
