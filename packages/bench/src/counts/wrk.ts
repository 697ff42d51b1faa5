import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ClosedLoad, type LoadResult, REQUEST_BODY, requestPath } from './requests.js';

const run = promisify(execFile);

/** wrk, one thread: the lightest load generator there is, so that the figures are those of the services. */
export async function loadWithWrk(program: string, load: ClosedLoad): Promise<LoadResult> {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-wrk-'));
  try {
    const script = join(directory, 'load.lua');
    writeFileSync(script, luaScript(load.items));
    const words = ['-t1', `-c${load.connections}`, `-d${load.seconds}s`, '-s', script, `http://127.0.0.1:${load.port}`];
    const { stdout } = await run(program, words, { signal: load.signal });
    return JSON.parse(stdout.slice(stdout.lastIndexOf('{"requests"'))) as LoadResult;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Requests are formatted once; at the end wrk prints its figures; its latencies are in microseconds. */
function luaScript(items: readonly string[]): string {
  return `
local requests, position = {}, 0
init = function()
  for item in string.gmatch("${items.join(' ')}", "%S+") do
    requests[#requests + 1] = wrk.format("POST", "${requestPath('" .. item .. "')}",
      { ["Content-Type"] = "application/json" }, '${REQUEST_BODY}')
  end
end
request = function()
  position = position % #requests + 1
  return requests[position]
end
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"failures":%d,"seconds":%f,"latencyMsP50":%f,"latencyMsP99":%f,"latencyMsP999":%f}',
    summary.requests, errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency:percentile(99.9) / 1e3))
end
`;
}
