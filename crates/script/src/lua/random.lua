-- sysbench.rand. The engine draws: the same distributions as the built-in workloads, and a stream of
-- its own for each user.
local ffi = require("ffi")
local state = ...

local KINDS = { uniform = 0, special = 1, gaussian = 2, pareto = 3, zipfian = 4, default = 5 }

-- Numbers as Lua has them: integers of 64 bits would have to be made and taken apart for each draw.
local draw = state.foreign("draw", "double (*)(void *, double, double, double)")
local bits = state.foreign("bits", "uint64_t (*)(void *)")
local unit = state.foreign("unit", "double (*)(void *)")
local unique = state.foreign("unique", "uint32_t (*)(void *)")
local fill = state.foreign("fill", "void (*)(void *, const char *, size_t, char *)")

local unique_within = state.foreign("unique_within", "double (*)(void *, double, double)")

local random = {}

local NUMERIC = { number = true, cdata = true }

-- Named after the function that the script has called, at the place where it did.
local function refuse(name, position, value)
  error(string.format("bad argument #%d to '%s' (cannot convert '%s' to 'unsigned int')", position,
    name, type(value)), 3)
end

--- What draws from a distribution, under the name by which scripts call it.
function random.drawer(kind, name)
  local number = KINDS[kind]
  return function(low, high)
    if not NUMERIC[type(low)] then
      refuse(name, 1, low)
    elseif not NUMERIC[type(high)] then
      refuse(name, 2, high)
    end
    return draw(state.current.stream, number, low, high)
  end
end

for name in pairs(KINDS) do
  random[name] = random.drawer(name, name)
end

--- 64 random bits, as cdata.
function random.uniform_uint64()
  return bits(state.current.stream)
end

--- A number from 0 up to, not including, 1.
function random.uniform_double()
  return unit(state.current.stream)
end

--- A number of 32 bits that no other user has drawn.
function random.unique()
  return unique(state.current.stream)
end

--- A number of the range that no other call has given, until each of them was: every user has a
--- share of the numbers, and begins again when it has given all of those.
function random.unique_within(low, high)
  return unique_within(state.current.stream, low, high)
end

--- Writes a string after a pattern into `buffer`.
function random.fill(pattern, buffer)
  fill(state.current.stream, pattern, #pattern, buffer)
end

local scratch, scratch_size = ffi.new("char[?]", 256), 256

--- The pattern, with a digit for each `#` and a small letter for each `@`.
function random.string(pattern)
  if #pattern > scratch_size then
    scratch_size = #pattern * 2
    scratch = ffi.new("char[?]", scratch_size)
  end
  fill(state.current.stream, pattern, #pattern, scratch)
  return ffi.string(scratch, #pattern)
end

--- A string of between `shortest` and `longest` digits and letters.
function random.varstring(shortest, longest)
  local length = random.uniform(shortest, longest)
  return random.string(string.rep("@", length))
end

--- sysbench.rand of one user.
function random.face()
  local face = {}
  for name, call in pairs(random) do
    face[name] = call
  end
  face.drawer, face.unique_within, face.fill, face.face = nil, nil, nil, nil
  return face
end

return random
