import { PolicyError } from '@quotadb/quota';
import { DocumentError, type Mistake, printMistakes } from '@quotadb/wire/documents';

/** A catalogue that was refused: nothing of it holds. */
export class CatalogueError extends PolicyError {
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super(printMistakes(mistakes).join('; '));
    this.mistakes = mistakes;
  }
}

/** Does what reads a document; its mistakes are those of a catalogue. */
export function readingCatalogue<Form>(read: () => Form): Form {
  try {
    return read();
  } catch (error) {
    throw error instanceof DocumentError ? new CatalogueError(error.mistakes) : error;
  }
}
