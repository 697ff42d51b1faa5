/**
 * The functions of libc that a lane needs, called through koffi. Only Linux has epoll and only some machines have a
 * koffi binary: where either is missing, `loadLibc` throws the reason and the server falls back to node:net.
 *
 * All return the result of the system call; after -1 `errno()` has the reason. Memory is passed as a typed array or as
 * an address (a number), which saves making a view for every read.
 */
export interface Libc {
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: Uint8Array, length: number): number;
  listen(fd: number, backlog: number): number;
  accept4(fd: number, address: null, length: null, flags: number): number;
  getsockname(fd: number, address: Uint8Array, length: Int32Array): number;
  getpeername(fd: number, address: Uint8Array, length: Int32Array): number;
  setsockopt(fd: number, level: number, name: number, value: Int32Array, length: number): number;
  shutdown(fd: number, how: number): number;
  close(fd: number): number;
  recv(fd: number, address: number, length: number, flags: number): number;
  send(fd: number, bytes: Uint8Array, start: number, length: number, flags: number): number;
  epollCreate(flags: number): number;
  epollControl(epoll: number, operation: number, fd: number, event: Uint8Array): number;
  epollWait(epoll: number, events: Uint8Array, count: number, timeoutMs: number): number;
  eventfd(initial: number, flags: number): number;
  read(fd: number, bytes: Uint8Array, length: number): number;
  write(fd: number, bytes: Uint8Array, length: number): number;
  madvise(address: number, length: number, advice: number): number;
  /** The same on a thread of Node's pool, for advice that takes long. */
  madviseAside(address: number, length: number, advice: number, done: (result: number) => void): void;
  /** Gives memory that the allocator does not use back to the system, on a thread of Node's pool. */
  mallocTrimAside(): void;
  clockGettime(clock: number, time: BigInt64Array): number;
  errno(): number;
  /** The address of a typed array's bytes, valid as long as the array is referenced. */
  addressOf(bytes: Uint8Array): number;
}

export const Errno = {
  interrupted: 4,
  again: 11,
  outOfMemory: 12,
  invalid: 22,
  tooManyFilesInSystem: 23,
  tooManyFiles: 24,
  addressInUse: 98,
  addressNotAvailable: 99,
  permission: 13,
  connectionAborted: 103,
  noBuffers: 105,
} as const;

export class EpollUnavailable extends Error {
  override readonly name = 'EpollUnavailable';
}

export async function loadLibc(): Promise<Libc> {
  if (process.platform !== 'linux')
    throw new EpollUnavailable(`epoll exists on Linux only, and this is ${process.platform}`);
  if (process.arch !== 'x64' && process.arch !== 'arm64') {
    throw new EpollUnavailable(`the layout of epoll events is known for x64 and arm64, and this is ${process.arch}`);
  }
  const koffi = await import('koffi').then(
    (module) => module.default,
    () => undefined,
  );
  if (koffi === undefined)
    throw new EpollUnavailable('the optional dependency koffi is not installed for this machine');
  const libc = koffi.load('libc.so.6');
  const madvise = libc.func('int madvise(uintptr_t, size_t, int)');
  const mallocTrim = libc.func('int malloc_trim(size_t)');
  const sendFrom = libc.func('int send(int, uintptr_t, size_t, int)');
  const addressOf = (bytes: Uint8Array) => Number(koffi.address(bytes));
  // Nearly all replies are sent from one array, the lane's: its address is taken once.
  let sent: Uint8Array = new Uint8Array(1);
  let sentAddress = addressOf(sent);
  return {
    socket: libc.func('int socket(int, int, int)'),
    bind: libc.func('int bind(int, void *, uint32_t)'),
    listen: libc.func('int listen(int, int)'),
    accept4: libc.func('int accept4(int, void *, void *, int)'),
    getsockname: libc.func('int getsockname(int, void *, void *)'),
    getpeername: libc.func('int getpeername(int, void *, void *)'),
    setsockopt: libc.func('int setsockopt(int, int, int, void *, uint32_t)'),
    shutdown: libc.func('int shutdown(int, int)'),
    close: libc.func('int close(int)'),
    recv: libc.func('int recv(int, uintptr_t, size_t, int)'),
    send: (fd, bytes, start, length, flags) => {
      if (bytes !== sent) {
        sent = bytes;
        sentAddress = addressOf(bytes);
      }
      return sendFrom(fd, sentAddress + start, length, flags);
    },
    epollCreate: libc.func('int epoll_create1(int)'),
    epollControl: libc.func('int epoll_ctl(int, int, int, void *)'),
    epollWait: libc.func('int epoll_wait(int, void *, int, int)'),
    eventfd: libc.func('int eventfd(uint32_t, int)'),
    read: libc.func('int read(int, void *, size_t)'),
    write: libc.func('int write(int, void *, size_t)'),
    madvise,
    madviseAside: (address, length, advice, done) => {
      madvise.async(address, length, advice, (error: unknown, result: number) => done(error ? -1 : result));
    },
    mallocTrimAside: () => mallocTrim.async(0, () => {}),
    clockGettime: libc.func('int clock_gettime(int, void *)'),
    errno: () => koffi.errno(),
    addressOf,
  };
}
