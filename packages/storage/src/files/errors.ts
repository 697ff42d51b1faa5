/** Why a data directory cannot be used, as a sentence for the operator. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
}

/** Files, or the end of one, that were on disk and are there no more. */
export class MissingData extends StorageError {
  constructor(what: string) {
    super(
      `${what}. Restore a backup, or run "quotadb repair --data" on this directory: it keeps the rest, lists the ` +
        'losses, and the next start is a new incarnation',
    );
  }
}

/** A file whose bytes changed after they were written. */
export class DamagedFile extends StorageError {
  readonly path: string;
  readonly offset: number;

  constructor(path: string, offset: number, reason: string) {
    super(
      `${path} is damaged at byte ${offset}: ${reason}. Restore a backup, or run "quotadb repair --data" on this ` +
        'directory: it salvages whole records and lists the rest',
    );
    this.path = path;
    this.offset = offset;
  }
}
