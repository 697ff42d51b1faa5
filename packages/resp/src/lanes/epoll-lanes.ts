import type { Worker } from 'node:worker_threads';
import type { Configuration } from '@quotadb/config';
import type { Engine, StoreUse } from '@quotadb/engine';
import { answer } from '../questions/answers.js';
import { Channel, type ChannelMessage, type ServiceHandlers } from '../services/channel.js';
import { DiskBoard } from '../services/disk-board.js';
import type { PublishedPolicies } from '../services/lane-quotas.js';
import type { MainServices } from '../services/main-services.js';
import type { QuestionName, Questions } from '../session/questions.js';
import type { Identity, ServerState } from '../session/server-state.js';
import type { Libc } from '../transport/epoll/libc.js';
import { openListener } from '../transport/epoll/listener.js';
import { MemoryAhead } from '../transport/epoll/memory-ahead.js';
import type { NetTransport } from '../transport/net/net-transport.js';
import type { CertificateSource, Transport } from '../transport/transport.js';
import { takeLaneThread } from './lane-threads.js';
import type { Fault, LaneQuestion, LaneServices, LaneStart, SharedBoards, ThreadServices } from './messages.js';
import type { SharedControl } from './shared-control.js';
import { openWakeDescriptor, wakeLane } from './wake.js';

export interface EpollLanesOptions {
  readonly libc: Libc;
  readonly laneCount: number;
  readonly control: SharedControl;
  readonly engine: Engine;
  readonly config: Configuration;
  readonly identity: Identity;
  readonly maximumBulkBytes: number;
  /** The services of the main thread. */
  readonly services: ServiceHandlers<MainServices>;
  readonly boards: SharedBoards;
  readonly policies: () => PublishedPolicies;
  /** The main thread's own state, which `configure` and `users` change too. */
  readonly main: ServerState;
  /** The main thread as one more lane, for clients that use TLS. */
  readonly mainLane?: NetTransport | undefined;
  readonly reportFault: (fault: Fault) => void;
  readonly warn: (text: string) => void;
  readonly logScript: (level: number, text: string) => void;
  /** A lane died: its connections are lost, and its last change to the store may be incomplete. */
  readonly laneDied: (error: unknown) => void;
}

interface LaneThread {
  readonly worker: Worker;
  readonly channel: Channel<ThreadServices, LaneServices>;
  readonly ended: Promise<void>;
}

/** N threads on one store, each with an epoll loop of its own; the main thread starts, stops and connects them. */
export class EpollLanes implements Transport {
  readonly name = 'epoll';
  readonly laneCount: number;

  private readonly options: EpollLanesOptions;
  private readonly control: SharedControl;
  private readonly threads: LaneThread[] = [];
  private listener = -1;
  private memoryAhead: MemoryAhead | undefined = undefined;
  private closing = false;
  /** Whether the main thread uses the store too, or there are several lanes. */
  private isShared: boolean;
  private sharing: Promise<void> | undefined = undefined;

  constructor(options: EpollLanesOptions) {
    this.options = options;
    this.laneCount = options.laneCount;
    this.control = options.control;
    // The main thread uses the store too for clients with TLS; for a disk it visits, and the lane is the resident.
    this.isShared = options.mainLane !== undefined || this.laneCount > 1;
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
    if (this.isShared) return;
    this.isShared = true;
    await Promise.all(
      this.lanes().map((lane) => new Promise((resolve) => this.threads[lane].channel.ask('share', null, resolve))),
    );
    this.options.engine.endVisits();
  }

  private get use(): StoreUse {
    if (this.isShared) return 'shared';
    return this.options.boards.disk === undefined ? 'exclusive' : 'resident';
  }

  listenSecurely(host: string, port: number, certificates: CertificateSource): Promise<number> {
    const { mainLane } = this.options;
    if (mainLane === undefined)
      throw new Error('the main thread has no lane for TLS: --resp-tls was not set at the start');
    return mainLane.listenSecurely(host, port, certificates);
  }

