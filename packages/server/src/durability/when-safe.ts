import type { Engine } from '@quotadb/engine';
import { type Refused, type ServerState, unreplicated } from '@quotadb/resp';

const DISK_FAILED: Refused = { error: 'The change could not be written to disk.', cause: 'disk_failed' };

/**
 * The main thread's counterpart of held replies. Resolves when all changes made so far are as safe as this server
 * promises before it answers, on its disk and on other servers (--replicate-before-reply); with the reason where they
 * are not.
 */
export async function whenSafe(state: ServerState, engine: Engine): Promise<Refused | undefined> {
  const { disk, replication } = state;
  if (replication.held === undefined) return disk.isOn ? whenDurable(state, 'hold') : undefined;
  // Changes are sent when the own disk has them: that flush is not left to its interval.
  const durable = disk.isOn ? whenDurable(state, 'wait') : undefined;
  const [notReplicated, notDurable] = await Promise.all([whenReplicated(state, engine), durable]);
  return notDurable ?? notReplicated;
}

function whenDurable({ disk }: ServerState, until: 'wait' | 'hold'): Promise<Refused | undefined> {
  return new Promise((resolve) => {
    disk[until]({ durable: (isDurable) => resolve(isDurable ? undefined : DISK_FAILED) });
  });
}

function whenReplicated({ replication, config }: ServerState, engine: Engine): Promise<Refused | undefined> {
  const { replicateBeforeReply, replicateTimeoutMs } = config;
  return new Promise((resolve) => {
    const replicated = (isReplicated: boolean) =>
      resolve(isReplicated ? undefined : unreplicated(replicateBeforeReply, replicateTimeoutMs));
    replication.held?.hold({ replicated }, engine);
  });
}
