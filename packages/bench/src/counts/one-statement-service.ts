/**
 * The service that QuotaDB is compared with: the same API for increases, written in the straightforward way, one atomic
 * statement per request on a connection of a pool. A program of its own:
 *
 *   node one-statement-service.js URL
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';

/** More make PostgreSQL on 2 cores slower, not faster. */
const POOL_CONNECTIONS = 16;

const INCREASE = `
  UPDATE count_values SET current_value = current_value + $2, last_updated_at = now()
  WHERE item_id = $1 RETURNING current_value`;

const pool = new pg.Pool({ connectionString: process.argv[2], max: POOL_CONNECTIONS });

async function increase(itemId: string, body: string): Promise<[status: number, answer: object]> {
  const { amount = 1 } = body === '' ? {} : (JSON.parse(body) as { amount?: number });
  const { rows } = await pool.query({ name: 'increase', text: INCREASE, values: [itemId, amount] });
  return rows.length === 0 ? [404, {}] : [200, { itemId, value: Number(rows[0].current_value) }];
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    increase(request.url!.split('/')[4]!, body)
      .catch((error: Error): [number, object] => [500, { error: error.message }])
      .then(([status, answer]) => {
        const text = JSON.stringify(answer);
        response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length }).end(text);
      });
  });
});

server.listen(0, '127.0.0.1', () => console.log(`ready ${(server.address() as AddressInfo).port}`));

process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void pool.end();
});
