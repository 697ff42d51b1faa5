import { join, resolve } from 'node:path';
import type { Configuration } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import type { Windows } from '@quotadb/quota';
import { type Clock, type ServerState, systemMonotonicMs } from '@quotadb/resp';
import { FileSink, HttpSink, QuotaNames, type Sink, Spool, UsageExporter } from '@quotadb/usage';
import { serverName } from '@quotadb/wire';
import type { Logger } from 'pino';
import type { Persistence } from '../durability/persistence.js';
import { OccasionalLog } from '../logging/occasional-log.js';
import type { QuotaService } from '../quotas/service.js';

export interface UsageExporterParts {
  readonly config: Configuration;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly persistence: Persistence | undefined;
  readonly quotas: QuotaService;
  readonly state: ServerState;
  readonly logger: Logger;
  /** Of limits in Envoy's files. */
  readonly envoyWindows: () => readonly Windows[];
}

/** Below the data directory. */
const FOLDER = 'usage';

/** Undefined where no usage is exported. */
export function createUsageExporter(parts: UsageExporterParts): UsageExporter | undefined {
  const { config, clock, engine, persistence, quotas, state, logger, envoyWindows } = parts;
  if (config.usageExport === '' || persistence === undefined) return undefined;
  const directory = join(config.dataDirectory, FOLDER);
  const log = new OccasionalLog(systemMonotonicMs);
  return new UsageExporter({
    engine,
    cluster: config.cluster,
    region: serverName(config),
    spool: new Spool(directory),
    sink: sinkOf(config, directory, clock),
    names: new QuotaNames(directory),
    maximumSpoolBytes: config.usageExportSpoolBytes,
    policies: () => quotas.policies,
    otherWindows: () => [...state.limits.resolution.fixedWindows, ...envoyWindows()],
    openReservations: () => quotas.openReservations(),
    sync: () => persistence.sync(),
    advance: () => engine.advanceTo(clock.now()),
    onTrouble: (what, error) =>
      log.say(`${what} ${error.message}`, (suppressed) =>
        logger.warn({ reason: reasonOf(error), suppressed }, MESSAGES[what]),
      ),
  });
}

const MESSAGES = {
  collect: 'usage could not be put aside for its export; it stays in the store and is tried again',
  deliver: 'usage could not be delivered to --usage-export; it waits on disk and is tried again, with the same ids',
} as const;

function sinkOf(config: Configuration, directory: string, clock: Clock): Sink {
  const { usageExport, usageExportHeaders, usageExportRotateBytes: rotateBytes } = config;
  if (/^https?:\/\//i.test(usageExport))
    return new HttpSink({ url: usageExport, headers: Object.fromEntries(usageExportHeaders.map(splitHeader)) });
  return new FileSink({ path: resolve(usageExport), directory, rotateBytes, nowMs: () => clock.now() });
}

function splitHeader(header: string): [name: string, value: string] {
  const at = header.indexOf('=');
  return [header.slice(0, at).trim(), header.slice(at + 1).trim()];
}

function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
