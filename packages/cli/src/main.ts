import { buildProgram } from './program/program.js';
import { EXIT_FAILURE } from './terminal/exit-codes.js';
import { PackageMissing } from './terminal/optional-package.js';

/** Exits when the work is done: a connection that a client left open must not keep the process alive. */
try {
  await buildProgram((code) => process.exit(code)).parseAsync();
} catch (error) {
  if (!(error instanceof PackageMissing)) throw error;
  process.stderr.write(`quotadb: ${error.message}\n`);
  process.exit(EXIT_FAILURE);
}
