import type { Call } from '../command.js';

/** Counts a rate decision on the key that is this argument of the request; see HotIdentifiers for its cost. */
export function noteRate({ request, server }: Call, index: number, isAllowed: boolean): void {
  const { input, argumentStart, argumentLength } = request;
  server.statistics.rates.note(input.bytes, argumentStart[index], argumentLength[index], isAllowed);
}
