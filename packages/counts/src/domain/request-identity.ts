/**
 * A change that carries an idempotency key happens once however often it is sent. The fingerprint says what was asked,
 * so that a key reused for something else is noticed instead of being answered with another request's result.
 */
export interface RequestIdentity {
  readonly key: string;
  readonly fingerprint: string;
}

export function identifyRequest(
  key: string | undefined,
  operation: string,
  itemId: string,
  argument: bigint | '',
): RequestIdentity | undefined {
  return key === undefined ? undefined : { key, fingerprint: `${operation} ${argument} ${itemId}` };
}
