import { createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto';
import { identityOf, type PeerIdentity } from './peer-identity.js';
import { authoritiesOf, type TlsMaterial } from './tls-material.js';

/**
 * A text that the replica of a certificate vouches for, whichever peer brings it: signed with the key of its
 * certificate for replication, and checked against the authority that all certificates are from.
 */
export interface SealedBy {
  /** PEM. */
  readonly certificate: string;
  /** Base64. */
  readonly signature: string;
}

export function sealText({ certificate, key }: TlsMaterial, text: string): SealedBy {
  const privateKey = createPrivateKey(key);
  return { certificate, signature: sign(digestFor(privateKey), Buffer.from(text), privateKey).toString('base64') };
}

/** Why a text is not sealed by this replica; undefined where it is. */
export function findSealFault(
  { authority }: TlsMaterial,
  text: string,
  { certificate, signature }: SealedBy,
  { cluster, region }: Pick<PeerIdentity, 'cluster' | 'region'>,
  nowMs: number,
): string | undefined {
  try {
    const signer = new X509Certificate(certificate);
    const isAccepted = authoritiesOf(authority).some((ca) => signer.checkIssued(ca) && signer.verify(ca.publicKey));
    if (!isAccepted) return 'the certificate in their seal is of another authority than the one accepted here';
    if (nowMs < Date.parse(signer.validFrom) || nowMs > Date.parse(signer.validTo))
      return `the certificate in their seal is valid from ${signer.validFrom} to ${signer.validTo}`;
    const identity = identityOf(signer);
    if (identity.cluster !== cluster || identity.region !== region)
      return `they have the seal of ${identity.cluster}/${identity.region}, not that of ${cluster}/${region}`;
    const { publicKey } = signer;
    const isSigned = verify(digestFor(publicKey), Buffer.from(text), publicKey, Buffer.from(signature, 'base64'));
    return isSigned ? undefined : `they were changed after ${region} had sealed them`;
  } catch (error) {
    return `their seal cannot be read: ${(error as Error).message}`;
  }
}

/** Keys of Edwards curves have a digest of their own. */
function digestFor({ asymmetricKeyType }: KeyObject): 'sha256' | null {
  return asymmetricKeyType === 'ed25519' || asymmetricKeyType === 'ed448' ? null : 'sha256';
}
