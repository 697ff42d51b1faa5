import { buildProgram } from './program/program.js';

/** Exits by itself: what a client left open must not keep the process alive once the work is done. */
await buildProgram((code) => process.exit(code)).parseAsync();
