import { GrpcStatus } from '@quotadb/replication/grpc';

/** Why a call gets no reply: the status of gRPC and its message. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: GrpcStatus;

  constructor(status: GrpcStatus, message: string) {
    super(message);
    this.status = status;
  }
}

export const NO_MEMORY = 'the store has no memory left for another counter: raise --max-memory';

export const refusals = {
  noDomain: (): Refusal => new Refusal(GrpcStatus.invalidArgument, 'rate limit domain must not be empty'),
  noDescriptors: (): Refusal => new Refusal(GrpcStatus.invalidArgument, 'rate limit descriptor list must not be empty'),
  badUnit: (unit: number): Refusal =>
    new Refusal(GrpcStatus.invalidArgument, `the limit of a descriptor has the unit ${unit}, which is not known`),
  negativeHits: (path: string): Refusal =>
    new Refusal(
      GrpcStatus.failedPrecondition,
      `negative hits are for fixed windows: '${path}' is exact or sliding, and takes none back`,
    ),
  notAllowed: (domain: string): Refusal =>
    new Refusal(GrpcStatus.permissionDenied, `this caller may not count in the domain '${domain}'`),
  noMemory: (): Refusal => new Refusal(GrpcStatus.unavailable, NO_MEMORY),
  undecided: (reason: string): Refusal => new Refusal(GrpcStatus.unavailable, reason),
};
