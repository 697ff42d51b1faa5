import type { ReplyWriter, Request } from '@quotadb/wire';
import { errors } from '../../errors.js';
import { numberArgument } from '../arguments.js';
import type { Call, Command } from '../command.js';

/** Without peers nobody can acknowledge anything: what is left is to wait as long as the caller asked. */
const ACKNOWLEDGED_REPLICAS = 0;

export const wait: Command = {
  name: 'wait',
  arity: 3,
  flags: ['noscript'],
  group: 'generic',
  summary: "Waits until so many replicas have this connection's writes; 0 milliseconds waits without end.",
  since: '3.0.0',
  complexity: 'O(1)',
  syntax: 'numreplicas timeout',
  run(call) {
    const { request, reply } = call;
    const replicas = numberArgument(request, 1);
    if (Number.isNaN(replicas)) {
      reply.error(errors.notAnInteger);
      return;
    }
    const timeoutMs = readTimeout(request, 2);
    if (typeof timeoutMs === 'string') {
      reply.error(timeoutMs);
    } else if (replicas <= ACKNOWLEDGED_REPLICAS) {
      reply.integer(ACKNOWLEDGED_REPLICAS);
    } else {
      call.suspend(timeoutMs, (resumed) => resumed.reply.integer(ACKNOWLEDGED_REPLICAS));
    }
  },
};

export const waitAof: Command = {
  name: 'waitaof',
  arity: 4,
  flags: ['noscript'],
  group: 'generic',
  summary: "Waits until this connection's writes are on disk, here and on so many replicas.",
  since: '7.2.0',
  complexity: 'O(1)',
  syntax: 'numlocal numreplicas timeout',
  run(call) {
    const { request, reply } = call;
    const local = numberArgument(request, 1);
    const replicas = numberArgument(request, 2);
    if (Number.isNaN(local) || Number.isNaN(replicas)) {
      reply.error(errors.notAnInteger);
      return;
    }
    if (local < 0 || local > 1) {
      reply.error(errors.outOfRangeBetween(0, 1));
      return;
    }
    if (replicas < 0) {
      reply.error(errors.mustBePositive);
      return;
    }
    const timeoutMs = readTimeout(request, 3);
    const { disk } = call.server;
    if (typeof timeoutMs === 'string') {
      reply.error(timeoutMs);
    } else if (local > 0 && !disk.isOn) {
      reply.error(errors.waitAofDisabled);
    } else if (local === 0 && replicas <= ACKNOWLEDGED_REPLICAS) {
      acknowledge(reply, disk.holdsReplies);
    } else {
      waitForDisk(call, timeoutMs, replicas > ACKNOWLEDGED_REPLICAS);
    }
  },
};

/** Where replicas are asked for that are not there, the answer comes when the time is over, as in Redis. */
function waitForDisk(call: Call, timeoutMs: number, waitsForReplicas: boolean): void {
  const { client, server } = call;
  let onDisk = false;
  let finished = false;
  call.suspend(timeoutMs, (resumed) => {
    finished = true;
    acknowledge(resumed.reply, onDisk);
  });
  if (finished || !server.disk.isOn) return;
  server.disk.wait({
    durable(isDurable) {
      onDisk = isDurable;
      if (!finished && !waitsForReplicas) client.connection.wake();
    },
  });
}

function acknowledge(reply: ReplyWriter, onDisk: boolean): void {
  reply.array(2);
  reply.integer(onDisk ? 1 : 0);
  reply.integer(ACKNOWLEDGED_REPLICAS);
}

/** In milliseconds; 0 is for ever. */
function readTimeout(request: Request, index: number): number | string {
  const timeoutMs = numberArgument(request, index);
  if (Number.isNaN(timeoutMs)) return errors.timeoutNotAnInteger;
  if (timeoutMs < 0) return errors.timeoutNegative;
  return timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs;
}
