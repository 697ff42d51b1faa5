/**
 * The two Redis clients people have, as far as they are needed here. Neither is a dependency: a client is passed in.
 */
export interface IoredisClient {
  call(command: string, ...parameters: string[]): Promise<unknown>;
  multi(commands: string[][]): { exec(): Promise<[error: Error | null, result: unknown][] | null> };
}

export interface NodeRedisClient {
  sendCommand(command: string[]): Promise<unknown>;
  multi(): NodeRedisTransaction;
}

interface NodeRedisTransaction {
  addCommand(command: string[]): NodeRedisTransaction;
  exec(): Promise<unknown[]>;
}

export type RedisClient = IoredisClient | NodeRedisClient;

/**
 * The names of commands are in lower case, as ioredis has them for its methods. Runs one command as it is, several as
 * a transaction that is sent and answered whole. Rejects with the first error.
 */
export async function runInOneTrip(client: RedisClient, commands: string[][]): Promise<unknown[]> {
  if (commands.length === 1) return [await runCommand(client, commands[0]!)];
  if (!isIoredis(client)) {
    const transaction = client.multi();
    for (const command of commands) transaction.addCommand(command);
    return transaction.exec();
  }
  const replies = await client.multi(commands).exec();
  if (replies === null) throw new Error('Redis discarded the transaction');
  for (const [error] of replies) if (error !== null) throw error;
  return replies.map(([, reply]) => reply);
}

export function runCommand(client: RedisClient, command: string[]): Promise<unknown> {
  if (!isIoredis(client)) return client.sendCommand(command);
  const [name, ...parameters] = command;
  return client.call(name!, ...parameters);
}

function isIoredis(client: RedisClient): client is IoredisClient {
  return 'call' in client;
}
