import type { Command } from '../../session/command.js';
import { copy, move, swapdb } from './copy.js';
import { dbsize } from './dbsize.js';
import { del, unlink } from './del.js';
import { exists, touch } from './exists.js';
import { expireCommands } from './expire.js';
import { flushCommands } from './flush.js';
import { keys } from './keys.js';
import { object } from './object.js';
import { persist } from './persist.js';
import { randomkey } from './randomkey.js';
import { rename, renamenx } from './rename.js';
import { scan } from './scan.js';
import { ttlCommands } from './ttl.js';
import { type } from './type.js';

export const keyCommands: readonly Command[] = [
  del,
  unlink,
  exists,
  touch,
  type,
  scan,
  keys,
  randomkey,
  dbsize,
  ...flushCommands,
  ...expireCommands,
  ...ttlCommands,
  persist,
  rename,
  renamenx,
  copy,
  move,
  swapdb,
  object,
];