  async close(withinMs: number): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    this.memoryAhead?.stop();
    // From here on the system refuses new connections, even where the accepting lane is busy.
    if (this.listener !== -1) this.options.libc.shutdown(this.listener, SHUTDOWN_BOTH);
    for (const lane of this.lanes()) this.threads[lane].channel.ask('stop', { withinMs });
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
      this.askEvery({ name, ask: question }, (answers) => resolve(answers as Questions[Name]['answer'][]));
    });
  }

  private startLane(laneIndex: number): Promise<void> {
    const { engine, config, identity, maximumBulkBytes, boards, policies } = this.options;
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
      boards,
      policies: policies(),
      use: this.use,
    };
    if (start.use === 'resident') engine.beginVisits();
    const worker = takeLaneThread(laneIndex);
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    return new Promise((resolve, reject) => {
      let isReady = false;
      let failure: unknown;
      const post = (messages: readonly ChannelMessage[]) => this.send(laneIndex, messages);
      const services: ServiceHandlers<ThreadServices> = {
        ...this.options.services,
        everyLane: (question, answered) => this.askEvery(question, answered),
        otherLanes: (question) => {
          this.answerHere(question);
          for (const other of this.lanes())
            if (other !== laneIndex) this.threads[other].channel.ask('question', question);
        },
        ready: () => {
          isReady = true;
          resolve();
        },
        warning: (text) => this.options.warn(text),
        scriptLog: ({ level, text }) => this.options.logScript(level, text),
        fault: (fault) => this.options.reportFault(fault),
      };
      const channel = new Channel<ThreadServices, LaneServices>(post, services, () => {
        queueMicrotask(() => channel.flush());
      });
      this.threads[laneIndex] = { worker, channel, ended };
      worker.on('message', (messages: readonly ChannelMessage[]) => channel.receive(messages));
      worker.on('error', (error) => {
        failure = error;
      });
      worker.on('exit', (code) => {
        const error = failure instanceof Error ? failure : new Error(`its thread ended with code ${code}`);
        if (!isReady) reject(new Error(`lane ${laneIndex} did not start: ${error.message}`, { cause: error }));
        else if (!this.closing) this.options.laneDied(error);
      });
      worker.postMessage(start);
    });
  }

  /** After the end of all lanes: also closes connections that were on their way from one lane to another. */
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

  private askEvery(question: LaneQuestion, answered: (answers: unknown[]) => void): void {
    const answers = this.answerHere(question);
    const expected = answers.length + this.laneCount;
    for (const lane of this.lanes()) {
      this.threads[lane].channel.ask('question', question, (answer) => {
        answers.push(answer);
        if (answers.length === expected) answered(answers);
      });
    }
  }

  /** The main thread's own answer, where it is a lane too. Questions that change its state run in any case. */
  private answerHere({ name, ask }: LaneQuestion): unknown[] {
    const { main, mainLane } = this.options;
    if (mainLane !== undefined) return [answer(main, name, ask as never)];
    if (name === 'configure' || name === 'users') answer(main, name, ask as never);
    return [];
  }

  /** Sends a question to every lane for its effect there, for the main thread as one of the lanes. */
  notifyAll(name: QuestionName, ask: unknown): void {
    for (const lane of this.lanes()) this.threads[lane].channel.ask('question', { name, ask });
  }

  replacePolicies(published: PublishedPolicies): void {
    for (const lane of this.lanes()) this.threads[lane].channel.ask('policies', published);
  }

  diskReleased(): void {
    const { disk } = this.options.boards;
    if (disk === undefined) return;
    const board = new DiskBoard(disk);
    for (const lane of this.lanes()) if (board.isWaiting(lane)) wakeLane(this.options.libc, this.control, lane);
  }

  peersAcknowledged(): void {
    for (const lane of this.lanes()) wakeLane(this.options.libc, this.control, lane);
  }

  private lanes(): number[] {
    return [...this.threads.keys()];
  }

  private send(lane: number, messages: readonly ChannelMessage[]): void {
    if (this.listener === -1) return;
    this.threads[lane].worker.postMessage(messages);
    wakeLane(this.options.libc, this.control, lane);
  }
}

const SHUTDOWN_BOTH = 2;

/** A lane checks its deadline once per tick. */
const STOP_SLACK_MS = 500;
