import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { Engine } from '@quotadb/engine';
import { LaneLog } from '@quotadb/storage';
import { type DoorAnswer, remoteDoor } from '../access/door.js';
import { RoundClock, systemClock } from '../clock.js';
import { commands } from '../commands/table.js';
import { DiskBoard } from '../durability/disk-board.js';
import { type DiskAnswer, type DiskCarrier, DiskLink } from '../durability/disk-link.js';
import { createState } from '../lifecycle/state.js';
import { Tick } from '../lifecycle/tick.js';
import { type QuotaAnswer, type QuotaCarrier, QuotaLink } from '../quotas/quota-link.js';
import { ReplicationBoard } from '../replication/board.js';
import { type ReplicationAnswer, ReplicationLink } from '../replication/replication-link.js';
import type { ServerState } from '../server-state.js';
import { Lane } from '../session/lane.js';
import { EpollLoop, type LoopDuties } from '../transport/epoll/epoll-loop.js';
import { type Libc, loadLibc } from '../transport/epoll/libc.js';
import { Acceptor } from './acceptor.js';
import { answer, type Lanes } from './lanes.js';
import type { FromLane, LaneStart, ToLane } from './messages.js';
import type { QuestionName, Questions } from './questions.js';
import { SharedControl } from './shared-control.js';
import { wakeLane } from './wake.js';

/** A turn of one short command takes about as long as two readings of the clock. */
const TURNS_PER_TIMING = 16;

/**
 * One lane's thread. It runs the epoll loop until it is told to stop, so Node's own event loop does not turn here:
 * messages are fetched when the wake descriptor says that there are some.
 */
class LaneWorker implements LoopDuties, Lanes {
  readonly count: number;
  readonly index: number;
  private readonly port: MessagePort;
  private readonly control: SharedControl;
  private readonly state: ServerState;
  private readonly loop: EpollLoop;
  private readonly ticks: Tick;
  private readonly acceptor: Acceptor;
  private readonly waiting = new Map<number, (answers: never[]) => void>();
  private readonly diskAnswers = new Map<number, DiskAnswer>();
  private readonly replicationAnswers = new Map<number, (answer: ReplicationAnswer) => void>();
  private readonly quotaAnswers = new Map<number, (answer: QuotaAnswer) => void>();
  private readonly engine: Engine;
  private readonly doorAnswers = new Map<number, (answer: DoorAnswer) => void>();
  private nextQuestion = 1;

  constructor(libc: Awaited<ReturnType<typeof loadLibc>>, port: MessagePort, start: LaneStart) {
    this.count = start.laneCount + (start.hasMainLane ? 1 : 0);
    this.index = start.laneIndex;
    this.port = port;
    this.control = new SharedControl(start.laneCount, start.control);
    const engine = Engine.attach(start.store, { exclusive: start.isExclusive });
    this.engine = engine;
    const clock = new RoundClock(systemClock);
    const ids = {
      nextClientId: () => this.control.nextClientId(),
      nextSlowlogId: () => this.control.nextSlowlogId(),
    };
    const door = remoteDoor((request, answered) => {
      const id = this.nextQuestion++;
      this.doorAnswers.set(id, answered);
      this.post({ kind: 'door', id, request });
    });
    this.state = createState(start.config, clock, {
      commands,
      lanes: this,
      ids,
      disk: this.diskLink(start),
      replication: this.replicationLink(start),
      quotas: this.quotaLink(start),
      door,
    });
    Object.assign(this.state.identity, start.identity);
    if (start.log !== undefined) {
      this.state.disk.lead({ log: new LaneLog(engine, start.log), wakeOthers: () => this.wakeOthers(libc) });
    }
    const lane = new Lane({
      engine,
      server: this.state,
      maximumBulkBytes: start.maximumBulkBytes,
      turnsPerTiming: TURNS_PER_TIMING,
      reportFault: (error, client) => {
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.post({ kind: 'fault', error: text, client: client.id, command: client.lastCommand });
      },
    });
    this.loop = new EpollLoop(libc, lane, clock, this.control.wakeDescriptor(this.index), this);
    this.ticks = new Tick(this.state, engine, { expires: this.index === 0, sweep: (nowMs) => this.loop.sweep(nowMs) });
    this.acceptor = new Acceptor({
      libc,
      loop: this.loop,
      lane: this.index,
      control: this.control,
      server: this.state,
      listener: start.listener,
      warn: (text) => this.post({ kind: 'warning', text }),
    });
  }

  run(): void {
    this.post({ kind: 'ready' });
    this.loop.run();
  }

