import type { ServerState } from '../server-state.js';
import { WindowProblem } from './windows/problems.js';

/** Done when what was changed so far is as durable as this server promises before it answers. */
export function waitForDisk({ disk }: ServerState): Promise<void> {
  if (!disk.holdsReplies) return Promise.resolve();
  return new Promise((resolve, reject) => {
    disk.wait({ durable: (isDurable) => (isDurable ? resolve() : reject(new WindowProblem('disk_failed'))) });
  });
}
