import type { Command } from '../../session/command.js';
import { get, mget } from './get.js';
import { getdel } from './getdel.js';
import { getex } from './getex.js';
import { getset } from './getset.js';
import { incrbyex } from './incrbyex.js';
import { incrbyfloat } from './incrbyfloat.js';
import { decr, decrby, incr, incrby } from './increment.js';
import { increx } from './increx.js';
import { mset, msetnx } from './mset.js';
import { set } from './set.js';
import { psetex, setex } from './setex.js';
import { setnx } from './setnx.js';
import { strlen } from './strlen.js';

export const counterCommands: readonly Command[] = [
  incr,
  decr,
  incrby,
  decrby,
  get,
  mget,
  set,
  setex,
  psetex,
  setnx,
  getset,
  getdel,
  getex,
  mset,
  msetnx,
  incrbyfloat,
  strlen,
  increx,
  incrbyex,
];
