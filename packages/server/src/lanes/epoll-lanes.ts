import { Worker } from 'node:worker_threads';
import type { Engine } from '@quotadb/engine';
import { answerAtDoor } from '../access/door.js';
import type { Configuration } from '../config/table.js';
import type { Persistence } from '../durability/persistence.js';
import type { QuotaService } from '../quotas/service.js';
import type { ReplicationService } from '../replication/service.js';
import type { Identity, ServerState } from '../server-state.js';
import type { Certificates } from '../tls/certificates.js';
import type { Libc } from '../transport/epoll/libc.js';
import { openListener } from '../transport/epoll/listener.js';
import { MemoryAhead } from '../transport/epoll/memory-ahead.js';
import type { NetTransport } from '../transport/net-transport.js';
import type { Transport } from '../transport/transport.js';
import { answer } from './lanes.js';
import type { FromLane, LaneStart, ToLane } from './messages.js';
import type { QuestionName, Questions } from './questions.js';
import type { SharedControl } from './shared-control.js';
import { openWakeDescriptor, wakeLane } from './wake.js';

/** Workers run what was built, also when this file runs from its source. */
const WORKER = new URL('../../dist/lanes/lane-worker.js', import.meta.url);

export interface EpollLanesOptions {
  readonly libc: Libc;
  readonly laneCount: number;
  readonly control: SharedControl;
  readonly engine: Engine;
  readonly config: Configuration;
  readonly identity: Identity;
  readonly maximumBulkBytes: number;
  readonly replication: ReplicationService;
  readonly quotas: QuotaService;
  /** What the main thread keeps for itself; told of changes that concern everybody. */
  readonly main: ServerState;
  /** The main thread as one more lane, for clients that use TLS; their questions and answers go through it too. */
  readonly mainLane?: NetTransport | undefined;
  readonly persistence?: Persistence | undefined;
  readonly reportFault: (fault: { error: string; client: number; command: string }) => void;
  readonly warn: (text: string) => void;
  /** A lane died; its connections are gone and the store may be in mid-change. */
  readonly laneDied: (error: unknown) => void;
}

interface LaneThread {
  readonly worker: Worker;
  readonly ended: Promise<void>;
}

/** A question on its way: whom to tell, and what the lanes have answered so far. */
interface Round {
  readonly answered: (answers: unknown[]) => void;
  readonly answers: unknown[];
  readonly expected: number;
}

/** N threads on one store, each with an epoll loop of its own; the main thread starts, stops and connects them. */
export class EpollLanes implements Transport {
  readonly name = 'epoll';
  readonly laneCount: number;

  private readonly options: EpollLanesOptions;
  private readonly control: SharedControl;
  private readonly threads: LaneThread[] = [];
  private readonly rounds = new Map<number, Round>();
  private nextRound = 1;
  private listener = -1;
  private memoryAhead: MemoryAhead | undefined = undefined;
  private closing = false;
  /** Whether somebody beside the lanes uses the store. */
  private isShared: boolean;
  private sharing: Promise<void> | undefined = undefined;
  private readonly unshared = new Map<number, () => void>();

  constructor(options: EpollLanesOptions) {
    this.options = options;
    this.laneCount = options.laneCount;
    this.control = options.control;
    // The main thread uses the store too where there is a disk, or clients that use TLS.
    this.isShared = options.persistence !== undefined || options.mainLane !== undefined;
    options.persistence?.flushes.subscribe({
      diskReleased: () => {
        options.main.disk.settle();
        this.wakeWaiting();
      },
    });
    options.quotas.onPolicies = (policies) => {
      for (const lane of this.threads.keys()) this.send(lane, { kind: 'policies', policies });
    };
    options.replication.onAcknowledged = () => {
      options.main.replication.settle();
      this.wakeAll();
    };
  }

