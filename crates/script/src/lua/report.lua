-- sysbench.report_default, report_csv and report_json: what a script's reporting hooks hand on to.
local state = ...

local report = {}

local function rates(stat)
  local seconds = stat.time_interval
  local queries = stat.reads + stat.writes + stat.other
  return {
    time = stat.time_total,
    threads = stat.threads_running,
    tps = stat.events / seconds,
    qps = queries / seconds,
    reads = stat.reads / seconds,
    writes = stat.writes / seconds,
    other = stat.other / seconds,
    latency_ms = stat.latency_pct * 1000,
    errors = stat.errors / seconds,
    reconnects = stat.reconnects / seconds,
  }
end

function report.default(stat)
  local rate = rates(stat)
  state.host.print(string.format(
    "[ %.0fs ] thds: %d tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) "
      .. "lat (ms,%d%%): %4.2f err/s %4.2f reconn/s: %4.2f\n",
    rate.time, rate.threads, rate.tps, rate.qps, rate.reads, rate.writes, rate.other,
    state.current.env.sysbench.opt.percentile or 95, rate.latency_ms, rate.errors, rate.reconnects))
end

function report.csv(stat)
  local rate = rates(stat)
  state.host.print(string.format(
    "%.0f,%d,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f\n",
    rate.time, rate.threads, rate.tps, rate.qps, rate.reads, rate.writes, rate.other,
    rate.latency_ms, rate.errors, rate.reconnects))
end

local OBJECT = [[
  {
    "time": %4.0f,
    "threads": %d,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]

function report.json(stat)
  local rate = rates(stat)
  local user = state.current
  -- The list is opened by its first object.
  state.host.print((user.json_begun and ",\n" or "[\n") .. string.format(OBJECT,
    rate.time, rate.threads, rate.tps, rate.qps, rate.reads, rate.writes, rate.other,
    rate.latency_ms, rate.errors, rate.reconnects))
  user.json_begun = true
end

--- Closes what the reports of this user have opened.
function report.finish(user)
  if user.json_begun then
    state.host.print("\n]\n")
    user.json_begun = nil
  end
end

return report
