import type { Constants } from './constants.js';
import type { SiteMarks } from './frame.js';
import type { Parameters } from './parameters.js';

/** What all functions of a chunk share while its code is made. */
export interface Chunk {
  readonly marks: SiteMarks;
  readonly constants: Constants;
  /** Undefined where KEYS and ARGV are read from the globals. */
  readonly parameters: Parameters | undefined;
}