  async listen(host: string, port: number): Promise<number> {
    const { libc } = this.options;
    const listener = await openListener(libc, host, port);
    this.listener = listener.fd;
    this.options.identity.respPort = listener.port;
    for (let lane = 0; lane < this.laneCount; lane++) this.control.setWakeDescriptor(lane, openWakeDescriptor(libc));
    await Promise.all(Array.from({ length: this.laneCount }, (_, lane) => this.startLane(lane)));
    this.memoryAhead = new MemoryAhead(libc, this.options.engine);
    return listener.port;
  }

  share(): Promise<void> {
    this.sharing ??= this.shareNow();
    return this.sharing;
  }

  private async shareNow(): Promise<void> {
    const isNews = !this.isShared && this.laneCount === 1;
    this.isShared = true;
    if (!isNews) return;
    const shared = this.threads.map((_, lane) => new Promise<void>((resolve) => this.unshared.set(lane, resolve)));
    for (const lane of this.threads.keys()) this.send(lane, { kind: 'share' });
    await Promise.all(shared);
  }

  listenSecurely(host: string, port: number, certificates: Certificates): Promise<number> {
    const { mainLane } = this.options;
    if (mainLane === undefined) throw new Error('there is no lane for TLS');
    return mainLane.listenSecurely(host, port, certificates);
  }

