import type { IncomingHttpHeaders } from 'node:http';
import type { Operation } from './operation.js';
import { ProblemError } from './problem.js';
import { problems } from './problems.js';

export interface SitesOptions {
  /** Whether callers without credentials are served at the moment. */
  readonly isOpen: () => boolean;
  /** Whether a name always means the machine of the caller: localhost, 127.0.0.1, [::1]. */
  readonly isLoopbackName: (name: string) => boolean;
  /** Further names of this server, with the port where pages are loaded from another one than 80 and 443. */
  readonly names?: readonly string[];
}

/** A name or an address, and a port. */
const HOST = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/;
const ORIGIN = /^https?:\/\/([^/]+)$/;

/**
 * What keeps a browser from being used against this server, in one place for every operation:
 *
 *   header          | refused                                                   | why
 *   ----------------|-----------------------------------------------------------|-------------------------------------
 *   Host            | where callers need no credentials, a name that is not the | another site can point its own name
 *                   | machine's own and not in `names`: 421                     | at this machine (DNS rebinding)
 *   Sec-Fetch-Site, | a page of another origin, for all that it can make a      | its forms, images and fetches reach
 *   Origin          | browser send: 403. A link to a page of ours may be        | ports of the machine of its reader
 *                   | followed: an operation without roles, as a new document   |
 *
 * Pages cannot set these headers, and clients that are no browsers send neither of the last two: they pass. A browser
 * sends Sec-Fetch-Site to servers of its own machine and over TLS, Origin with every request of another origin that is
 * no GET; what it sends without both changes nothing and is not shown to the page.
 */
export class Sites {
  readonly #options: SitesOptions;
  readonly #origins: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;
  /** Clients send the same one again and again. */
  #lastTrusted: string | undefined;

  constructor(options: SitesOptions) {
    const names = (options.names ?? []).map((name) => name.toLowerCase());
    this.#options = options;
    this.#origins = new Set(names);
    this.#names = new Set(names.map(nameOf));
  }

  /** Throws a problem that says what to set. */
  check(headers: IncomingHttpHeaders, method: string | undefined, operation: Operation): void {
    const { host = '' } = headers;
    if (!this.trustsHost(host)) {
      const detail =
        `This server has no credentials, so it answers to names of its own machine only, and "${host}" is none. ` +
        'Use 127.0.0.1, or start it with --http-name and this name.';
      throw new ProblemError(problems.unknown_host, { detail });
    }
    if (!this.#isForeign(headers) || isFollowedLink(headers, method, operation)) return;
    const page = headers.origin === undefined ? 'another site' : headers.origin;
    const detail =
      `The request was made by a page of ${page}, and this server answers to its own pages only. If that is a name ` +
      'of this server, as behind a proxy that changes Host, start it with --http-name and that name.';
    throw new ProblemError(problems.forbidden, { detail });
  }

  /** Without a Host (HTTP/1.0) it is no browser. */
  trustsHost(host: string): boolean {
    if (host === this.#lastTrusted || host === '' || !this.#options.isOpen()) return true;
    const name = nameOf(host.toLowerCase());
    const isTrusted = this.#names.has(name) || this.#options.isLoopbackName(name);
    if (isTrusted) this.#lastTrusted = host;
    return isTrusted;
  }

  #isForeign({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
    if (site === 'same-origin' || site === 'none' || (site === undefined && origin === undefined)) return false;
    const from = ORIGIN.exec(origin?.toLowerCase() ?? '')?.[1];
    if (from === undefined) return true;
    return !this.#origins.has(from) && (site !== undefined || from !== host?.toLowerCase());
  }
}

/** The name without the port; nothing is a name where the form is wrong. */
function nameOf(host: string): string {
  return HOST.exec(host)?.[1] ?? '';
}

function isFollowedLink(headers: IncomingHttpHeaders, method: string | undefined, { roles }: Operation): boolean {
  const isDocument = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return isDocument && method === 'GET' && roles === undefined;
}
