-- For wrk: the URIs of a file one after the other, by visitors with some hundreds of different browsers, languages and
-- pages that they come from; then a report.
local requests, at = {}, 0
local languages = { "en-GB,en;q=0.9", "pl-PL,pl;q=0.8,en;q=0.5", "de-DE,de;q=0.9", "fr-FR,fr;q=0.9,en;q=0.6" }
local systems = { "X11; Linux x86_64", "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10.15" }

local function visitor(number)
  local version = 100 + number % 40
  local system = systems[number % #systems + 1]
  return {
    ["User-Agent"] = string.format("Mozilla/5.0 (%s; rv:%d.0) Gecko/20100101 Firefox/%d.0", system, version, version),
    ["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    ["Accept-Language"] = languages[number % #languages + 1],
    ["Referer"] = string.format("https://site%d.example/today", number % 7),
  }
end

function init(arguments)
  for line in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("GET", line, visitor(#requests))
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
