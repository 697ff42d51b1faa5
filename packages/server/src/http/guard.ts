import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpAccess } from '../access/bearer.js';
import type { Need } from '../access/roles.js';
import type { User } from '../access/user.js';

/** Who asks, if that is somebody who may; otherwise it has been answered. `what` is what needs the right: "metrics". */
export async function letIn(
  request: IncomingMessage,
  response: ServerResponse,
  access: HttpAccess,
  need: { readonly bit: (typeof Need)[keyof typeof Need]; readonly role: string; readonly what: string },
): Promise<User | undefined> {
  const { remoteAddress, remotePort } = request.socket;
  const user = await access.identify(request.headers.authorization, `${remoteAddress}:${remotePort}`);
  if (user === undefined) {
    response.writeHead(401, { 'www-authenticate': 'Bearer realm="quotadb"', 'content-type': 'application/json' });
    response.end(
      '{"code":"unauthenticated","error":"who are you? send Authorization: Bearer <token> or Basic <name:password>"}\n',
    );
    return undefined;
  }
  if ((user.lacks & need.bit) === 0) return user;
  response.writeHead(403, { 'content-type': 'application/json' });
  response.end(`{"code":"forbidden","error":"${need.what} need the role ${need.role}"}\n`);
  return undefined;
}

/** Whether a browser sends this for a page of another site: it then says which, and cannot be kept from it by that page. */
export function isFromAnotherSite({ headers: { origin, host } }: IncomingMessage): boolean {
  return origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
}
