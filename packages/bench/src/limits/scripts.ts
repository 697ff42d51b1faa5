import { ask } from '../servers/ask.js';
import { CONNECTIONS, KEY_COUNT, loadRound } from './command-load.js';
import type { Contest, ContestSide, Servers } from './contest.js';
import { libraryScripts } from './library-scripts.js';

const PIPELINES = [1, 16];

/** The scripts of limiter libraries by EVALSHA, the same bytes to both servers. */
export async function scripts(servers: Servers): Promise<Contest> {
  const sides: ContestSide[] = [];
  for (const { library, script, request } of libraryScripts) {
    for (const server of Object.values(servers)) await ask(server.port, 'SCRIPT', 'LOAD', script);
    for (const pipeline of PIPELINES) {
      for (const [name, server] of Object.entries(servers)) {
        sides.push({
          name: `${library}, pipeline ${pipeline}, ${name}`,
          measure: (seconds, signal) => loadRound(server, [request], { pipeline, measureMs: seconds * 1_000 }, signal),
        });
      }
    }
  }
  return {
    name: 'scripts',
    description: `EVALSHA of limiter libraries, ${CONNECTIONS} connections, ${KEY_COUNT.toLocaleString('en')} keys`,
    sides,
  };
}
