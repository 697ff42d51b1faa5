import { integer } from '@quotadb/config';
import type { Command } from 'commander';
import { commandLine } from '../terminal/next-step.js';
import { parseIn } from '../terminal/parse-in.js';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { stopSignal } from '../terminal/stop-signal.js';

const USUAL_PORT = 8381;
const port = integer('port', 0, 65_535);

const EXAMPLES = `
Examples:
  $ quotadb demo                                   then open the address it prints; Ctrl-C ends everything
  $ quotadb demo --http 9000`;

/** `quotadb demo`: runs until Ctrl-C. */
export function demoCommand(program: Command, exit: Exit): void {
  program
    .command('demo')
    .description(
      'three regions on this machine with clients in each, and a page where links can be cut and regions killed',
    )
    .option('--http <port>', `the port of the page; without it ${USUAL_PORT}, or a free one where that is taken`)
    .addHelpText('after', EXAMPLES)
    .action((options: { http?: string }) => runCommand(exit, () => runDemo(options.http)));
}

async function runDemo(http: string | undefined): Promise<undefined> {
  const wanted = http === undefined ? [USUAL_PORT, 0] : [parseIn('--http', port, http)];
  // SIGHUP comes when the terminal is closed: the regions must not outlive it.
  const stopped = stopSignal(['SIGINT', 'SIGTERM', 'SIGHUP']);
  const { Demo } = await import('../demo/demo.js');
  process.stdout.write('Starting three regions …\n');
  const { demo, port: bound } = await Demo.start(wanted);
  process.stdout.write(`Open http://127.0.0.1:${bound}/ in a browser. Ctrl-C ends it and removes its data.\n\n`);
  for (const { name, resp } of demo.addresses())
    process.stdout.write(`  region ${name}   redis-cli -p ${resp}   or   ${commandLine('cli', '-p', String(resp))}\n`);
  await stopped;
  process.stdout.write('\nStopping …\n');
  await demo.stop();
}
