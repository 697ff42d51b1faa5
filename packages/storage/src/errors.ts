/** Why a data directory cannot be used, as a sentence for the operator. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
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
