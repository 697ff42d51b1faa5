import type { NodeProcess } from '../world/process.js';

/** Between two looks at a process that is paused. */
const PAUSED_MS = 10;

/** Timers of one process: they never fire after it has ended, and while it is paused they wait. */
export class ProcessTime {
  private readonly process: NodeProcess;

  constructor(process: NodeProcess) {
    this.process = process;
  }

  readonly monotonicMs = (): number => this.process.monotonicMs();
  readonly wallMs = (): number => this.process.node.wallMs();
  readonly now = (): number => this.process.monotonicMs();

  readonly after = (delayMs: number, run: () => void): (() => void) => {
    const { scheduler } = this.process.node.cluster;
    let isOff = false;
    const due = (): void => {
      if (isOff || !this.process.isRunning) return;
      if (this.process.isPaused) {
        scheduler.after(PAUSED_MS, due);
        return;
      }
      scheduler.settled();
      run();
    };
    scheduler.after(delayMs, due);
    return () => {
      isOff = true;
    };
  };

  readonly sleep = (delayMs: number): Promise<void> =>
    new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
}
