-- wrk -s wrk.lua URL -- FILE SIZE [PATH]: sends lines of FILE at random, as JSON-RPC requests to PATH (/). Every answer must have status
-- 200, at least SIZE bytes, a result and no error. The last line of the output is a JSON object of what was measured.

local threads = {}

function setup(thread)
    table.insert(threads, thread)
end

function init(args)
    requests, bad, least = {}, 0, tonumber(args[2])
    local headers = {["Content-Type"] = "application/json"}
    for line in io.lines(args[1]) do
        requests[#requests + 1] = wrk.format("POST", args[3] or "/", headers, line)
    end
    math.randomseed(1)
end

function request()
    return requests[math.random(#requests)]
end

function response(status, headers, body)
    if status ~= 200 or #body < least or not body:find('"result"', 1, true)
            or body:find('"error"', 1, true) then
        bad = bad + 1
    end
end

function done(summary, latency)
    local e, errors = summary.errors, 0
    for _, thread in ipairs(threads) do
        errors = errors + thread:get("bad")
    end
    errors = errors + e.connect + e.read + e.write + e.timeout
    print(string.format('{"requests":%d,"wall_us":%d,"p50_us":%d,"p99_us":%d,"errors":%d}',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors))
end
