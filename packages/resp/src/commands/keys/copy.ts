import type { Request } from '@quotadb/wire';
import { errors, statusError } from '../../errors/errors.js';
import { argumentIs, bytesArgument, keyword, numberArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { keyIn, nameIn } from '../../session/databases.js';
import { defineFamily } from '../../session/define.js';
import { KeyTransfer, Transferred } from './transfer.js';

const DB = keyword('db');
const REPLACE = keyword('replace');
/** Redis reads the number of a database into a C int. */
const LOWEST_INT32 = -0x8000_0000;
const HIGHEST_INT32 = 0x7fff_ffff;

/** The number of a database that exists, or the error reply. */
function databaseArgument({ request, server }: Call, index: number): number | string {
  const database = numberArgument(request, index);
  if (Number.isNaN(database)) return errors.notAnInteger;
  if ((database | 0) !== database) return errors.outOfRangeBetween(LOWEST_INT32, HIGHEST_INT32);
  return database >= 0 && database < server.config.databases ? database : errors.databaseOutOfRange;
}

/** The keys of the request have the prefix of the client's database: the same name in another one. */
function keyElsewhere({ request, client }: Call, index: number, database: number): Uint8Array {
  const key = bytesArgument(request, index);
  return keyIn(database, nameIn(client.database, key) ?? key);
}

function transfer(call: Call, targetIndex: number, database: number, replaces: boolean, moves: boolean): void {
  const { request, engine, reply } = call;
  const source = bytesArgument(request, 1);
  const target = keyElsewhere(call, targetIndex, database);
  if (Buffer.compare(source, target) === 0) {
    reply.error(errors.sameObject);
    return;
  }
  const copied = new KeyTransfer(engine, source, target);
  const result = copied.run({ replaces, moves });
  if (result === Transferred.Refused) reply.error(statusError(copied.status));
  else reply.integer(result === Transferred.Done ? 1 : 0);
}

interface CopyOptions {
  readonly database: number;
  readonly replaces: boolean;
}

function readOptions(call: Call): CopyOptions | string {
  const { client } = call;
  const request: Request = call.request;
  let database = client.database;
  let replaces = false;
  for (let index = 3; index < request.argumentCount; index++) {
    if (argumentIs(request, index, REPLACE)) {
      replaces = true;
    } else if (argumentIs(request, index, DB) && index + 1 < request.argumentCount) {
      const chosen = databaseArgument(call, ++index);
      if (typeof chosen === 'string') return chosen;
      database = chosen;
    } else {
      return errors.syntax;
    }
  }
  return { database, replaces };
}

const define = defineFamily({ alsoReads: true, group: 'generic' });

export const copy = define({
  name: 'copy',
  arity: -3,
  flags: ['write', 'denyoom'],
  keys: [1, 2, 1],
  summary: 'Sets a key to the value and expiration time of another, as they are here.',
  since: '6.2.0',
  syntax: 'source destination [DB destination-db] [REPLACE]',
  run(call) {
    const options = readOptions(call);
    if (typeof options === 'string') call.reply.error(options);
    else transfer(call, 2, options.database, options.replaces, false);
  },
});

export const move = define({
  name: 'move',
  arity: 3,
  flags: ['write', 'fast'],
  keys: [1, 1, 1],
  summary: 'Moves a key to another database, where it does not exist there.',
  since: '1.0.0',
  syntax: 'key db',
  run(call) {
    const database = databaseArgument(call, 2);
    if (typeof database === 'string') call.reply.error(database);
    else transfer(call, 1, database, false, true);
  },
});

/** Refused: it would have to rename every key of two databases at once, in all regions. */
export const swapdb = define({
  name: 'swapdb',
  arity: 3,
  flags: ['write', 'fast'],
  role: 'admin',
  summary: 'Refused: databases cannot be exchanged.',
  since: '4.0.0',
  syntax: 'index1 index2',
  run({ reply }) {
    reply.error(errors.noSwap);
  },
});
