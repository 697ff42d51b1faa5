/** Longer values are cut in messages. */
const SHOWN_CHARACTERS = 64;

/**
 * A setting's value that cannot be used. The message begins with the value, where it is given, and names the values
 * that are allowed, without naming the setting.
 */
export class Mistake extends Error {
  override readonly name = 'Mistake';
  /** The message without the value, for a setting that is a secret. */
  readonly reason: string;

  constructor(reason: string, value?: string) {
    super(value === undefined ? reason : `${quoteValue(value)} ${reason}`);
    this.reason = reason;
  }
}

function quoteValue(value: string): string {
  return JSON.stringify(value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value);
}
