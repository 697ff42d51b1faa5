import type { Configuration } from '@quotadb/config';
import { Tick } from '../transport/tick.js';
import { TestLane, type TestSession } from './test-lane.js';

/** Commands as lines of text, for tests of commands: a line in, the reply out. */
export class CommandRunner {
  private readonly lane: TestLane;
  private readonly session: TestSession;

  constructor(settings: Partial<Configuration> = {}) {
    this.lane = new TestLane(settings);
    this.session = this.lane.open();
  }

  /** Runs one command, its words separated by single spaces. */
  run(line: string): string {
    const reply = this.session.call(...line.split(' '));
    if (this.lane.faults.length > 0) throw this.lane.faults[0];
    return reply;
  }

  /** Advances the clock and deletes expired keys, as the server's tick does. */
  advance(milliseconds: number): void {
    const { clock, lane } = this.lane;
    clock.advance(milliseconds);
    lane.engine.advanceTo(clock.now());
    lane.engine.expireSome(Tick.EXPIRE_LIMIT);
  }
}
