import { FrameKind, type Policies } from '@quotadb/wire';
import { checkPolicySet, type PolicySet } from './policy-set.js';
import { checkReaches, type Reach } from './routes.js';
import { checkSeal, type Seal } from './seals.js';

/** Policies and reachable regions, as neighbours send them to each other when they connect and after a change. */
export interface PolicyEnvelope {
  /** The region that the sender takes for the home of policies. */
  readonly home: string;
  /** Whether the sender keeps its tokens on disk. */
  readonly hasDisk: boolean;
  /** Null before the sender has received the policies of the home. */
  readonly set: PolicySet | null;
  /** The home's, where regions have certificates. */
  readonly seal?: Seal | undefined;
  readonly reaches: readonly Reach[];
  /** The sender divides tokens among members; absent in releases that do not know of them. */
  readonly divides?: boolean | undefined;
}

export function writeEnvelope(envelope: PolicyEnvelope): Policies {
  return {
    kind: FrameKind.policies,
    version: envelope.set?.version ?? 0,
    body: Buffer.from(JSON.stringify({ ...envelope, divides: true })),
  };
}

/** Throws for a body that is no envelope. */
export function readEnvelope({ body }: Policies): PolicyEnvelope {
  const envelope = JSON.parse(Buffer.from(body).toString()) as PolicyEnvelope;
  if (typeof envelope?.home !== 'string' || typeof envelope.hasDisk !== 'boolean')
    throw new Error('a frame with policies names no home');
  const set = envelope.set === null ? null : checkPolicySet(envelope.set);
  return {
    ...envelope,
    set,
    seal: checkSeal(envelope.seal),
    reaches: checkReaches(envelope.reaches),
    divides: envelope.divides === true,
  };
}
