import type { Call, Command } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

/** TTL, PTTL, EXPIRETIME and PEXPIRETIME: the expiry, from now or as a timestamp, in seconds or milliseconds. */

const NO_KEY = -2;
const NO_EXPIRY = -1;

/** Seconds are rounded to the nearest, as Redis does. */
function toSeconds(milliseconds: number): number {
  return Math.floor((milliseconds + 500) / 1000);
}

/** When the key expires; NO_EXPIRY or NO_KEY. */
function expiresAtMs(call: Call): number {
  const { request, engine } = call;
  const exists = engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
  const atMs = engine.expiresAtMs;
  engine.close();
  if (!exists) return NO_KEY;
  return atMs === 0 ? NO_EXPIRY : atMs;
}

/** How long the key has left; NO_EXPIRY or NO_KEY. */
function remainingMs(call: Call): number {
  const atMs = expiresAtMs(call);
  return atMs < 0 ? atMs : Math.max(0, atMs - call.engine.nowMs);
}

const define = defineFamily({
  arity: 2,
  flags: ['readonly', 'fast'],
  keys: [1, 1, 1],
  group: 'generic',
  syntax: 'key',
});

export const ttlCommands: readonly Command[] = [
  define({
    name: 'ttl',
    summary: 'Returns the remaining time to live of a key in seconds.',
    since: '1.0.0',
    run: (call) => {
      const left = remainingMs(call);
      call.reply.integer(left < 0 ? left : toSeconds(left));
    },
  }),
  define({
    name: 'pttl',
    summary: 'Returns the remaining time to live of a key in milliseconds.',
    since: '2.6.0',
    run: (call) => call.reply.integer(remainingMs(call)),
  }),
  define({
    name: 'expiretime',
    summary: 'Returns the Unix timestamp in seconds at which a key expires.',
    since: '7.0.0',
    run: (call) => {
      const atMs = expiresAtMs(call);
      call.reply.integer(atMs < 0 ? atMs : toSeconds(atMs));
    },
  }),
  define({
    name: 'pexpiretime',
    summary: 'Returns the Unix timestamp in milliseconds at which a key expires.',
    since: '7.0.0',
    run: (call) => call.reply.integer(expiresAtMs(call)),
  }),
];
