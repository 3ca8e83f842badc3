-- math.random(), as each user has it.
local state, views = ...

--- math.random() and math.randomseed() of one user: other users do not draw from the same numbers.
local function own_random()
  local loaded, env = package.loaded, getfenv(0)
  local shared_math, of_env = loaded.math, rawget(env, "math")
  -- What opens the library fills in the table of that name, where there is one.
  loaded.math = nil
  rawset(env, "math", nil)
  local own = state.host.open_math()
  loaded.math = shared_math
  rawset(env, "math", of_env)
  return own.random, own.randomseed
end

local give_random = views.once(function(view)
  local random, seed = own_random()
  rawset(view, "random", rawget(view, "random") or random)
  rawset(view, "randomseed", rawget(view, "randomseed") or seed)
  return true
end)

local of_user = {}
for _, name in ipairs({ "random", "randomseed" }) do
  of_user[name] = function(view)
    give_random(view)
    return rawget(view, name)
  end
end

local same_for_all = views.copy(math)
same_for_all.random, same_for_all.randomseed = nil, nil

-- What makes views of the library.
return { view = views.shared(same_for_all, of_user) }
