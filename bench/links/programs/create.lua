-- For wrk: a link to each target of a file, one after the other, whichever connection is free; then a report.
local requests, at = {}, 0
local headers = { ["Content-Type"] = "application/json" }

function init(arguments)
  for line in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("POST", "/v1/links", headers, '{"target":"' .. line .. '"}')
  end
  at = tonumber(arguments[2])
end

function request()
  at = at + 1
  return requests[(at - 1) % #requests + 1]
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\n{"requests": %d, "microseconds": %d, "failed": %d, "p50": %d, "p99": %d}\n',
    summary.requests, summary.duration, failed, latency:percentile(50), latency:percentile(99)
  ))
end
