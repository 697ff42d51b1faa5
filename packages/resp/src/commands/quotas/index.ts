import type { Command } from '../../session/command.js';
import { quotaAcquire, quotaRelease, quotaRenew } from './quota-lease.js';
import { quotaPeek } from './quota-peek.js';
import { quotaDefine, quotaDrop, quotaHome, quotaInfo, quotaList, quotaRemint } from './quota-policies.js';
import { quotaCancel, quotaCommit, quotaReserve } from './quota-reserve.js';
import { quotaEvents, quotaExtra, quotaRefund, quotaReset, quotaSubjects } from './quota-subjects.js';
import { quotaTake } from './quota-take.js';
import { quotaTakeAll } from './quota-take-all.js';

export const quotaCommands: readonly Command[] = [
  quotaAcquire,
  quotaCancel,
  quotaCommit,
  quotaDefine,
  quotaDrop,
  quotaEvents,
  quotaExtra,
  quotaHome,
  quotaInfo,
  quotaList,
  quotaPeek,
  quotaRefund,
  quotaRelease,
  quotaRemint,
  quotaRenew,
  quotaReserve,
  quotaReset,
  quotaSubjects,
  quotaTake,
  quotaTakeAll,
];
