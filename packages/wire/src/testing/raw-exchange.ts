import { connect } from 'node:net';

/**
 * Sends bytes, says that there will be no more, and gives back everything the server said before it closed. A server
 * that has refused the bytes may reset the connection while some are still under way; what it said counts all the same.
 */
export function rawExchange(port: number, bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('data', (chunk) => received.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => resolve(Buffer.concat(received)));
    socket.on('connect', () => socket.end(bytes));
  });
}
