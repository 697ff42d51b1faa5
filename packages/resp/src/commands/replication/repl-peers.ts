import { checkServerName, Mistake, parseAddress } from '@quotadb/config';
import { errors } from '../../errors/errors.js';
import { replyMap } from '../../reply/values.js';
import { textArgument } from '../../request/arguments.js';
import type { ReplicationRequest } from '../../services/lane-replication.js';
import type { PeerDescription } from '../../services/replication-description.js';
import type { Call, Command } from '../../session/command.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';
import { askReplication } from './ask-replication.js';

const define = defineFamily({ flags: ['admin', 'no_multi'], group: 'replication', since: '0.1.0' });

const list = define({
  name: 'list',
  arity: 2,
  flags: ['readonly'],
  summary: 'Lists the regions this one replicates with: state, lag, figures.',
  complexity: 'O(N) with N being the number of peers',
  run({ reply, server }) {
    const peers = server.replication.describe()?.peers ?? [];
    reply.array(peers.length);
    for (const peer of peers) {
      const fields = Object.entries(flatten(peer)).map(([name, value]) => [name, String(value)] as const);
      replyMap(reply, fields);
    }
  },
});

const add = define({
  name: 'add',
  arity: 4,
  summary: 'Replicates with another region until the server stops; --peer makes it permanent.',
  syntax: 'region host:port',
  run: (call) =>
    change(call, () => ({
      kind: 'addPeer',
      region: checkServerName(textArgument(call.request, 2)),
      ...parseAddress(textArgument(call.request, 3)),
    })),
});

const remove = define({
  name: 'remove',
  arity: 3,
  summary: 'Stops replicating with a region: no connections, no acknowledgements to wait for, no age.',
  syntax: 'region',
  run: (call) => change(call, () => ({ kind: 'removePeer', region: checkServerName(textArgument(call.request, 2)) })),
});

export const replPeers: Command = container({
  name: 'repl.peers',
  group: 'replication',
  summary: 'Shows and changes the regions this one replicates with.',
  since: '0.1.0',
  subcommands: [list, add, remove],
});

function change(call: Call, readRequest: () => ReplicationRequest): void {
  let request: ReplicationRequest;
  try {
    request = readRequest();
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    call.reply.error(errors.replication(error.message));
    return;
  }
  askReplication(call, request, (resumed) => resumed.reply.ok());
}

function flatten({ figures, isConfigured, ...peer }: PeerDescription): Record<string, string | number> {
  const { batchSizesOut: _, ...numbers } = figures;
  return { ...peer, isConfigured: isConfigured ? 1 : 0, ...numbers };
}
