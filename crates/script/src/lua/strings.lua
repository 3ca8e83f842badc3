-- Strings, as each user has them.
--
-- All strings of a state have one metatable, and each user its own table `string`. Lua's own functions are found
-- there, at no cost; what a script has added, `text:split(",")`, by the metatable of that table. Once a script changes
-- one of Lua's functions, or looks at the metatable, each method is looked for in what its user has.
local state, views = ...

-- By their environment: the table `string` of a user, and what it has for the metatable of strings.
local strings, string_metas = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

setmetatable(string, {
  __index = function(_, name)
    local own = state.current and strings[state.current.env]
    return own and rawget(own, name)
  end,
})

local real_string_meta = getmetatable("")

local function method_of_user(text, name)
  local env = state.current and state.current.env
  local own = string_metas[env]
  local index = strings[env] or string
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

local string_view = views.of_table(string, views.MOST_LEFT_OUT)

local function string_of(env)
  strings[env] = strings[env] or setmetatable({}, string_view)
  return strings[env]
end

do
  local kind = views.kinds[string_view]
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

local string_meta_view = views.viewing(nil, function()
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
local function string_metatable()
  local env = state.current.env
  if not string_metas[env] then
    look_for_each_method()
    string_metas[env] = setmetatable({ __index = string_of(env) }, string_meta_view)
  end
  return string_metas[env]
end

return {
  of = string_of,
  --- getmetatable() of scripts.
  getmetatable = function(...)
    if type((...)) == "string" then
      return string_metatable()
    end
    return views.globals.getmetatable(...)
  end,
}
