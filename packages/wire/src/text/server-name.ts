/**
 * The name by which its peers know a server:
 *
 *   us      the only server of the region us
 *   us/a    the member a of the region us
 *
 * Everything that belongs to one server goes by this name: its replica id, its certificate, its data directory, its
 * watermarks. A lone server and a member of the same region may stand side by side.
 */
export const NAME_PART = /^[a-z0-9][a-z0-9-]{0,31}$/;
export const SERVER_NAME = /^[a-z0-9][a-z0-9-]{0,31}(?:\/[a-z0-9][a-z0-9-]{0,31})?$/;
export const MAXIMUM_SERVER_NAME_CHARACTERS = 65;

export function serverName({ region, member }: { readonly region: string; readonly member: string }): string {
  return member === '' ? region : `${region}/${member}`;
}

export function regionOfServer(name: string): string {
  const at = name.indexOf('/');
  return at === -1 ? name : name.slice(0, at);
}

/** Empty for a lone server. */
export function memberOfServer(name: string): string {
  const at = name.indexOf('/');
  return at === -1 ? '' : name.slice(at + 1);
}

/** Whether a server is in a region, or is the one of that name. */
export function isServerOf(name: string, regionOrServer: string): boolean {
  return name === regionOrServer || regionOfServer(name) === regionOrServer;
}
