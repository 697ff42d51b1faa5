import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Configuration } from '../config/table.js';
import type { Identity } from '../server-state.js';
import type { Libc } from '../transport/epoll/libc.js';
import { openListener } from '../transport/epoll/listener.js';
import type { Transport } from '../transport/transport.js';
import type { FromLane, LaneStart, ToLane } from './messages.js';
import { SharedControl } from './shared-control.js';
import { wakeLane } from './wake.js';

/** Workers run what was built, also when this file runs from its source. */
const WORKER = new URL('../../dist/lanes/lane-worker.js', import.meta.url);

export interface EpollLanesOptions {
  readonly libc: Libc;
  readonly laneCount: number;
  readonly store: SharedArrayBuffer;
  readonly config: Configuration;
  readonly identity: Identity;
  readonly maximumBulkBytes: number;
  readonly reportFault: (fault: { error: string; client: number; command: string }) => void;
  /** A lane died; its connections are gone and the store may be in mid-change. */
  readonly laneDied: (error: unknown) => void;
}

/** A question on its way: who asked, and what the lanes have answered so far. */
interface Round {
  readonly from: number;
  readonly id: number;
  readonly answers: unknown[];
}

/** N threads on one store, each with an epoll loop of its own; the main thread starts, stops and connects them. */
export class EpollLanes implements Transport {
  readonly name = 'epoll';
  readonly laneCount: number;

  private readonly options: EpollLanesOptions;
  private readonly control: SharedControl;
  private readonly workers: Worker[] = [];
  private readonly rounds = new Map<number, Round>();
  private nextRound = 1;
  private listener = -1;
  private closing = false;

  constructor(options: EpollLanesOptions) {
    this.options = options;
    this.laneCount = options.laneCount;
    this.control = new SharedControl(options.laneCount);
  }

  async listen(host: string, port: number): Promise<number> {
    const { libc } = this.options;
    const listener = await openListener(libc, host, port);
    this.listener = listener.fd;
    this.options.identity.respPort = listener.port;
    await Promise.all(Array.from({ length: this.laneCount }, (_, lane) => this.startLane(lane)));
    return listener.port;
  }

  async close(withinMs: number): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    const gone = this.workers.map((worker) => once(worker, 'exit'));
    for (let lane = 0; lane < this.workers.length; lane++) this.tell(lane, { kind: 'stop', withinMs });
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs + STOP_SLACK_MS);
    });
    await Promise.race([Promise.all(gone), bound]);
    clearTimeout(timer);
    await Promise.all(this.workers.map((worker) => worker.terminate()));
    if (this.listener !== -1) this.options.libc.close(this.listener);
    this.listener = -1;
  }

  private startLane(laneIndex: number): Promise<void> {
    const { store, config, identity, maximumBulkBytes } = this.options;
    const start: LaneStart = {
      laneIndex,
      laneCount: this.laneCount,
      store,
      control: this.control.buffer,
      config: { ...config },
      identity: { ...identity },
      listener: this.listener,
      maximumBulkBytes,
    };
    // Flags of the main thread, such as import conditions of a test runner, are not for what was built.
    const worker = new Worker(WORKER, { workerData: start, name: `lane-${laneIndex}`, execArgv: [] });
    this.workers.push(worker);
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromLane) => {
        if (message.kind === 'ready') resolve();
        else this.hear(laneIndex, message);
      });
      worker.on('error', (error) => {
        reject(error);
        if (!this.closing) this.options.laneDied(error);
      });
    });
  }

  private hear(lane: number, message: Exclude<FromLane, { kind: 'ready' }>): void {
    if (message.kind === 'question') {
      const round = this.nextRound++;
      this.rounds.set(round, { from: lane, id: message.id, answers: [] });
      for (let to = 0; to < this.laneCount; to++) {
        this.tell(to, { kind: 'question', id: round, from: lane, name: message.name, ask: message.ask });
      }
    } else if (message.kind === 'answer') {
      this.collect(message.id, message.answer);
    } else {
      this.options.reportFault(message);
    }
  }

  private collect(number: number, answer: unknown): void {
    const round = this.rounds.get(number);
    if (round === undefined) return;
    round.answers.push(answer);
    if (round.answers.length < this.laneCount) return;
    this.rounds.delete(number);
    this.tell(round.from, { kind: 'answers', id: round.id, answers: round.answers });
  }

  private tell(lane: number, message: ToLane): void {
    this.workers[lane].postMessage(message);
    wakeLane(this.options.libc, this.control, lane);
  }
}

/** A lane notices within a tick that its time is over. */
const STOP_SLACK_MS = 500;
