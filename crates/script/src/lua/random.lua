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

local random = {}

for name, kind in pairs(KINDS) do
  random[name] = function(low, high)
    return draw(state.current.stream, kind, low, high)
  end
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

return random
