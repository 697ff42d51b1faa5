import { errors } from '../../errors/errors.js';
import { textArgument, textArguments } from '../../request/arguments.js';
import type { DiskRequest } from '../../services/lane-disk.js';
import { awaitAnswer } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

const SCHEDULE = 'schedule';
/** More than a snapshot of a full store to a slow disk takes. */
const PATIENCE_MS = 3_600_000;

const define = defineFamily({ flags: ['admin', 'noscript', 'no_multi'], group: 'server', since: '1.0.0' });

export const bgsave = define({
  name: 'bgsave',
  arity: -1,
  summary: 'Writes a snapshot in the background and deletes the log that it covers.',
  syntax: '[SCHEDULE]',
  run(call) {
    const { request, reply } = call;
    const words = textArguments(request, 1).map((word) => word.toLowerCase());
    if (words.length > 1 || (words.length === 1 && words[0] !== SCHEDULE)) return reply.error(errors.syntax);
    startSnapshot(call, errors.saveInProgress, 'Background saving started');
  },
});

/** Redis rewrites its append-only file; QuotaDB replaces the log by a snapshot, with the same effect. */
export const bgRewriteAof = define({
  name: 'bgrewriteaof',
  arity: 1,
  summary: 'Folds the log into a snapshot in the background, as BGSAVE does.',
  run: (call) => startSnapshot(call, errors.rewriteInProgress, 'Background append only file rewriting started'),
});

export const save = define({
  name: 'save',
  arity: 1,
  summary: 'Writes a snapshot and answers when it is on disk. Other clients are served meanwhile.',
  complexity: 'O(N) with N being the number of keys',
  run(call) {
    const { disk } = call.server;
    if (!disk.isOn) call.reply.error(errors.noDataDirectory);
    else if (disk.board.isSnapshotting) call.reply.error(errors.saveInProgress);
    else waitForDisk(call, { kind: 'snapshot' }, errors.saveFailed);
  },
});

export const lastSave = define({
  name: 'lastsave',
  arity: 1,
  flags: ['loading', 'stale', 'fast'],
  summary: 'The time of the last snapshot in seconds since 1970; without one, the time of the start.',
  run({ reply, server }) {
    const { disk, identity } = server;
    const lastSaveMs = disk.isOn ? disk.board.figures().lastSaveMs : identity.startedAtMs;
    reply.integer(Math.floor(lastSaveMs / 1000));
  },
});

export const backup = define({
  name: 'backup',
  arity: 2,
  summary: 'Writes all data into a new directory of this name in --backup-dir; another server can start from it.',
  since: '0.1.0',
  complexity: 'O(N) with N being the number of keys',
  syntax: 'name',
  run(call) {
    if (call.server.disk.isOn) {
      waitForDisk(call, { kind: 'backup', directory: textArgument(call.request, 1) }, errors.backupFailed);
    } else {
      call.reply.error(errors.noDataDirectory);
    }
  },
});

/** Replies at once; the snapshot is written in the background. */
function startSnapshot({ reply, server }: Call, busy: string, started: string): void {
  const { isOn, board } = server.disk;
  if (isOn && !board.isSnapshotting) {
    server.askMain('disk', { kind: 'snapshot' });
    reply.simple(started);
  } else {
    reply.error(isOn ? busy : errors.noDataDirectory);
  }
}

/** Replies when the disk is done, with OK or with the reason of the failure. */
function waitForDisk(call: Call, request: DiskRequest, failed: (reason: string) => string): void {
  const ask = (answered: (error: string | undefined) => void) => call.server.askMain('disk', request, answered);
  awaitAnswer(call, PATIENCE_MS, ask, ({ reply }, answer) => {
    const reason = answer === undefined ? `the disk has not finished after ${PATIENCE_MS} ms` : answer.value;
    if (reason === undefined) reply.ok();
    else reply.error(failed(reason));
  });
}
