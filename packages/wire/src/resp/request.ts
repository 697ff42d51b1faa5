import type { ByteInput } from '@quotadb/engine';

/**
 * One command as the client sent it: where each argument lies in the input, nothing copied. Argument 0 is the name.
 * The arrays are reused by the parser and may be longer than argumentCount.
 */
export interface Request {
  readonly input: ByteInput;
  readonly argumentCount: number;
  readonly argumentStart: Int32Array;
  readonly argumentLength: Int32Array;
}
