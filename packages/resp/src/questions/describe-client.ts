import { DEFAULT_USER } from '@quotadb/config';
import type { Client } from '../session/client.js';

/** One line of CLIENT LIST. Fields of features that QuotaDB does not have hold Redis's value for none. */
export function describeClient(client: Client, nowMs: number): string {
  const pending = client.connection.pendingBytes;
  const transaction = client.transaction;
  const fields = {
    id: client.id,
    addr: client.address,
    laddr: client.localAddress,
    fd: -1,
    name: client.name,
    age: seconds(nowMs - client.connectedAtMs),
    idle: seconds(nowMs - client.lastActiveAtMs),
    flags: describeFlags(client),
    db: Math.max(client.database, 0),
    sub: 0,
    psub: 0,
    ssub: 0,
    multi: transaction === undefined ? -1 : transaction.commands.length,
    watch: 0,
    qbuf: client.bufferedInputBytes,
    'qbuf-free': 0,
    'argv-mem': 0,
    'multi-mem': transaction === undefined ? 0 : transaction.bytes,
    rbs: 0,
    rbp: 0,
    obl: 0,
    oll: pending > 0 ? 1 : 0,
    omem: pending,
    'tot-mem': client.bufferedInputBytes + pending + (transaction?.bytes ?? 0),
    events: pending > 0 ? 'rw' : 'r',
    cmd: client.lastCommand,
    user: client.user?.name ?? DEFAULT_USER,
    redir: -1,
    resp: client.protocol,
    'lib-name': client.libraryName,
    'lib-ver': client.libraryVersion,
  };
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function describeFlags(client: Client): string {
  let flags = '';
  if (client.transaction !== undefined) flags += 'x';
  if (client.blocked) flags += 'b';
  if (client.closing) flags += 'c';
  if (client.stopMonitoring !== undefined) flags += 'O';
  if (client.noEvict) flags += 'e';
  if (client.noTouch) flags += 'T';
  return flags === '' ? 'N' : flags;
}

function seconds(milliseconds: number): number {
  return Math.max(Math.floor(milliseconds / 1000), 0);
}
