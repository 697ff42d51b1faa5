import type { Configuration } from '@quotadb/config';
import { type ComponentFeed, Feeder } from '@quotadb/counts';
import { ByteInput, countedGenerations, type Engine } from '@quotadb/engine';
import type { Logger } from 'pino';
import type { Persistence } from '../durability/persistence.js';

export interface FeederParts {
  readonly config: Configuration;
  readonly engine: Engine;
  /** Undefined where everything is in memory: then nothing outlives a crash that could be counted again. */
  readonly persistence: Persistence | undefined;
  readonly record: ComponentFeed;
  readonly logger: Logger;
  readonly wholeFoldIntervalMs?: number;
}

/** Feeds counts with the counters that this server holds, its own part and what it has heard from other regions. */
export function createFeeder(parts: FeederParts): Feeder {
  const { config, engine, persistence, record, logger } = parts;
  const inputs = new Map<string, ByteInput>();
  const inputOf = (key: string): ByteInput => {
    const input = inputs.get(key) ?? ByteInput.copyOf(Buffer.from(key));
    inputs.set(key, input);
    return input;
  };
  return new Feeder({
    feeds: config.feeds,
    intervalMs: config.feedIntervalMs,
    wholeFoldIntervalMs: parts.wholeFoldIntervalMs,
    record,
    source: {
      generations: (key, known) => countedGenerations(engine, inputOf(key), 0, Buffer.byteLength(key), known),
      originName: (index) => Buffer.from(engine.origins.idOf(index)).toString('hex'),
      durable: async () => persistence?.sync(),
    },
    onTrouble: (reason, itemIds) =>
      logger.warn(
        { reason: String(reason), ...(itemIds.length > 0 && { itemIds }) },
        'counters could not be folded into their counts',
      ),
  });
}
