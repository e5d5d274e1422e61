-- Sends the JSON bodies of a file, one a line, in turn. See docs/performance.md.
--   wrk -t2 -c32 -d30s --latency -s bench/wrk/post.lua http://127.0.0.1:3000/api/settings -- FILE KEY
local bodies = {}
local n = 0

function init(args)
  for line in io.lines(args[1]) do
    bodies[#bodies + 1] = line
  end
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["X-Session-API-Key"] = args[2]
end

function request()
  n = n % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[n])
end

function done(summary, latency)
  local failed = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  io.write(string.format("%.0f/s, p99 %.1f ms, %d failed\n",
    summary.requests / summary.duration * 1e6, latency:percentile(99) / 1000, failed))
end
