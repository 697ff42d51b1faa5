import { checkPolicySet, checkReaches, type PolicySet, type Reach } from '@quotadb/quota';
import { FrameKind, type Policies } from '@quotadb/wire';

/** Policies and reachable regions, as neighbours send them to each other when they connect and after a change. */
export interface PolicyEnvelope {
  /** The region that the sender takes for the home of policies. */
  readonly home: string;
  /** Whether the sender keeps its tokens on disk. */
  readonly hasDisk: boolean;
  /** Null before the sender has received the policies of the home. */
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

/** Throws for a body that is no envelope. */
export function readEnvelope({ body }: Policies): PolicyEnvelope {
  const envelope = JSON.parse(Buffer.from(body).toString()) as PolicyEnvelope;
  if (typeof envelope?.home !== 'string' || typeof envelope.hasDisk !== 'boolean')
    throw new Error('a frame with policies names no home');
  if (envelope.set !== null) checkPolicySet(envelope.set);
  return { ...envelope, reaches: checkReaches(envelope.reaches) };
}
