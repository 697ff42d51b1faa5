import { errors, statusError } from '../../errors/errors.js';
import { bytesArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';
import { KeyTransfer, Transferred } from './transfer.js';

function transfer({ request, engine, reply }: Call, replaces: boolean, done: (result: Transferred) => void): void {
  const rename = new KeyTransfer(engine, bytesArgument(request, 1), bytesArgument(request, 2));
  const result = rename.run({ replaces, moves: true });
  if (result === Transferred.NoSource) reply.error(errors.noSuchKey);
  else if (result === Transferred.Refused) reply.error(statusError(rename.status));
  else done(result);
}

const define = defineFamily({
  arity: 3,
  alsoReads: true,
  keys: [1, 2, 1],
  group: 'generic',
  since: '1.0.0',
  syntax: 'key newkey',
});

export const rename = define({
  name: 'rename',
  flags: ['write'],
  summary:
    'Moves value and expiration time to another key, which is overwritten. What other regions count in the old name ' +
    'meanwhile stays there.',
  run: (call) => transfer(call, true, () => call.reply.ok()),
});

export const renamenx = define({
  name: 'renamenx',
  flags: ['write', 'fast'],
  summary: 'The same, only where the new key does not exist here.',
  run: (call) => transfer(call, false, (result) => call.reply.integer(result === Transferred.Done ? 1 : 0)),
});
