import type { Reply } from '../client/reply.js';
import type { RespClient } from '../client/resp-client.js';

const CUSTOMERS = ['acme', 'globex', 'initech', 'umbrella', 'hooli', 'stark', 'wayne', 'tyrell'];
/** All requests of all regions are counted under this key. */
export const TOTAL_KEY = 'requests:all';

const WINDOW_MS = 60_000;
/** For each customer, a minute, in all regions together: the busiest one asks for about twice as much. */
const RATE_LIMIT = 3000;
/** The busiest customer has used its emails up after half of the minute. */
export const QUOTA = { name: 'emails', subject: CUSTOMERS[0], limit: 3000, windowMs: WINDOW_MS } as const;

/** A request of a client; false where it was denied. */
export type Request = (client: RespClient) => Promise<boolean>;

/** Counts a request, for its customer and in all, and asks a rate limit that all regions count together. */
export const call: Request = async (client) => {
  const customer = someCustomer();
  const minute = new Date().toISOString().slice(0, 16).replace(/\D/g, '');
  const [limit] = await Promise.all([
    client.call('RATE.LIMIT', `api:${customer}`, String(RATE_LIMIT), String(WINDOW_MS), '1'),
    client.call('INCR', TOTAL_KEY),
    client.call('INCRBYEX', `requests:${customer}:${minute}`, '1', '3600'),
  ]);
  return isAllowed(limit);
};

/** Takes one email from a quota that no region can overdraw, cut off or not. */
export const sendEmail: Request = async (client) =>
  isAllowed(await client.call('QUOTA.TAKE', QUOTA.name, someCustomer(), '1'));

/** The first are the busiest. */
function someCustomer(): string {
  return CUSTOMERS[Math.floor(Math.random() ** 2 * CUSTOMERS.length)];
}

/** Replies of rate limits and of quotas both start with 1 for allowed. */
function isAllowed(reply: Reply): boolean {
  return reply.kind === 'array' && 'text' in reply.items[0] && reply.items[0].text === '1';
}
