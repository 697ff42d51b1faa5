import type { PolicySet } from './policy-set.js';

/** The home's signature under a set of policies, with the certificate whose key made it. */
export interface Seal {
  /** PEM. */
  readonly certificate: string;
  /** Base64. */
  readonly signature: string;
}

/** Signs and checks with the certificates of replication; there are none where replication is in plaintext. */
export interface Seals {
  seal(text: string): Seal;
  /** Why a text does not have the seal of this region; undefined where it has. */
  findFault(text: string, seal: Seal, region: string): string | undefined;
}

/** The text that is sealed. JSON keeps the order of keys, so a set that was parsed comes to the same text again. */
export function textOfSet(set: PolicySet): string {
  return `quotadb policies\n${JSON.stringify(set)}`;
}

/** Throws for a seal that has not the shape of one. */
export function checkSeal(given: unknown): Seal | undefined {
  if (given === undefined || given === null) return undefined;
  const { certificate, signature } = given as Seal;
  if (!isText(certificate, MAXIMUM_CERTIFICATE_CHARACTERS) || !isText(signature, MAXIMUM_SIGNATURE_CHARACTERS))
    throw new Error('the seal of the policies is damaged');
  return { certificate, signature };
}

const MAXIMUM_CERTIFICATE_CHARACTERS = 16_384;
const MAXIMUM_SIGNATURE_CHARACTERS = 2048;

function isText(value: unknown, atMost: number): boolean {
  return typeof value === 'string' && value.length <= atMost;
}
