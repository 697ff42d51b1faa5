/** Why a data directory cannot be used, in words for whoever started the server. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
}

/** A file that is not what was written. */
export class DamagedFile extends StorageError {
  readonly path: string;
  readonly offset: number;

  constructor(path: string, offset: number, reason: string) {
    super(
      `${path} is damaged at byte ${offset}: ${reason}. Restore a backup, or run "quotadb repair --data" on this directory: it salvages what is whole and says what was lost`,
    );
    this.path = path;
    this.offset = offset;
  }
}
