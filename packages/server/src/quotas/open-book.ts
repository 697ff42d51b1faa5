import { type Configuration, peersOf } from '@quotadb/config';
import { PolicyBook, type SavedPolicies } from '@quotadb/quota';
import { nameOfOrigin } from '@quotadb/replication';
import { isServerOf, serverName } from '@quotadb/wire';
import { loadBook, loadFormerPolicies, saveBook, saveFormerPolicies } from './book-file.js';
import type { PolicySyncOptions } from './policy-sync-options.js';

/** The book of policies of a server, as its data directory has it; every change of it is written there. */
export function openBook({
  config,
  clock,
  origin,
  isNewIncarnation,
  logger,
  catalogue,
}: PolicySyncOptions): PolicyBook {
  const { dataDirectory } = config;
  const hasDisk = dataDirectory !== '';
  const saved = hasDisk ? loadBook(dataDirectory) : undefined;
  const former = hasDisk && saved === undefined ? loadFormerPolicies(dataDirectory) : undefined;
  if (former !== undefined)
    logger.warn(
      { data: dataDirectory, version: former.set?.version },
      'quotas.json is gone: the policies are those of quotas.previous.json, and quotas begin with their next window',
    );
  let written: SavedPolicies | undefined = saved;
  return new PolicyBook({
    home: homeOf(config),
    region: serverName(config),
    incarnation: nameOfOrigin(origin),
    isNewIncarnation,
    hasDisk,
    nowMs: clock.now(),
    skewBoundMs: config.clockSkewBoundMs,
    isAlone: peersOf(config).length === 0,
    ...(saved && { saved }),
    former,
    catalogue,
    save: (book) => {
      if (!hasDisk) return;
      if (written?.set !== undefined && written.set.version !== book.set?.version)
        saveFormerPolicies(dataDirectory, { set: written.set, seal: written.seal });
      saveBook(dataDirectory, book);
      written = book;
    },
  });
}

/**
 * The server where policies are defined: the first by name of this one and its peers, or of those of them that --home
 * stands for. A home that is none of them is behind a peer, and then --home has its whole name.
 */
function homeOf(config: Configuration): string {
  const names = [serverName(config), ...peersOf(config).map((peer) => peer.region)].sort();
  const { home } = config;
  return home === '' ? names[0] : (names.find((name) => isServerOf(name, home)) ?? home);
}
