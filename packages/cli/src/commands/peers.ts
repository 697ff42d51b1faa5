import { type Command, Option } from 'commander';
import { type Reply, textOf } from '../client/reply.js';
import { checked, withClient } from '../client/resp-client.js';
import { printJson } from '../terminal/json-output.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { alignColumns } from '../terminal/table.js';
import { namedTarget, type TargetOptions, targetOf, withTarget } from '../terminal/targets.js';

/** The columns of `list`, by the names that REPL.PEERS LIST gives them. */
const COLUMNS = ['region', 'state', 'address', 'roundTripMs', 'lagMs', 'skewMs', 'joinedPercent', 'trouble'] as const;

/** An incarnation may be digits only, and is no number. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(['region', 'state', 'address', 'incarnation', 'trouble']);

/** Until a peer has answered once. */
const UNKNOWN_AS_MINUS_ONE: ReadonlySet<string> = new Set(['roundTripMs', 'lagMs']);

const EXAMPLES = `
Examples:
  $ quotadb peers list
  $ quotadb peers list --host 10.0.1.1 --json
  $ quotadb peers add eu 10.0.1.1:7380             until the server stops; --peer of serve makes it last
  $ quotadb peers remove eu                        it is neither dialed, nor accepted, nor waited for`;

interface PeersOptions extends TargetOptions {
  readonly server?: string;
  readonly json?: boolean;
}

/** `quotadb peers …`: the regions that a running server replicates with. */
export function peersCommand(program: Command, exit: Exit): void {
  const peers = program
    .command('peers')
    .description('show and change the regions that a running server replicates with')
    .addHelpText('after', EXAMPLES);
  const add = (subcommand: string, usage: string, description: string): Command =>
    withTarget(peers.command(usage).description(description))
      .option('--json', 'as JSON')
      // Older than --host and --resp, which replace it.
      .addOption(new Option('--server <host:port>', 'where the server serves Redis clients').hideHelp())
      .action((...given: unknown[]) => {
        const command = given.at(-1) as Command;
        return runCommand(exit, () => ask([subcommand, ...command.args], command.opts<PeersOptions>()));
      });
  add('LIST', 'list', 'list them: state, round trip, lag');
  add('ADD', 'add <region> <host:port>', 'replicate with one more, until the server stops; --peer makes it last');
  add('REMOVE', 'remove <region>', 'stop replicating with one, and refuse it until it is added again');
}

async function ask(words: readonly string[], options: PeersOptions): Promise<undefined> {
  const target = options.server === undefined ? targetOf(options) : namedTarget(options.server, options);
  const reply = checked(await withClient(target, (client) => client.call('REPL.PEERS', ...words)));
  if (options.json) printJson('items' in reply ? reply.items.map(peerToJson) : { ok: true });
  else process.stdout.write('items' in reply ? table(reply.items) : 'OK\n');
}

function table(peers: readonly Reply[]): string {
  const rows = peers.map((peer) => COLUMNS.map((column) => fieldOf(peer, column)));
  return `${alignColumns([COLUMNS, ...rows]).join('\n')}\n`;
}

/** The fields of REPL.PEERS LIST are texts; those that count or measure become numbers. */
function peerToJson(peer: Reply): object {
  const entries = peer.kind === 'map' ? peer.entries : [];
  return Object.fromEntries(entries.map(([key, value]) => [textOf(key), typedField(textOf(key), textOf(value))]));
}

function typedField(name: string, text: string): string | number | boolean | null {
  if (TEXT_FIELDS.has(name)) return text;
  if (name === 'isConfigured') return text === '1';
  const isUnknown = UNKNOWN_AS_MINUS_ONE.has(name) && Number(text) < 0;
  return isUnknown ? null : Number(text);
}

function fieldOf(peer: Reply, name: string): string {
  const entries = peer.kind === 'map' ? peer.entries : [];
  const value = entries.find(([key]) => textOf(key) === name)?.[1];
  return value === undefined ? '' : textOf(value);
}
