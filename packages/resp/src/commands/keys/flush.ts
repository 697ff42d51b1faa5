import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { argumentIs, keyword } from '../../request/arguments.js';
import type { Call, Command } from '../../session/command.js';
import { belongsTo } from '../../session/databases.js';
import { defineFamily } from '../../session/define.js';

const ASYNC = keyword('ASYNC');
const SYNC = keyword('SYNC');

/** ASYNC is accepted and runs synchronously. */
function flush({ request, reply }: Call, remove: () => void): void {
  if (!isValid(request)) {
    reply.error(errors.syntax);
    return;
  }
  remove();
  reply.ok();
}

/** The only database is all there is: its keys need not be looked at one by one. */
function removeDatabase({ engine, client, server }: Call): void {
  const { database } = client;
  if (server.config.databases === 1) engine.removeAll();
  else engine.removeSome((key) => belongsTo(database, key));
}

function isValid(request: Request): boolean {
  if (request.argumentCount === 1) return true;
  return request.argumentCount === 2 && (argumentIs(request, 1, ASYNC) || argumentIs(request, 1, SYNC));
}

const define = defineFamily({
  arity: -1,
  flags: ['write'],
  role: 'admin',
  group: 'server',
  since: '1.0.0',
  complexity: 'O(N) where N is the number of keys.',
  syntax: '[ASYNC | SYNC]',
});

export const flushCommands: readonly Command[] = [
  define({
    name: 'flushall',
    summary: 'Removes all keys of all databases; those of grow-only namespaces stay.',
    run: (call) => flush(call, () => call.engine.removeAll()),
  }),
  define({
    name: 'flushdb',
    summary: 'Removes all keys of the database; those of grow-only namespaces stay.',
    run: (call) => flush(call, () => removeDatabase(call)),
  }),
];
