import type { Call } from '../command.js';

/** Counts a decision about the key that is this argument of the request; see HotIdentifiers for what that costs. */
export function noteRate({ request, server }: Call, index: number, isAllowed: boolean): void {
  const { input, argumentStart, argumentLength } = request;
  server.statistics.rates.note(input.bytes, argumentStart[index], argumentLength[index], isAllowed);
}
