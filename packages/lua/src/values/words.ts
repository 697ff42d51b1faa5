import type { Table } from './table.js';
import type { Value } from './value.js';

/**
 * KEYS or ARGV, as the host has them. Most scripts only read single words: then nothing is made of the others, and a
 * word that goes straight into `redis.call` never becomes a string. Scripts that do more with them get a table.
 */
export interface Words {
  /** `#KEYS` */
  readonly length: number;
  /** `KEYS[place]` */
  get(place: Value): Value;
  /** The same as an argument of a function that takes words (EnvironmentOptions): whatever stands for it there. */
  word(place: Value): unknown;
  table(): Table;
}
