import { OWN_ORIGIN } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { errors } from '../../errors/errors.js';
import { numberArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';
import { defineFamily } from '../../session/define.js';

const define = defineFamily({ flags: ['noscript'], group: 'generic' });

export const wait = define({
  name: 'wait',
  arity: 3,
  summary: "Waits until the given number of replicas hold this connection's writes; a timeout of 0 waits without end.",
  since: '3.0.0',
  syntax: 'numreplicas timeout',
  run(call) {
    const { request, reply } = call;
    const replicas = numberArgument(request, 1);
    if (Number.isNaN(replicas)) return reply.error(errors.notAnInteger);
    const timeoutMs = readTimeout(request, 2);
    if (typeof timeoutMs === 'string') return reply.error(timeoutMs);
    waitFor(call, timeoutMs, { replicas, disk: false }, (resumed, acknowledged) =>
      resumed.reply.integer(acknowledged.replicas),
    );
  },
});

export const waitAof = define({
  name: 'waitaof',
  arity: 4,
  summary: "Waits until this connection's writes are on disk, here and on the given number of replicas.",
  since: '7.2.0',
  syntax: 'numlocal numreplicas timeout',
  run(call) {
    const { request, reply } = call;
    const local = numberArgument(request, 1);
    const replicas = numberArgument(request, 2);
    if (Number.isNaN(local) || Number.isNaN(replicas)) return reply.error(errors.notAnInteger);
    if (local < 0 || local > 1) return reply.error(errors.outOfRangeBetween(0, 1));
    if (replicas < 0) return reply.error(errors.mustBePositive);
    const timeoutMs = readTimeout(request, 3);
    const { disk } = call.server;
    if (typeof timeoutMs === 'string') {
      reply.error(timeoutMs);
    } else if (local > 0 && !disk.isOn) {
      reply.error(errors.waitAofDisabled);
    } else {
      // Members acknowledge changes in memory, not on disk, so the wanted number is never reached.
      const isEndless = replicas > 0;
      waitFor(
        call,
        timeoutMs,
        { replicas: isEndless ? Number.POSITIVE_INFINITY : 0, disk: local > 0 },
        (resumed, acknowledged) => {
          resumed.reply.array(2);
          resumed.reply.integer(acknowledged.disk ? 1 : 0);
          resumed.reply.integer(0);
        },
      );
    }
  },
});

interface Acknowledged {
  /** Members that hold every change made here before the command came. */
  readonly replicas: number;
  readonly disk: boolean;
}

/** Replies when the wanted acknowledgements are there or the timeout is over, whichever comes first. */
function waitFor(
  call: Call,
  timeoutMs: number,
  wanted: { readonly replicas: number; readonly disk: boolean },
  finish: (call: Call, acknowledged: Acknowledged) => void,
): void {
  const { client, engine, server } = call;
  const { disk, replication } = server;
  const versions = Float64Array.from({ length: engine.shardCount }, (_, shard) => engine.seen(shard, OWN_ORIGIN));
  let onDisk = disk.holdsUntilSynced;
  const acknowledged = (): Acknowledged => ({ replicas: replication.board.acknowledgedBy(versions), disk: onDisk });
  const isEnough = ({ replicas, disk: isOnDisk }: Acknowledged) =>
    replicas >= wanted.replicas && (isOnDisk || !wanted.disk);
  const now = acknowledged();
  if (isEnough(now)) {
    finish(call, now);
    return;
  }
  let finished = false;
  let leave = () => {};
  call.suspend(timeoutMs, (resumed) => {
    finished = true;
    leave();
    finish(resumed, acknowledged());
  });
  if (finished) return;
  if (wanted.replicas > 0 && Number.isFinite(wanted.replicas)) {
    leave = replication.wait(client, () => {
      if (!finished && isEnough(acknowledged())) client.connection.wake();
    });
  }
  // Only changes on disk are sent to members, so waiting for members includes the flush.
  if (disk.isOn && !onDisk) {
    disk.wait({
      durable(isDurable) {
        onDisk = isDurable;
        if (!finished && isEnough(acknowledged())) client.connection.wake();
      },
    });
  }
}

/** In milliseconds; 0 stands for no timeout. */
function readTimeout(request: Request, index: number): number | string {
  const timeoutMs = numberArgument(request, index);
  if (Number.isNaN(timeoutMs)) return errors.timeoutNotAnInteger;
  if (timeoutMs < 0) return errors.timeoutNegative;
  return timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs;
}
