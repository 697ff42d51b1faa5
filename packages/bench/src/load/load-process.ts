/**
 * The entry point of the load generator's own process: takes one job from its parent, sends back what it measured, and
 * ends. Ends too when the parent does, so that no load outlives the bench.
 */
import { generateLoad } from './generate-load.js';
import type { LoadJob, LoadReport } from './load-job.js';

// Ctrl-C reaches every process of the terminal; the parent decides which process ends, and when.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit(1));
process.once('message', async (job: LoadJob) => {
  const report: LoadReport = await generateLoad(job).then(
    (result) => ({ result }),
    (error: Error) => ({ error: error.message }),
  );
  process.send!(report, () => process.exit(0));
});
