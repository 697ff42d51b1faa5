/** The entry point of the gRPC load's own process; see load/load-process.ts. */
import type { LoadReport } from '../load/load-job.js';
import { type GrpcJob, generateGrpcLoad } from './grpc-load.js';

process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit(1));
process.once('message', async (job: GrpcJob) => {
  const report: LoadReport = await generateGrpcLoad(job).then(
    (result) => ({ result }),
    (error: Error) => ({ error: error.message }),
  );
  process.send!(report, () => process.exit(0));
});
