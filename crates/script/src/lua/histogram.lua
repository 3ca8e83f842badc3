-- sysbench.histogram: counts in buckets that grow by the same factor.
local state = ...

local WIDTH = 40

local Histogram = {}
Histogram.__index = Histogram

--- So many buckets over values from `least` to `most`. Values outside are counted in the first or the
--- last bucket.
local function new(size, least, most)
  assert(size >= 2 and least > 0 and most > least, "a histogram needs 2 buckets and 0 < min < max")
  local step = (math.log(most) - math.log(least)) / (size - 1)
  return setmetatable({ size = size, least = least, step = step, counts = {} }, Histogram)
end

function Histogram:update(value)
  local bucket = math.floor(math.log(value / self.least) / self.step + 0.5)
  bucket = math.max(0, math.min(self.size - 1, bucket))
  self.counts[bucket] = (self.counts[bucket] or 0) + 1
end

function Histogram:print()
  local most = 0
  for _, count in pairs(self.counts) do
    most = math.max(most, count)
  end
  if most == 0 then
    return
  end
  local lines = { "       value  ------------- distribution ------------- count" }
  for bucket = 0, self.size - 1 do
    local count = self.counts[bucket]
    if count then
      local value = self.least * math.exp(bucket * self.step)
      local bar = string.rep("*", math.floor(count * WIDTH / most + 0.5))
      lines[#lines + 1] = string.format("%12.3f |%-40s %d", value, bar, count)
    end
  end
  state.host.print(table.concat(lines, "\n") .. "\n")
end

return { new = new }
