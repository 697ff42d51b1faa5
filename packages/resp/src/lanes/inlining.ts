import { setFlagsFromString } from 'node:v8';

/**
 * A command passes through some thirty small functions, one for each thing that is done. V8 stops inlining when 920
 * bytes of their bytecode are in one optimized function, and a call that is left costs more than most of them do:
 * with these limits a command of a pipeline takes a fifth to a quarter less time. They are V8's, of the whole process.
 */
export function inlineSmallFunctions(): void {
  setFlagsFromString('--max-inlined-bytecode-size=1000');
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=4000');
}
