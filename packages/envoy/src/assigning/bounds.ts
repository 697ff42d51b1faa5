/** How shares of limits are given to proxies. Times are in milliseconds. */

/** The longest time that a proxy may use a share without asking; a share also ends with the window of its limit. */
export const ASSIGNMENT_MS = 10_000;
/** A share is replaced this long before it ends, unless it ends with its window. */
export const LEAD_MS = 500;
/**
 * After a share has ended or was replaced, how long its proxy may still use it: the way to the proxy and back. Tokens
 * that were not used come back after that, with the proxy's next report.
 */
export const GRACE_MS = 1000;
/** How long a settled share can still be reported on, before it counts as spent. */
export const SETTLE_MS = 20_000;
/** A bucket without requests for this long is abandoned. */
export const IDLE_MS = 60_000;
/** After a denial, when to look for tokens again. */
export const RETRY_MS = 1000;
export const TICK_MS = 50;
/** The first share, as a part of the limit: nothing is known about the demand yet. */
export const FIRST_PART = 0.1;
/** From this part of a share that is used, the proxy gets the next one with its report. */
export const LOW_PART = 0.8;
/** Above the demand, so that a proxy whose load grows is not denied at once. */
export const HEADROOM = 1.25;
/** No token comes back while a share holds. Each has an interval of its own, or proxies take it for the former. */
export const FILL_SECONDS = 7 * 86_400;
export const SERIALS = 3600;
