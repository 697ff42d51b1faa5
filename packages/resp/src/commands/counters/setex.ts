import { assignExpiring, Status } from '@quotadb/engine';
import { errors, statusError } from '../../errors/errors.js';
import { integerArgument, integerHalves, quotedArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { absoluteMs, type ExpiryUnit, expiryAmount, MILLISECONDS, SECONDS } from '../keys/expiry-time.js';

/** SETEX and PSETEX: SET with an expiry, older than the options of SET. */

const EXPIRY = 2;
const VALUE = 3;

function setWithExpiry(call: Call, unit: ExpiryUnit, commandName: string): void {
  const { request, reply, engine } = call;
  const expiry = expiryAmount(call, EXPIRY, unit, commandName);
  if (Number.isNaN(expiry)) return;
  if (!integerArgument(request, VALUE)) {
    reply.error(errors.valueNotAnInteger(quotedArgument(request, VALUE)));
    return;
  }

  engine.open(request.input, request.argumentStart[1], request.argumentLength[1]);
  const status = assignExpiring(engine, integerHalves[0], integerHalves[1], absoluteMs(engine, unit, expiry));
  engine.close();

  if (status === Status.Ok) reply.ok();
  else reply.error(statusError(status));
}

const define = defineFamily({
  arity: 4,
  flags: ['write', 'denyoom'],
  keys: [1, 1, 1],
  group: 'counter',
});

export const setex = define({
  name: 'setex',
  summary: 'Sets a counter and its expiration time in seconds.',
  since: '2.0.0',
  syntax: 'key seconds value',
  run: (call) => setWithExpiry(call, SECONDS, 'setex'),
});

export const psetex = define({
  name: 'psetex',
  summary: 'Sets a counter and its expiration time in milliseconds.',
  since: '2.6.0',
  syntax: 'key milliseconds value',
  run: (call) => setWithExpiry(call, MILLISECONDS, 'psetex'),
});
