import type { Constants } from './constants.js';
import type { SiteMarks } from './frame.js';

/** What all functions of a chunk share while its code is made. */
export interface Chunk {
  readonly marks: SiteMarks;
  readonly constants: Constants;
  /** KEYS and ARGV are the parameters K and A of the chunk. Otherwise they are read from the globals. */
  readonly hasParameters: boolean;
}
