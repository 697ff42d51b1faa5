import { errors } from '../../errors.js';
import { textArgument } from '../arguments.js';
import type { Command } from '../command.js';

const SCHEDULE = 'schedule';
/** A backup of a full store to a slow disk; whoever asked has waited long enough then. */
const BACKUP_PATIENCE_MS = 3_600_000;

export const bgsave: Command = {
  name: 'bgsave',
  arity: -1,
  flags: ['admin', 'noscript', 'no_multi'],
  group: 'server',
  summary: 'Writes a snapshot in the background; the log that it covers is dropped.',
  since: '1.0.0',
  complexity: 'O(1)',
  syntax: '[SCHEDULE]',
  run({ request, reply, server }) {
    const { disk } = server;
    const isUnderstood =
      request.argumentCount === 1 ||
      (request.argumentCount === 2 && textArgument(request, 1).toLowerCase() === SCHEDULE);
    if (!isUnderstood) {
      reply.error(errors.syntax);
    } else if (!disk.isOn) {
      reply.error(errors.noDataDirectory);
    } else if (disk.board.isSnapshotting) {
      reply.error(errors.saveInProgress);
    } else {
      disk.ask({ kind: 'snapshot' }, () => {});
      reply.simple('Background saving started');
    }
  },
};

export const lastSave: Command = {
  name: 'lastsave',
  arity: 1,
  flags: ['loading', 'stale', 'fast'],
  group: 'server',
  summary: 'Tells when the last snapshot was finished, in seconds since 1970; without one, when the server started.',
  since: '1.0.0',
  complexity: 'O(1)',
  syntax: '',
  run({ reply, server }) {
    const { disk, identity } = server;
    const lastSaveMs = disk.isOn ? disk.board.figures().lastSaveMs : identity.startedAtMs;
    reply.integer(Math.floor(lastSaveMs / 1000));
  },
};

export const backup: Command = {
  name: 'backup',
  arity: 2,
  flags: ['admin', 'noscript', 'no_multi'],
  group: 'server',
  summary: 'Writes everything into an empty directory of the machine of the server; another server can start from it.',
  since: '0.1.0',
  complexity: 'O(N) with N being the number of keys',
  syntax: 'directory',
  run(call) {
    const { request, reply, client, server } = call;
    if (!server.disk.isOn) {
      reply.error(errors.noDataDirectory);
      return;
    }
    const directory = textArgument(request, 1);
    let outcome: string | undefined = 'it took too long';
    let finished = false;
    call.suspend(BACKUP_PATIENCE_MS, (resumed) => {
      finished = true;
      if (outcome === undefined) resumed.reply.ok();
      else resumed.reply.error(errors.backupFailed(outcome));
    });
    // It waits for us, not for anything it asked to wait for.
    client.blocked = false;
    server.disk.ask({ kind: 'backup', directory }, (error) => {
      outcome = error;
      if (!finished) client.connection.wake();
    });
  },
};
