import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { Engine } from '@quotadb/engine';
import { LaneLog } from '@quotadb/storage';
import { commands } from '../command-table/commands.js';
import { answer } from '../questions/answers.js';
import { Channel, type ChannelMessage } from '../services/channel.js';
import { Lane } from '../session/lane.js';
import type { Lanes, QuestionName, Questions } from '../session/questions.js';
import type { ServerState } from '../session/server-state.js';
import { type Clock, RoundClock, systemClock } from '../time/clock.js';
import { GuardedClock } from '../time/guarded-clock.js';
import { EpollLoop, type LoopDuties } from '../transport/epoll/epoll-loop.js';
import { type Libc, loadLibc } from '../transport/epoll/libc.js';
import { Tick } from '../transport/tick.js';
import { Acceptor } from './acceptor.js';
import { createState } from './create-state.js';
import type { LaneServices, LaneStart, ThreadServices } from './messages.js';
import { SharedControl } from './shared-control.js';
import { wakeLane } from './wake.js';

/** Timing every turn would double the cost of a turn of one short command. */
const TURNS_PER_TIMING = 16;

function clockOf({ boards, config }: LaneStart): Clock {
  const shared = boards.clock;
  if (shared === undefined) return systemClock;
  return new GuardedClock({ source: systemClock, skewBoundMs: config.clockSkewBoundMs, shared });
}

/**
 * One lane's thread. It runs the epoll loop until the main thread stops it, so Node's own event loop does not run here:
 * messages are fetched when the wake descriptor becomes readable.
 */
class LaneWorker implements LoopDuties, Lanes {
  readonly count: number;
  readonly index: number;
  private readonly port: MessagePort;
  private readonly channel: Channel<LaneServices, ThreadServices>;
  private readonly control: SharedControl;
  private readonly engine: Engine;
  private readonly state: ServerState;
  private readonly loop: EpollLoop;
  private readonly ticks: Tick;
  private readonly acceptor: Acceptor;

  constructor(libc: Libc, port: MessagePort, start: LaneStart) {
    this.count = start.laneCount + (start.hasMainLane ? 1 : 0);
    this.index = start.laneIndex;
    this.port = port;
    this.control = new SharedControl(start.laneCount, start.control);
    const engine = Engine.attach(start.store, start.use);
    this.engine = engine;
    const clock = new RoundClock(clockOf(start));
    this.channel = new Channel<LaneServices, ThreadServices>((messages) => port.postMessage(messages), {
      question: ({ name, ask }, answered) => answered(answer(this.state, name, ask as never)),
      policies: (published) => this.state.quotas.replace(published),
      share: (_, answered) => {
        engine.share();
        answered(null);
      },
      stop: ({ withinMs }) => {
        this.acceptor.stop();
        this.loop.stop(withinMs);
      },
    });
    this.state = createState(start.config, clock, {
      commands,
      lanes: this,
      ids: {
        nextClientId: () => this.control.nextClientId(),
        nextSlowlogId: () => this.control.nextSlowlogId(),
      },
      askMain: this.channel.ask,
      boards: start.boards,
      policies: start.policies,
      logScript: (level, text) => this.channel.ask('scriptLog', { level, text }),
    });
    Object.assign(this.state.identity, start.identity);
    if (start.boards.log !== undefined) {
      const log = new LaneLog(engine, start.boards.log);
      if (this.state.disk.holdsUntilSynced) this.state.disk.lead({ log, wakeOthers: () => this.wakeOthers(libc) });
      else this.state.disk.writeWith(log);
    }
    const warn = (text: string): void => this.channel.ask('warning', text);
    const lane = new Lane({
      engine,
      server: this.state,
      maximumBulkBytes: start.maximumBulkBytes,
      turnsPerTiming: TURNS_PER_TIMING,
      reportFault: (error, client) => {
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.channel.ask('fault', { error: text, client: client.id, command: client.lastCommand });
      },
      warn,
    });
    this.loop = new EpollLoop(libc, lane, clock, this.control.wakeDescriptor(this.index), this);
    this.state.scripts.meanwhile = (running) => this.loop.answerMeanwhile(running);
    this.ticks = new Tick(this.state, engine, { expires: this.index === 0, sweep: (nowMs) => this.loop.sweep(nowMs) });
    this.acceptor = new Acceptor({
      libc,
      loop: this.loop,
      lane: this.index,
      control: this.control,
      server: this.state,
      listener: start.listener,
      warn,
    });
  }

  run(): void {
    this.channel.ask('ready', null);
    this.roundOver();
    this.loop.run();
    this.roundOver();
  }

  woken(): void {
    this.state.disk.settle();
    this.state.replication.settle();
    this.adoptArrivals();
    for (let received = receiveMessageOnPort(this.port); received; received = receiveMessageOnPort(this.port)) {
      this.channel.receive(received.message as readonly ChannelMessage[]);
    }
  }

  adoptArrivals(): void {
    for (let fd = this.control.take(this.index); fd !== -1; fd = this.control.take(this.index)) this.loop.adopt(fd);
  }

  acceptable(): void {
    this.acceptor.acceptSome();
  }

  roundOver(): void {
    this.engine.rest();
    this.channel.flush();
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
    this.channel.ask('everyLane', { name, ask }, (answers) => answered(answers as Questions[Name]['answer'][]));
  }

  notifyOthers<Name extends QuestionName>(name: Name, ask: Questions[Name]['ask']): void {
    this.channel.ask('otherLanes', { name, ask });
  }

  /** Wakes the lanes that wait for the disk: their flush is done, or they can start the next. */
  private wakeOthers(libc: Libc): void {
    for (let lane = 0; lane < this.count; lane++) {
      if (lane !== this.index && this.state.disk.board.isWaiting(lane)) wakeLane(libc, this.control, lane);
    }
  }
}

const port = parentPort;
if (port === null) throw new Error('lane-worker.js must run in a worker thread');
const libc = await loadLibc().catch((error: Error) => error);
// What comes behind the first message stays in the port until the loop of the lane fetches it.
port.once('message', (start: LaneStart) => {
  if (libc instanceof Error) throw libc;
  new LaneWorker(libc, port, start).run();
  port.close();
});
