import { readdirSync, readFileSync } from 'node:fs';

/**
 * The CPU time a process has used, from outside it.
 *
 * /proc/PID/task/TID/schedstat counts nanoseconds per thread; /proc/PID/stat only ticks of 10 ms, which is too coarse
 * for runs of a second, and is used only where the kernel keeps no schedstat. Threads are compared one by one: one
 * that ended in between would otherwise take its whole past away from the sum.
 */
export type CpuSample = ReadonlyMap<string, number>;

const CLOCK_TICKS_PER_SECOND = 100;
const WHOLE_PROCESS = 'process';
/** Positions after the command name, whose parentheses may hold anything. */
const USER_TICKS_FIELD = 11;
const SYSTEM_TICKS_FIELD = 12;

/** Undefined where there is no /proc (not Linux) or no such process. */
export function sampleCpu(pid: number): CpuSample | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).map(
      (thread) => [thread, threadMicroseconds(pid, thread)] as const,
    );
    const known = threads.filter((thread): thread is [string, number] => thread[1] !== undefined);
    if (known.length > 0) return new Map(known);
    return new Map([[WHOLE_PROCESS, parseProcessMicroseconds(readFileSync(`/proc/${pid}/stat`, 'latin1'))]]);
  } catch {
    return undefined;
  }
}

/** Undefined where the thread ended since it was listed, or this kernel has no schedstat. */
function threadMicroseconds(pid: number, thread: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0]) / 1000;
  } catch {
    return undefined;
  }
}

/** Undefined where one of the samples is. */
export function cpuMicrosecondsBetween(before: CpuSample | undefined, after: CpuSample | undefined) {
  if (before === undefined || after === undefined) return undefined;
  let microseconds = 0;
  for (const [thread, used] of after) microseconds += used - (before.get(thread) ?? 0);
  return microseconds;
}

export function parseProcessMicroseconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[USER_TICKS_FIELD]) + Number(fields[SYSTEM_TICKS_FIELD]);
  return (ticks * 1_000_000) / CLOCK_TICKS_PER_SECOND;
}
