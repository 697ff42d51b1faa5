import type { Command } from 'commander';
import { type Exit, runCommand } from '../terminal/run-command.js';
import { stopSignal } from '../terminal/stop-signal.js';

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
    .option('--http <port>', 'the port of the page; 0 picks a free one', '8381')
    .addHelpText('after', EXAMPLES)
    .action((options: { http: string }) =>
      runCommand(exit, async () => {
        const stopped = stopSignal();
        const { Demo } = await import('../demo/demo.js');
        process.stdout.write('Starting three regions …\n');
        const { demo, port } = await Demo.start(Number(options.http));
        process.stdout.write(`Open http://127.0.0.1:${port}/ in a browser. Ctrl-C ends it and removes its data.\n`);
        await stopped;
        process.stdout.write('\nStopping …\n');
        await demo.stop();
        return undefined;
      }),
    );
}