  async close(withinMs: number): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    this.memoryAhead?.stop();
    // From here on clients that connect are refused, however busy the lane that accepts.
    if (this.listener !== -1) this.options.libc.shutdown(this.listener, SHUTDOWN_BOTH);
    for (let lane = 0; lane < this.threads.length; lane++) this.send(lane, { kind: 'stop', withinMs });
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs + STOP_SLACK_MS);
    });
    const secured = this.options.mainLane?.close(withinMs);
    await Promise.race([Promise.all([secured, ...this.threads.map(({ ended }) => ended)]), bound]);
    clearTimeout(timer);
    await Promise.all(this.threads.map(({ worker }) => worker.terminate()));
    this.closeDescriptors();
  }

  ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
  ): Promise<readonly Questions[Name]['answer'][]> {
    if (this.closing || this.threads.length < this.laneCount) return Promise.resolve([]);
    return new Promise((resolve) => {
      this.askAll(name, question, (answers) => resolve(answers as Questions[Name]['answer'][]));
    });
  }

  private startLane(laneIndex: number): Promise<void> {
    const { engine, config, identity, maximumBulkBytes, persistence, replication, quotas } = this.options;
    const start: LaneStart = {
      laneIndex,
      laneCount: this.laneCount,
      hasMainLane: this.options.mainLane !== undefined,
      store: engine.buffer as SharedArrayBuffer,
      control: this.control.buffer,
      config: { ...config },
      identity: { ...identity },
      listener: this.listener,
      maximumBulkBytes,
      disk: persistence?.board.buffer,
      log: persistence?.sharedLog,
      replication: replication.board.buffer,
      policies: quotas.policies,
      isExclusive: this.laneCount === 1 && !this.isShared,
    };
    // Flags of the main thread, such as import conditions of a test runner, are not for what was built.
    const worker = new Worker(WORKER, { workerData: start, name: `lane-${laneIndex}`, execArgv: [] });
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    this.threads.push({ worker, ended });
    return new Promise((resolve, reject) => {
      let isReady = false;
      let failure: unknown;
      worker.on('message', (message: FromLane) => {
        if (message.kind === 'ready') {
          isReady = true;
          resolve();
        } else {
          this.hear(laneIndex, message);
        }
      });
      worker.on('error', (error) => {
        failure = error;
      });
      worker.on('exit', (code) => {
        const error = failure instanceof Error ? failure : new Error(`it ended with code ${code}`);
        if (!isReady) reject(new Error(`lane ${laneIndex} did not start: ${error.message}`, { cause: error }));
        else if (!this.closing) this.options.laneDied(error);
      });
    });
  }

  /** The lanes are gone; so are, soon, connections that were on their way from one to another. */
  private closeDescriptors(): void {
    const { libc } = this.options;
    for (let lane = 0; lane < this.laneCount; lane++) {
      for (let fd = this.control.take(lane); fd !== -1; fd = this.control.take(lane)) libc.close(fd);
      const wakeDescriptor = this.control.wakeDescriptor(lane);
      if (wakeDescriptor !== -1) libc.close(wakeDescriptor);
      this.control.setWakeDescriptor(lane, -1);
    }
    if (this.listener !== -1) libc.close(this.listener);
    this.listener = -1;
  }

  private hear(lane: number, message: Exclude<FromLane, { kind: 'ready' }>): void {
    if (message.kind === 'question') {
      const { id, name, ask } = message;
      this.askAll(name, ask, (answers) => this.send(lane, { kind: 'answers', id, answers }));
    } else if (message.kind === 'order') {
      this.tellMain(message.name, message.ask);
      for (let to = 0; to < this.laneCount; to++) if (to !== lane) this.send(to, message);
    } else if (message.kind === 'warning') {
      this.options.warn(message.text);
    } else if (message.kind === 'flush') {
      this.options.persistence?.signal();
    } else if (message.kind === 'door') {
      const { id, request } = message;
      answerAtDoor(this.options.main.door, request, (answer) => this.send(lane, { kind: 'doorAnswer', id, answer }));
    } else if (message.kind === 'disk') {
      const { id, request } = message;
      this.options.persistence?.ask(request, (error) => this.send(lane, { kind: 'diskAnswer', id, error }));
    } else if (message.kind === 'replication') {
      const { id, request } = message;
      this.options.replication.ask(request, (answer) => this.send(lane, { kind: 'replicationAnswer', id, answer }));
    } else if (message.kind === 'quota') {
      const { id, request } = message;
      this.options.quotas.ask(request, (answer) => this.send(lane, { kind: 'quotaAnswer', id, answer }));
    } else if (message.kind === 'foresee') {
      this.options.quotas.foresee(message.cell, message.target);
    } else if (message.kind === 'shared') {
      this.unshared.get(lane)?.();
    } else if (message.kind === 'answer') {
      this.collect(message.id, message.answer);
    } else {
      this.options.reportFault(message);
    }
  }

  private askAll(name: QuestionName, ask: unknown, answered: (answers: unknown[]) => void): void {
    const answers = this.tellMain(name, ask);
    const round = this.nextRound++;
    this.rounds.set(round, { answered, answers, expected: answers.length + this.laneCount });
    for (let to = 0; to < this.laneCount; to++) this.send(to, { kind: 'question', id: round, name, ask });
  }

  /** What the main thread answers: nothing, unless it is a lane itself. Some questions change what it keeps anyway. */
  private tellMain(name: QuestionName, ask: unknown): unknown[] {
    const { main, mainLane } = this.options;
    if (mainLane !== undefined) return [answer(main, name, ask as never)];
    if (name === 'configure' || name === 'users') answer(main, name, ask as never);
    return [];
  }

  /** The lanes as the main thread sees them, where it is one itself. */
  tell(name: QuestionName, ask: unknown): void {
    for (let to = 0; to < this.laneCount; to++) this.send(to, { kind: 'order', name, ask });
  }

  private collect(number: number, answer: unknown): void {
    const round = this.rounds.get(number);
    if (round === undefined) return;
    round.answers.push(answer);
    if (round.answers.length < round.expected) return;
    this.rounds.delete(number);
    round.answered(round.answers);
  }

  /** Tickets are complete: those who wait for one look. */
  private wakeWaiting(): void {
    const { libc, persistence } = this.options;
    for (let lane = 0; lane < this.threads.length; lane++) {
      if (persistence?.board.isWaiting(lane)) wakeLane(libc, this.control, lane);
    }
  }

  /** The lanes look at what has happened. */
  private wakeAll(): void {
    for (let lane = 0; lane < this.threads.length; lane++) wakeLane(this.options.libc, this.control, lane);
  }

  private send(lane: number, message: ToLane): void {
    if (this.listener === -1) return;
    this.threads[lane].worker.postMessage(message);
    wakeLane(this.options.libc, this.control, lane);
  }
}

const SHUTDOWN_BOTH = 2;

/** A lane notices within a tick that its time is over. */
const STOP_SLACK_MS = 500;
