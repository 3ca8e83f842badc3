-- Views: what users of a state share, as tables that look to each script like its own.
local function copy(from)
  local to = {}
  for name, value in pairs(from) do
    to[name] = value
  end
  return to
end

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

--- Makes something for an owner, and nothing when asked again: the owner has it, or has taken it away. Also returns
--- a function that says whether an owner has had it.
local function once(make)
  local mark = next_mark
  next_mark = next_mark * 2
  local function is_made(owner)
    return bit.band(made[owner] or 0, mark) ~= 0
  end
  return function(owner)
    if is_made(owner) then
      return nil
    end
    made[owner] = (made[owner] or 0) + mark
    return make(owner)
  end, is_made
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

--- That a table is a view is nothing that a script has to know: what it views has no metatable.
local function get_metatable(...)
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

return {
  copy = copy,
  kinds = kinds,
  viewing = viewing,
  of_table = viewing_table,
  MOST_LEFT_OUT = MOST_LEFT_OUT,
  shared = shared,
  once = once,
  make_rest = make_rest,
  for_each = for_each,
  -- Functions of Lua that look at a table as it is, for scripts.
  globals = {
    pairs = all_pairs, next = all_next, rawget = raw_get, rawset = raw_set,
    setmetatable = set_metatable, getmetatable = get_metatable,
  },
}
