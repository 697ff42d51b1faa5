import { buildProgram } from './program/program.js';

// Exits when the command is done: a connection that a client left open must not keep the process alive.
await buildProgram((code) => process.exit(code)).parseAsync();
