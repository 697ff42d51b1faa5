import { CONCLUSION, PRELUDE } from './random-program.js';

/** A long program is worth seconds, not minutes. */
const ATTEMPTS_MAX = 2000;

/** The program without lines that its failure does not need, for a reader. */
export async function shrink(program: string, fails: (candidate: string) => Promise<boolean>): Promise<string> {
  let lines = program.slice(PRELUDE.length, -CONCLUSION.length).split('\n');
  const whole = (some: readonly string[]) => `${PRELUDE}${some.join('\n')}${CONCLUSION}`;
  let attempts = ATTEMPTS_MAX;
  for (let size = Math.ceil(lines.length / 2); size >= 1; size = size > 1 ? Math.floor(size / 2) : 0) {
    for (let at = 0; at + size <= lines.length; ) {
      if (attempts-- === 0) return lines.join('\n');
      const fewer = lines.toSpliced(at, size);
      if (await fails(whole(fewer))) lines = fewer;
      else at++;
    }
  }
  return lines.join('\n');
}
