-- Reads pages at any place of a conversation's log. See docs/performance.md.
--   wrk -t1 -c1 -d10s --latency -s bench/wrk/get.lua http://127.0.0.1:3000 -- CONVERSATION EVENTS KEY
local path, events

function init(args)
  path = "/api/conversations/" .. args[1] .. "/events?limit=100&start_id="
  events = tonumber(args[2])
  wrk.headers["X-Session-API-Key"] = args[3]
end

function request()
  return wrk.format("GET", path .. math.random(0, events - 100))
end