  woken(): void {
    this.state.disk.settle();
    this.state.replication.settle();
    for (let fd = this.control.take(this.index); fd !== -1; fd = this.control.take(this.index)) this.loop.adopt(fd);
    for (let received = receiveMessageOnPort(this.port); received; received = receiveMessageOnPort(this.port)) {
      this.hear(received.message as ToLane);
    }
  }

  acceptable(): void {
    this.acceptor.acceptSome();
  }

  closed(): void {
    this.control.release(this.index);
  }

  tick(): boolean {
    this.acceptor.tick();
    this.state.disk.settle();
    this.state.replication.settle();
    return this.ticks.run();
  }

  ask<Name extends QuestionName>(
    name: Name,
    ask: Questions[Name]['ask'],
    answered: (answers: Questions[Name]['answer'][]) => void,
  ): void {
    const id = this.nextQuestion++;
    this.waiting.set(id, answered as (answers: never[]) => void);
    this.post({ kind: 'question', id, name, ask });
  }

  tell<Name extends QuestionName>(name: Name, ask: Questions[Name]['ask']): void {
    this.post({ kind: 'order', name, ask });
  }

  private diskLink({ disk, config }: LaneStart): DiskLink {
    if (disk === undefined) return DiskLink.none();
    const carrier: DiskCarrier = {
      signal: () => this.post({ kind: 'flush' }),
      ask: (request, answered) => {
        const id = this.nextQuestion++;
        this.diskAnswers.set(id, answered);
        this.post({ kind: 'disk', id, request });
      },
    };
    const holdsReplies = config.fsync === 'always';
    return new DiskLink(new DiskBoard(disk), carrier, { isOn: true, holdsReplies, lane: this.index });
  }

  /** Those who wait for the disk; so that they see that it is done, or flush in their turn. */
  private wakeOthers(libc: Libc): void {
    for (let lane = 0; lane < this.count; lane++) {
      if (lane !== this.index && this.state.disk.board.isWaiting(lane)) wakeLane(libc, this.control, lane);
    }
  }

  private replicationLink({ replication, config }: LaneStart): ReplicationLink {
    return new ReplicationLink(new ReplicationBoard(config.shardCount, replication), {
      ask: (request, answered) => {
        const id = this.nextQuestion++;
        this.replicationAnswers.set(id, answered);
        this.post({ kind: 'replication', id, request });
      },
    });
  }

  private quotaLink({ policies }: LaneStart): QuotaLink {
    const carrier: QuotaCarrier = {
      ask: (request, answered) => {
        const id = this.nextQuestion++;
        this.quotaAnswers.set(id, answered);
        this.post({ kind: 'quota', id, request });
      },
      foresee: (cell, target) => this.post({ kind: 'foresee', cell, target }),
    };
    return new QuotaLink(carrier, policies);
  }

  private hear(message: ToLane): void {
    if (message.kind === 'question') {
      const { id, name, ask } = message;
      this.post({ kind: 'answer', id, answer: answer(this.state, name, ask as never) });
    } else if (message.kind === 'order') {
      answer(this.state, message.name, message.ask as never);
    } else if (message.kind === 'answers') {
      const answered = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      answered?.(message.answers as never[]);
    } else if (message.kind === 'diskAnswer') {
      const answered = this.diskAnswers.get(message.id);
      this.diskAnswers.delete(message.id);
      answered?.(message.error);
    } else if (message.kind === 'replicationAnswer') {
      const answered = this.replicationAnswers.get(message.id);
      this.replicationAnswers.delete(message.id);
      answered?.(message.answer);
    } else if (message.kind === 'quotaAnswer') {
      const answered = this.quotaAnswers.get(message.id);
      this.quotaAnswers.delete(message.id);
      answered?.(message.answer);
    } else if (message.kind === 'policies') {
      this.state.quotas.policies.replace(message.policies);
    } else if (message.kind === 'share') {
      this.engine.share();
      this.post({ kind: 'shared' });
    } else if (message.kind === 'doorAnswer') {
      const answered = this.doorAnswers.get(message.id);
      this.doorAnswers.delete(message.id);
      answered?.(message.answer);
    } else {
      this.acceptor.stop();
      this.loop.stop(message.withinMs);
    }
  }

  private post(message: FromLane): void {
    this.port.postMessage(message);
  }
}

if (parentPort === null) throw new Error('a lane runs in a worker thread');
new LaneWorker(await loadLibc(), parentPort, workerData as LaneStart).run();
parentPort.close();
