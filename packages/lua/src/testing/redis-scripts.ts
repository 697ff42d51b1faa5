import { connect, type Socket } from 'node:net';

/** Runs scripts on a real Redis, many under way at a time. Answers are bulk strings or errors, as text. */
export class RedisScripts {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  readonly #waiting: { resolve: (reply: string) => void; reject: (error: Error) => void }[] = [];

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1' });
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('Redis closed the connection: did it crash?'));
    });
  }

  /** The string that the script returns, or its error with `-` in front. */
  eval(source: string): Promise<string> {
    const script = Buffer.from(source, 'latin1');
    this.#socket.write(
      Buffer.concat([Buffer.from(`*3\r\n$4\r\nEVAL\r\n$${script.length}\r\n`), script, Buffer.from('\r\n$1\r\n0\r\n')]),
    );
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf('\r\n');
      if (end < 0) return;
      const head = this.#received.toString('latin1', 0, end);
      const length = head.startsWith('$') ? Number(head.slice(1)) : -1;
      const after = length < 0 ? end + 2 : end + 2 + length + 2;
      if (this.#received.length < after) return;
      const reply = length < 0 ? head : this.#received.toString('latin1', end + 2, end + 2 + length);
      this.#received = this.#received.subarray(after);
      this.#waiting.shift()?.resolve(reply);
    }
  }
}
