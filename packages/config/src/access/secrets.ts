import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/**
 * The form of secrets in the configuration:
 *
 *   scrypt:N:r:p:salt:key    a password; salt and key in base64url. N, r and p are the costs of scrypt: memory is
 *                            128 × N × r bytes, time is proportional to N × r × p
 *   sha256:digest            a token, in hexadecimal. A token is 256 random bits, too many to guess even with a fast
 *                            hash, and a fast hash can be checked for every HTTP request
 */
const COST_N = 16_384;
const COST_R = 8;
const COST_P = 5;
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const TOKEN_BYTES = 32;
/** The maximum cost of checking a hash from a config file. */
const MAXIMUM_MEMORY_BYTES = 128 * 1024 * 1024;
const MAXIMUM_P = 16;

const PASSWORD_HASH = /^scrypt:(\d{1,9}):(\d{1,4}):(\d{1,2}):([\w-]{11,128}):([\w-]{22,128})$/;
const TOKEN_HASH = /^sha256:[0-9a-f]{64}$/;

const derive = promisify<Uint8Array, Uint8Array, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
);

interface PasswordHash {
  readonly N: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly key: Buffer;
}

/**
 * scrypt uses the password as the key of an HMAC, which fills it up with zero bytes: "x" and "x\0" have the same hash.
 * So no password ends with a zero byte, neither a new one nor one to be checked.
 */
function isExact(password: Uint8Array): boolean {
  return password.at(-1) !== 0;
}

export async function hashPassword(password: Uint8Array): Promise<string> {
  if (!isExact(password)) throw new RangeError('a password cannot end with a zero byte');
  const salt = randomBytes(SALT_BYTES);
  const costs = { N: COST_N, r: COST_R, p: COST_P, maxmem: 2 * MAXIMUM_MEMORY_BYTES };
  const key = await derive(password, salt, KEY_BYTES, costs);
  return ['scrypt', COST_N, COST_R, COST_P, salt.toString('base64url'), key.toString('base64url')].join(':');
}

export async function passwordMatches(password: Uint8Array, hash: string): Promise<boolean> {
  const parsed = parsePasswordHash(hash);
  if (parsed === undefined || !isExact(password)) return false;
  const { N, r, p, salt, key } = parsed;
  const given = await derive(password, salt, key.length, { N, r, p, maxmem: 2 * MAXIMUM_MEMORY_BYTES });
  return timingSafeEqual(given, key);
}

export function isPasswordHash(text: string): boolean {
  return parsePasswordHash(text) !== undefined;
}

/** A new token and its hash for the configuration. */
export function createToken(): { readonly token: string; readonly hash: string } {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, hash: hashToken(token) };
}

export function hashToken(token: string): string {
  return `sha256:${createHash('sha256').update(token).digest('hex')}`;
}

export function isTokenHash(text: string): boolean {
  return TOKEN_HASH.test(text);
}

function parsePasswordHash(text: string): PasswordHash | undefined {
  const found = PASSWORD_HASH.exec(text);
  if (found === null) return undefined;
  const [N, r, p] = found.slice(1, 4).map(Number);
  const isPowerOfTwo = N > 1 && (N & (N - 1)) === 0;
  if (!isPowerOfTwo || r < 1 || p < 1 || p > MAXIMUM_P || 128 * N * r > MAXIMUM_MEMORY_BYTES) return undefined;
  return { N, r, p, salt: Buffer.from(found[4], 'base64url'), key: Buffer.from(found[5], 'base64url') };
}
