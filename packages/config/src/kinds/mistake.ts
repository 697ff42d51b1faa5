/** A setting's value that cannot be used; the message says why without naming the setting. */
export class Mistake extends Error {
  override readonly name = 'Mistake';
}
