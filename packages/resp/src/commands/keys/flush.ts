import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { argumentIs, keyword } from '../../request/arguments.js';
import type { Call, Command } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

const ASYNC = keyword('ASYNC');
const SYNC = keyword('SYNC');

/** FLUSHALL and FLUSHDB: there is one database. ASYNC is accepted and runs synchronously. */
function flush({ request, reply, engine }: Call): void {
  if (!isValid(request)) {
    reply.error(errors.syntax);
    return;
  }
  engine.removeAll();
  reply.ok();
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
  run: flush,
});

export const flushCommands: readonly Command[] = [
  define({ name: 'flushall', summary: 'Removes all keys; those of grow-only namespaces stay.' }),
  define({ name: 'flushdb', summary: 'Removes all keys; those of grow-only namespaces stay.' }),
];
