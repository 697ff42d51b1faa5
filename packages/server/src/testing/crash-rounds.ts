import { setTimeout as delay } from 'node:timers/promises';
import { encodeCommand, TestClient } from '@quotadb/resp/testing';
import { readIdentity } from '@quotadb/storage';
import { spawnServer } from './spawned-server.js';

interface CrashOptions {
  readonly directory: string;
  readonly rounds: number;
  /** As --fsync has it. */
  readonly fsync: string;
  readonly flags?: readonly string[];
  readonly clients?: number;
  /** Also asks for snapshots all the time. */
  readonly snapshots?: boolean;
  /** How long a round lasts at least; it is up to LONGER_MS longer. */
  readonly roundMs?: number;
  /** In [0, 1). */
  readonly random: () => number;
}

/** The outcome of one round of load and kill -9, for each key. */
interface RoundOutcome {
  readonly key: string;
  readonly acknowledged: number;
  readonly attempted: number;
  readonly found: number;
}

const CLIENTS = 4;
const PIPELINE = 16;
const SHORTEST_ROUND_MS = 50;
const LONGER_MS = 350;

/**
 * Load from several clients, kill -9 at a random moment, start again on the same directory, look. Each client has a key
 * of its own and all share one, so that both lost and doubled increments show.
 */
export async function crashRounds(options: CrashOptions): Promise<RoundOutcome[]> {
  const outcomes: RoundOutcome[] = [];
  const base = new Map<string, number>();
  const flags = [
    '--data',
    options.directory,
    '--fsync',
    options.fsync,
    '--max-memory',
    '32mb',
    ...(options.flags ?? []),
  ];
  let server = spawnServer(flags);
  try {
    let { resp } = await server.ready();
    const { incarnation } = readIdentity(options.directory)!;
    for (let round = 0; round < options.rounds; round++) {
      const clients = await Promise.all(
        Array.from({ length: options.clients ?? CLIENTS }, (_, name) => LoadClient.open(resp, `own-${name}`)),
      );
      const loads = clients.map((client) => client.run());
      if (options.snapshots) loads.push(askForSnapshots(resp));
      await delay((options.roundMs ?? SHORTEST_ROUND_MS) + options.random() * LONGER_MS);
      server.child.kill('SIGKILL');
      await Promise.all(loads);
      await server.finished;
      server = spawnServer(flags);
      resp = (await server.ready()).resp;
      if (readIdentity(options.directory)?.incarnation !== incarnation) throw new Error('the incarnation changed');
      const reader = await TestClient.open(resp);
      const sum = (count: (client: LoadClient) => number) =>
        clients.reduce((total, client) => total + count(client), 0);
      const expectations = [
        ...clients.map((client) => ({ key: client.key, of: (count: (client: LoadClient) => number) => count(client) })),
        { key: 'shared', of: sum },
      ];
      for (const { key, of } of expectations) {
        const before = base.get(key) ?? 0;
        const found = Number(/\d+/.exec((await reader.call('GET', key)).split('\r\n')[1] ?? '0')?.[0] ?? 0);
        outcomes.push({
          key,
          acknowledged: before + of((client) => client.acknowledged),
          attempted: before + of((client) => client.attempted),
          found,
        });
        base.set(key, found);
      }
      reader.close();
    }
    return outcomes;
  } finally {
    server.child.kill('SIGKILL');
    await server.finished;
  }
}

/** Until the connection is gone. */
async function askForSnapshots(port: number): Promise<void> {
  const client = await TestClient.open(port);
  try {
    for (;;) await client.call('BGSAVE');
  } catch {
    client.close();
  }
}

/** Increments its own key and the shared one in pipelines until the connection is gone. */
class LoadClient {
  readonly key: string;
  attempted = 0;
  acknowledged = 0;
  private readonly client: TestClient;

  private constructor(client: TestClient, key: string) {
    this.client = client;
    this.key = key;
  }

  static async open(port: number, key: string): Promise<LoadClient> {
    return new LoadClient(await TestClient.open(port), key);
  }

  async run(): Promise<void> {
    const commands = encodeCommand('INCR', this.key) + encodeCommand('INCR', 'shared');
    try {
      for (;;) {
        this.attempted += PIPELINE;
        this.client.write(commands.repeat(PIPELINE));
        for (let reply = 0; reply < PIPELINE; reply++) {
          for (let command = 0; command < 2; command++) {
            const text = await this.client.reply();
            if (!text.startsWith(':')) throw new Error(text);
          }
          this.acknowledged++;
        }
      }
    } catch {
      this.client.close();
    }
  }
}
