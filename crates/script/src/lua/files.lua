-- The library io, as users of a state have it.
local state, views = ...

-- The files that io.read() and io.write() take, by the user whose script has chosen them: Lua has one of each in a state.
local inputs, outputs = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

--- Writes in the order of what is printed.
local function write(...)
  local texts = { ... }
  for index = 1, select("#", ...) do
    local kind = type(texts[index])
    if kind ~= "string" and kind ~= "number" then
      error(string.format("bad argument #%d to 'write' (string expected, got %s)", index, kind), 2)
    end
  end
  state.host.print(table.concat(texts))
  return true
end

local function succeed()
  return true
end

-- Stands for the standard output.
local stdout = setmetatable({}, {
  __index = {
    write = function(_, ...)
      return write(...)
    end,
    flush = succeed,
    setvbuf = succeed,
    close = succeed,
  },
  __tostring = function()
    return "file (stdout)"
  end,
})

--- io.input() or io.output(). What is no file that can be opened is left to Lua's own, for its error.
local function chooser(files, mode, choose)
  return function(...)
    local file, user = ..., state.current
    local own = type(file) == "string" and io.open(file, mode) or io.type(file) == "file" and file
    if own then
      files[user] = own
      return own
    elseif file ~= nil and rawequal(file, stdout) and files == outputs then
      files[user] = nil
      return file
    elseif file == nil and files[user] then
      return files[user]
    end
    return choose(...)
  end
end

--- What calls this method of the file that the user has chosen, or this function if there is none.
local function on_chosen(files, method, call)
  return function(...)
    local file = files[state.current]
    if file then
      return file[method](file, ...)
    end
    return call(...)
  end
end

--- A function that may be given a file, or its name.
local function unless_given(call, on_own)
  return function(...)
    if (...) == nil then
      return on_own()
    end
    return call(...)
  end
end

local own = views.copy(io)
own.stdout = stdout
own.input = chooser(inputs, "r", io.input)
own.output = chooser(outputs, "w", io.output)
own.read = on_chosen(inputs, "read", io.read)
own.write = on_chosen(outputs, "write", write)
own.flush = on_chosen(outputs, "flush", io.flush)
own.lines = unless_given(io.lines, on_chosen(inputs, "lines", io.lines))
own.close = unless_given(io.close, on_chosen(outputs, "close", io.close))

return own
