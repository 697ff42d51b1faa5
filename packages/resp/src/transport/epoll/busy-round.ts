import { BusyAnswers } from '../../session/busy-answers.js';
import { Lane } from '../../session/lane.js';
import type { EpollSocket } from './epoll-socket.js';
import type { Libc } from './libc.js';
import { Interest, type Poller } from './poller.js';

/**
 * A round of the loop inside a script that runs for long, with buffers of its own: what the lane's own hold is still
 * needed after it. Only requests are read and answered; ends, failures and unsent replies wait for the next round.
 */
export class BusyRound {
  private readonly libc: Libc;
  private readonly lane: Lane;
  private readonly poller: Poller;
  private buffers: Buffers | undefined;

  constructor(libc: Libc, lane: Lane, poller: Poller) {
    this.libc = libc;
    this.lane = lane;
    this.poller = poller;
  }

  /** Calls `visit` for every descriptor with something to read. */
  run(visit: (fd: number, answer: (socket: EpollSocket) => void) => void): void {
    this.buffers ??= this.makeBuffers();
    const { poller, bytes, address, answers } = this.buffers;
    const answer = (socket: EpollSocket): void => socket.readWhileBusy(bytes, address, answers);
    const count = poller.wait(0);
    for (let index = 0; index < count; index++) {
      if ((poller.newsAt(index) & Interest.readable) !== 0) visit(poller.descriptorAt(index), answer);
    }
  }

  private makeBuffers(): Buffers {
    const bytes = new Uint8Array(Lane.READ_BYTES);
    return {
      poller: this.poller.aside(),
      bytes,
      address: this.libc.addressOf(bytes),
      answers: new BusyAnswers(this.lane),
    };
  }
}

interface Buffers {
  readonly poller: Poller;
  readonly bytes: Uint8Array;
  readonly address: number;
  readonly answers: BusyAnswers;
}
