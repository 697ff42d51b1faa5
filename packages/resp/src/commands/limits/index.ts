import type { Command } from '../../session/command.js';
import { limitDrop, limitGet, limitList, limitLoad, limitSet } from './limit-catalogue.js';
import { limitCheck, limitPeek, limitRelease } from './limit-check.js';
import { limitRefund, limitReset, limitSubjects } from './limit-subjects.js';

export const limitCommands: readonly Command[] = [
  limitCheck,
  limitPeek,
  limitRelease,
  limitList,
  limitGet,
  limitSet,
  limitLoad,
  limitDrop,
  limitSubjects,
  limitRefund,
  limitReset,
];
