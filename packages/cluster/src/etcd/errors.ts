/** No etcd member has answered as etcd does; what was asked may have been done all the same. */
export class EtcdUnreachable extends Error {
  override readonly name = 'EtcdUnreachable';
}

/** etcd has answered, and refuses. */
export class EtcdRefused extends Error {
  override readonly name = 'EtcdRefused';
  /** As gRPC numbers them; -1 where etcd gave none. */
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

/** The codes of gRPC that matter here. */
export const Code = {
  cancelled: 1,
  invalid: 3,
  deadline: 4,
  notFound: 5,
  unavailable: 14,
  unauthenticated: 16,
} as const;
