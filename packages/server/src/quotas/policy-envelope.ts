import { checkPolicySet, checkReaches, type PolicySet, type Reach } from '@quotadb/quota';
import { FrameKind, type Policies } from '@quotadb/wire';

/** What regions tell each other about policies, and about whom they reach, when they meet and when there is news. */
export interface PolicyEnvelope {
  /** The region that the sender takes for the home of policies. */
  readonly home: string;
  /** Whether the sender keeps what it holds on disk. */
  readonly hasDisk: boolean;
  /** Null where the sender has not heard of the home yet. */
  readonly set: PolicySet | null;
  readonly reaches: readonly Reach[];
}

export function writeEnvelope(envelope: PolicyEnvelope): Policies {
  return {
    kind: FrameKind.policies,
    version: envelope.set?.version ?? 0,
    body: Buffer.from(JSON.stringify(envelope)),
  };
}

/** Throws where it makes no sense. */
export function readEnvelope({ body }: Policies): PolicyEnvelope {
  const envelope = JSON.parse(Buffer.from(body).toString()) as PolicyEnvelope;
  if (typeof envelope?.home !== 'string' || typeof envelope.hasDisk !== 'boolean')
    throw new Error('it does not say where the home of policies is');
  if (envelope.set !== null) checkPolicySet(envelope.set);
  return { ...envelope, reaches: checkReaches(envelope.reaches) };
}
