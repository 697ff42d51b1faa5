import { RedisScripts } from '../../testing/redis-scripts.js';
import { LuaError } from '../../values/errors.js';
import { running } from '../../values/running.js';
import { all, type LuaFunction, type Value } from '../../values/value.js';
import { luaLiteral, SHOW_IN_LUA, show } from './show.js';

/** A call that is made on both sides: an expression of Lua and the function of ours that it stands for. */
export interface Call {
  readonly lua: string;
  readonly ours: LuaFunction;
  readonly given: readonly Value[];
}

export interface Difference {
  readonly call: string;
  readonly redis: string;
  readonly ours: string;
}

const CALLS_PER_SCRIPT = 200;

const BOUNDS = { memoryBytes: 64 * 1024 * 1024, stackBytes: 512 * 1024 };

/** What a script of Redis would see of `pcall(call)`: true and results, or false and the message. */
function ourAnswer(call: Call): string {
  running.start(BOUNDS, undefined, () => {});
  try {
    return [true, ...all(call.ours(...call.given))].map(show).join(' ');
  } catch (error) {
    if (error instanceof LuaError) return `false ${show(error.value)}`;
    throw new Error(`${describeCall(call)} threw an error that is no Lua error`, { cause: error });
  }
}

/** Makes the calls here and on a Redis, and gives those that differ. */
export async function differences(port: number, calls: readonly Call[]): Promise<Difference[]> {
  const redis = new RedisScripts(port);
  try {
    const found: Difference[] = [];
    for (let start = 0; start < calls.length; start += CALLS_PER_SCRIPT) {
      const some = calls.slice(start, start + CALLS_PER_SCRIPT);
      const answers = await redisAnswers(redis, some);
      for (const [i, call] of some.entries()) {
        const ours = ourAnswer(call);
        const theirs = answers[i] ?? 'nothing';
        if (ours !== theirs) found.push({ call: describeCall(call), redis: theirs, ours });
      }
    }
    return found;
  } finally {
    redis.close();
  }
}

async function redisAnswers(redis: RedisScripts, calls: readonly Call[]): Promise<string[]> {
  const lines = calls.map(
    ({ lua, given }) => `function() return showAll(pcall(${[lua, ...given.map(luaLiteral)].join(', ')})) end`,
  );
  const script = `${SHOW_IN_LUA} local calls = {\n${lines.join(',\n')}\n}
    local answers = {}
    for i = 1, #calls do local answer = calls[i]() answers[i] = #answer .. ':' .. answer end
    return table.concat(answers)`;
  return unframed(await redis.eval(script));
}

/** The texts of "3:abc2:de". */
function unframed(text: string): string[] {
  const texts: string[] = [];
  for (let start = 0; start < text.length; ) {
    const colon = text.indexOf(':', start);
    const length = Number(text.slice(start, colon));
    if (!Number.isInteger(length)) throw new Error(`Redis answered ${text.slice(start)}`);
    start = colon + 1 + length;
    texts.push(text.slice(colon + 1, start));
  }
  return texts;
}

function describeCall({ lua, given }: Call): string {
  const values = given.map((value) => (typeof value === 'string' ? JSON.stringify(value) : luaLiteral(value)));
  return `${lua}(${values.join(', ')})`;
}
