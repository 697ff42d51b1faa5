import { createHash, timingSafeEqual } from 'node:crypto';

/** The one user there is. */
export const DEFAULT_USER = 'default';

/**
 * Whether this is the password. Digests are compared, so that the time taken tells neither where the first difference
 * is nor how long the password is. Without a password set, the default user gets in with any.
 */
export function credentialsMatch(user: string, given: Uint8Array, password: string): boolean {
  const same = timingSafeEqual(digest(given), digest(Buffer.from(password)));
  return user === DEFAULT_USER && (password === '' || same);
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
