import { normalise, runHere } from './our-side.js';
import { CONCLUSION, PRELUDE, randomProgram } from './random-program.js';
import type { RedisScripts } from './redis-scripts.js';
import { shrink } from './shrink.js';

/** Programs that are sent before the first answer is awaited. */
const UNDER_WAY = 50;

/** A text about the first program that answers otherwise here than on Redis, or undefined. */
export async function firstDifference(
  redis: RedisScripts,
  seeds: { readonly from: number; readonly count: number },
  make: (seed: number) => string,
): Promise<string | undefined> {
  for (let from = seeds.from; from < seeds.from + seeds.count; from += UNDER_WAY) {
    const programs = Array.from({ length: UNDER_WAY }, (_, place) => make(from + place));
    const replies = await Promise.all(programs.map((program) => redis.eval(program)));
    const different = programs.findIndex((program, place) =>
      isDifferent(normalise(replies[place] ?? ''), runHere(program)),
    );
    if (different >= 0) return describeDifference(redis, from + different, programs[different] ?? '', make);
  }
  return undefined;
}

/** Redis prints the sign of a NaN, JavaScript has none: a program that came to see one proves nothing. */
function isDifferent(there: string, here: string): boolean {
  return there !== here && !/nan/i.test(there + here);
}

async function describeDifference(
  redis: RedisScripts,
  seed: number,
  program: string,
  make: (seed: number) => string,
): Promise<string> {
  const differs = async (candidate: string) => {
    const there = normalise(await redis.eval(candidate));
    return isDifferent(there, runHere(candidate)) && !there.includes('compiling');
  };
  let small = program;
  if (make === randomProgram) small = `${PRELUDE}${await shrink(program, differs)}${CONCLUSION}`;
  const there = normalise(await redis.eval(small));
  return `seed ${seed}:\n${small}\n--- Redis:\n${there}\n--- here:\n${runHere(small)}`;
}
