import { EXIT_FAILURE, EXIT_OK, EXIT_UNREACHABLE, EXIT_USAGE } from './exit-codes.js';

/** Receives the exit code of the process. */
export type Exit = (code: number) => void;

/** A command that cannot be done; the message says why. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/**
 * Errors whose message is all that the user needs. They are matched by name, because most of their packages load with
 * the one command that needs them.
 */
const EXIT_CODES: Readonly<Record<string, number>> = {
  Mistake: EXIT_USAGE,
  Unreachable: EXIT_UNREACHABLE,
  Refused: EXIT_FAILURE,
  Failure: EXIT_FAILURE,
  StorageError: EXIT_FAILURE,
  CertificatesError: EXIT_FAILURE,
  DocumentError: EXIT_FAILURE,
  EtcdRefused: EXIT_FAILURE,
  EtcdUnreachable: EXIT_UNREACHABLE,
};

/** Runs a command. An expected error becomes a line on standard error and an exit code; a bug throws. */
export async function runCommand(exit: Exit, run: () => Promise<number | undefined>): Promise<void> {
  let result: number;
  try {
    result = (await run()) ?? EXIT_OK;
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    const expected = EXIT_CODES[name] ?? (code === undefined ? undefined : EXIT_FAILURE);
    if (expected === undefined) throw error;
    process.stderr.write(`quotadb: ${message}\n`);
    result = expected;
  }
  // A long output may still be on its way through a pipe.
  const { stdout } = process;
  if (stdout.writableLength > 0) await new Promise((resolve) => stdout.write('', resolve));
  exit(result);
}
