import { Command } from 'commander';
import { Mistake } from '../config/mistake.js';
import { parseAddress } from '../config/peer-address.js';
import { environmentVariable } from '../config/table.js';
import type { Reply } from './client/reply.js';
import { RespClient } from './client/resp-client.js';
import { EXIT_FAILURE, EXIT_OK, EXIT_USAGE } from './exit-codes.js';

/** What `list` shows of a peer, under these names. */
const COLUMNS = ['region', 'state', 'address', 'roundTripMs', 'lagMs', 'skewMs', 'joinedPercent', 'trouble'] as const;

interface PeersOptions {
  readonly server: string;
  readonly password?: string;
}

/** `quotadb peers …`: the regions that a running server replicates with. */
export function peersCommand(onExitCode: (code: number) => void): Command {
  const peers = new Command('peers').description('show and change the regions that a running server replicates with');
  const on = (name: string, description: string, words: (given: readonly string[]) => readonly string[]) =>
    peers
      .command(name)
      .description(description)
      .option('--server <host:port>', 'where the server serves Redis clients', '127.0.0.1:6380')
      .option('--password <password>', `what the server asks for; ${environmentVariable('password')} names it too`)
      .action(async (...given: unknown[]) => {
        const command = given.at(-1) as Command;
        onExitCode(await runPeers(command.opts<PeersOptions>(), ['REPL.PEERS', ...words(command.args)]));
      });
  on('list', 'list them: state, round trip, lag', () => ['LIST']);
  on('add <region> <host:port>', 'replicate with one more, until the server stops; --peer makes it last', (args) => [
    'ADD',
    ...args,
  ]);
  on('remove <region>', 'stop replicating with one, and do not let it in again until it is added', (args) => [
    'REMOVE',
    ...args,
  ]);
  return peers;
}

async function runPeers({ server, password }: PeersOptions, words: readonly string[]): Promise<number> {
  try {
    const target = { ...parseAddress(server), password: password ?? process.env[environmentVariable('password')] };
    const client = await RespClient.open(target);
    try {
      const reply = await client.call(...words);
      if (reply.kind === 'error') throw new Error(reply.text);
      process.stdout.write('items' in reply ? table(reply.items) : 'OK\n');
    } finally {
      client.close();
    }
    return EXIT_OK;
  } catch (error) {
    process.stderr.write(`quotadb: ${(error as Error).message}\n`);
    return error instanceof Mistake ? EXIT_USAGE : EXIT_FAILURE;
  }
}

function table(peers: readonly Reply[]): string {
  const rows = peers.map((peer) => COLUMNS.map((column) => field(peer, column)));
  const lines = [[...COLUMNS], ...rows];
  const widths = COLUMNS.map((_, index) => Math.max(...lines.map((line) => line[index].length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((text, index) => text.padEnd(widths[index]))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function field(peer: Reply, name: string): string {
  if (peer.kind !== 'map') return '';
  const value = peer.entries.find(([key]) => 'text' in key && key.text === name)?.[1];
  return value !== undefined && 'text' in value ? value.text : '';
}
