import { createRequire } from 'node:module';

/**
 * Lets the process end without its pool of threads. `process.exit` waits for them, and a thread that asks a silent name
 * server for the address of a peer waits ten seconds and more: containers are killed meanwhile. Listeners of `exit`
 * have run by then, and everything is written. Where koffi cannot be loaded the process waits.
 */
export function exitWithoutThreads(): void {
  if (process.platform !== 'linux') return;
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const exit = koffi.load('libc.so.6').func('void _exit(int code)');
    process.once('exit', (code) => exit(code));
  } catch {}
}
