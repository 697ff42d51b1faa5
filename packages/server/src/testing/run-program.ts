import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, without a terminal and without input. */
export async function runProgram(
  program: string,
  words: readonly string[],
  options: SpawnOptions = {},
): Promise<ProgramResult> {
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}
