import { Command, Option } from 'commander';
import { replyToJson } from '../client/format.js';
import type { Reply } from '../client/reply.js';
import { Refused, RespClient, type Target } from '../client/resp-client.js';
import { EXIT_OK } from '../terminal/exit-codes.js';
import { guarded, namedTarget, type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';

/** What `list` shows of a peer, under these names. */
const COLUMNS = ['region', 'state', 'address', 'roundTripMs', 'lagMs', 'skewMs', 'joinedPercent', 'trouble'] as const;

const EXAMPLES = `
Examples:
  $ quotadb peers list
  $ quotadb peers list --host 10.0.1.1 --json
  $ quotadb peers add eu 10.0.1.1:7380             until the server stops; --peer of serve makes it last
  $ quotadb peers remove eu                        it is not dialed, not let in, not waited for`;

interface PeersOptions extends TargetOptions {
  readonly server?: string;
  readonly json?: boolean;
}

/** `quotadb peers …`: the regions that a running server replicates with. */
export function peersCommand(onExitCode: (code: number) => void): Command {
  const peers = new Command('peers')
    .description('show and change the regions that a running server replicates with')
    .addHelpText('after', EXAMPLES);
  const on = (name: string, description: string, words: (given: readonly string[]) => readonly string[]): Command => {
    const command = withTarget(peers.command(name).description(description));
    // What --host and --resp say in one; it was there before them.
    command.addOption(new Option('--server <host:port>', 'where the server serves Redis clients').hideHelp());
    return command.action(async (...given: unknown[]) => {
      const { args } = given.at(-1) as Command;
      const options = (given.at(-1) as Command).opts<PeersOptions>();
      onExitCode(
        await guarded(() => {
          const target = options.server === undefined ? targetOf(options) : namedTarget(options.server, options);
          return runPeers(target, ['REPL.PEERS', ...words(args)], options.json === true);
        }),
      );
    });
  };
  on('list', 'list them: state, round trip, lag', () => ['LIST']).option('--json', 'as JSON');
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

async function runPeers(target: Target, words: readonly string[], asJson: boolean): Promise<number> {
  const client = await RespClient.open(target);
  try {
    const reply = await client.call(...words);
    if (reply.kind === 'error') throw new Refused(reply.text);
    if (asJson) process.stdout.write(`${JSON.stringify(replyToJson(reply))}\n`);
    else process.stdout.write('items' in reply ? table(reply.items) : 'OK\n');
  } finally {
    client.close();
  }
  return EXIT_OK;
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
