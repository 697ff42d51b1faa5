import { type Role, roles } from '../access/roles.js';
import { isPasswordHash, isTokenHash } from '../access/secrets.js';
import type { UserRecord, Users } from '../access/user.js';
import type { Kind } from './kinds.js';
import { Mistake } from './mistake.js';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$/;
const MAXIMUM_USERS = 10_000;
/** Prefixes are compared one after another with every key. */
const MAXIMUM_PREFIXES = 64;
const MAXIMUM_SECRETS = 16;
const MAXIMUM_WITHOUT = 256;
const COMMAND_NAME = /^[a-z][a-z.-]*(?:\|[a-z-]+)?$/;
const FIELDS: ReadonlySet<string> = new Set(['roles', 'prefixes', 'without', 'passwords', 'tokens']);

/**
 * The users of a config file:
 * `{"name": {"roles": […], "prefixes": […], "without": […], "passwords": […], "tokens": […]}}`.
 */
export function users(): Kind<Users> {
  return {
    placeholder: 'json',
    range: 'an object of users; see security.md',
    parse(text) {
      let value: unknown;
      try {
        value = text === '' ? {} : JSON.parse(text);
      } catch (error) {
        throw new Mistake(`must be JSON: ${(error as Error).message}`);
      }
      return readUsers(value);
    },
    read: readUsers,
    print: () => '',
    show: () => '',
  };
}

function readUsers(value: unknown): Users {
  if (!isObject(value)) throw new Mistake('must be an object: names, each with roles and passwords or tokens');
  const entries = Object.entries(value);
  if (entries.length > MAXIMUM_USERS) throw new Mistake(`there can be ${MAXIMUM_USERS} users at most`);
  const mistakes: string[] = [];
  const read = entries.map(([name, declaration]) => readUser(name, declaration, mistakes));
  if (mistakes.length > 0) throw new Mistake(mistakes.join('; '));
  return new Map(read.map((user) => [user.name, user]));
}

function readUser(name: string, declaration: unknown, mistakes: string[]): UserRecord {
  const wrong = (reason: string): void => {
    mistakes.push(`user "${name.slice(0, 64)}": ${reason}`);
  };
  const fields = isObject(declaration) ? declaration : {};
  if (!isObject(declaration)) wrong('must be an object with roles and passwords or tokens');
  if (!NAME.test(name)) wrong('a name is 1 to 64 letters, digits and _ . @ -, the first a letter or digit');
  for (const field of Object.keys(fields)) if (!FIELDS.has(field)) wrong(`has no "${field}"`);
  const texts = (field: string, maximum: number): readonly string[] => {
    const found = fields[field] ?? [];
    const isList = Array.isArray(found) && found.every((item) => typeof item === 'string');
    if (!isList) wrong(`"${field}" must be a list of texts`);
    else if (found.length > maximum) wrong(`"${field}" has more than ${maximum} items`);
    else return found;
    return [];
  };
  const user = {
    name,
    roles: texts('roles', roles.length) as readonly Role[],
    prefixes: texts('prefixes', MAXIMUM_PREFIXES),
    without: texts('without', MAXIMUM_WITHOUT).map((command) => command.toLowerCase()),
    passwords: texts('passwords', MAXIMUM_SECRETS),
    tokens: texts('tokens', MAXIMUM_SECRETS),
  };
  if (user.roles.length === 0) wrong(`needs roles: ${roles.join(', ')}`);
  for (const role of user.roles)
    if (!roles.includes(role)) wrong(`"${role}" is no role; there are ${roles.join(', ')}`);
  if (user.prefixes.includes('')) wrong('a prefix cannot be empty; leave "prefixes" out for all keys');
  if (user.roles.includes('admin') && user.prefixes.length > 0) wrong('an admin has all keys: leave "prefixes" out');
  for (const command of user.without)
    if (!COMMAND_NAME.test(command))
      wrong(`"${command.slice(0, 64)}" is no command: "without" takes KEYS or CLIENT|LIST`);
  if (user.passwords.length + user.tokens.length === 0) wrong('needs passwords or tokens');
  // The value is not shown: it may be a password in plain text.
  if (!user.passwords.every(isPasswordHash))
    wrong('a password must be hashed: use the output of "quotadb hash-password"');
  if (!user.tokens.every(isTokenHash)) wrong('a token must be hashed: use the output of "quotadb make-token"');
  return user;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
