import { Demo } from '../demo/demo.js';
import { EXIT_FAILURE, EXIT_OK } from '../terminal/exit-codes.js';
import { stopSignal } from '../terminal/stop-signal.js';

/** Runs until Ctrl-C. */
export async function runDemo(port: number): Promise<number> {
  const stopped = stopSignal();
  process.stdout.write('Starting three regions …\n');
  try {
    const { demo, port: actual } = await Demo.start(port);
    process.stdout.write(`Open http://127.0.0.1:${actual}/ in a browser. Ctrl-C ends it and leaves nothing behind.\n`);
    await stopped;
    process.stdout.write('\nStopping …\n');
    await demo.stop();
    return EXIT_OK;
  } catch (error) {
    process.stderr.write(`quotadb: ${(error as Error).message}\n`);
    return EXIT_FAILURE;
  }
}
