/**
 * The bytes that keys are read from: one reusable window per connection buffer, never one per request.
 *
 * Keys are hashed and compared a 32-bit word at a time, wherever they start, so up to three bytes past the end of a
 * key are loaded (and masked away). The buffer therefore keeps SLACK_BYTES behind the last byte that can hold a key.
 */
export class ByteInput {
  static readonly SLACK_BYTES = 4;

  readonly bytes: Uint8Array;
  readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** A buffer of its own with room for the slack; for tests and for commands that are kept, such as those of MULTI. */
  static copyOf(source: Uint8Array): ByteInput {
    const bytes = new Uint8Array(source.length + ByteInput.SLACK_BYTES);
    bytes.set(source);
    return new ByteInput(bytes);
  }
}
