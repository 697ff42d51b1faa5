import { randomBytes } from 'node:crypto';
import { DEFAULT_USER } from '@quotadb/config';
import { errors } from '../../errors/errors.js';
import { replyField, replyTexts, replyWords } from '../../reply/values.js';
import { numberArgument, textArgument } from '../../request/arguments.js';
import { awaitAnswer } from '../../session/await-answer.js';
import type { Call } from '../../session/command.js';
import { container } from '../../session/container.js';
import { defineFamily } from '../../session/define.js';
import { categoriesOf } from './command/categories.js';
import { describeRules, describeUser } from './describe-user.js';

/** Redis's own default and maximum. */
const PASSWORD_BITS = 256;
const MAXIMUM_PASSWORD_BITS = 4096;
/** Reading the file and replacing the users in every lane takes far less. */
const RELOAD_PATIENCE_MS = 30_000;

const define = defineFamily({ flags: ['admin', 'noscript', 'loading', 'stale'], group: 'server', since: '6.0.0' });

const aclWhoami = define({
  name: 'whoami',
  arity: 2,
  flags: ['noscript', 'loading', 'stale'],
  summary: 'The user of this connection.',
  run({ client, reply }) {
    reply.bulkText(client.user?.name ?? DEFAULT_USER);
  },
});

const aclUsers = define({
  name: 'users',
  arity: 2,
  summary: 'The names of all users.',
  complexity: 'O(N) where N is the number of users',
  run({ server, reply }) {
    replyTexts(reply, server.access.names());
  },
});

const aclList = define({
  name: 'list',
  arity: 2,
  summary: 'All users with their permissions, as ACL rules; hashes are not shown.',
  complexity: 'O(N) where N is the number of users',
  run({ server, reply }) {
    const rules = server.access.names().map((name) => describeRules(server, name));
    replyTexts(reply, rules);
  },
});

const aclGetUser = define({
  name: 'getuser',
  arity: 3,
  summary: 'The permissions of a user; hashes are not shown.',
  syntax: 'username',
  run(call) {
    const { request, server, reply } = call;
    const name = textArgument(request, 2);
    if (!server.access.names().includes(name)) reply.nil();
    else writeUser(call, name);
  },
});

const aclCat = define({
  name: 'cat',
  arity: -2,
  flags: ['noscript', 'loading', 'stale'],
  summary: 'The categories of commands, or the commands of one.',
  complexity: 'O(N) where N is the number of commands',
  syntax: '[category]',
  run({ request, server, reply }) {
    const { entries } = server.commands;
    if (request.argumentCount > 3) return reply.error(errors.syntax);
    const all = [...new Set(entries.flatMap(({ command }) => categoriesOf(command)))];
    if (request.argumentCount === 2) {
      const names = all.map((category) => category.slice(1));
      return replyTexts(reply, names);
    }
    const category = `@${textArgument(request, 2).toLowerCase()}`;
    if (!all.includes(category)) return reply.error(errors.unknownCategory(textArgument(request, 2)));
    const members = entries.filter(({ command }) => categoriesOf(command).includes(category));
    const names = members.map(({ fullName }) => fullName);
    replyTexts(reply, names);
  },
});

const aclGenPass = define({
  name: 'genpass',
  arity: -2,
  flags: ['noscript', 'loading', 'stale'],
  summary: 'A random password in hexadecimal, of 256 bits or of the given number.',
  syntax: '[bits]',
  run({ request, reply }) {
    const bits = request.argumentCount === 3 ? numberArgument(request, 2) : PASSWORD_BITS;
    if (request.argumentCount > 3 || !(bits >= 1 && bits <= MAXIMUM_PASSWORD_BITS)) {
      reply.error(errors.passwordBits);
      return;
    }
    const digits = Math.ceil(bits / 4);
    reply.bulkText(
      randomBytes(Math.ceil(digits / 2))
        .toString('hex')
        .slice(0, digits),
    );
  },
});

const aclLoad = define({
  name: 'load',
  arity: 2,
  flags: ['admin', 'noscript', 'loading', 'stale', 'no_multi'],
  summary:
    'Reads the configuration again, as SIGHUP does: users, certificates, and settings that CONFIG SET can change.',
  complexity: 'O(N) where N is the number of users and connections',
  run(call) {
    const ask = (answered: (mistake: string | undefined) => void) => call.server.askMain('reload', null, answered);
    awaitAnswer(call, RELOAD_PATIENCE_MS, ask, ({ reply }, answer) => {
      if (answer === undefined) reply.error(errors.reloadLate(RELOAD_PATIENCE_MS));
      else if (answer.value !== undefined) reply.error(errors.reloadFailed(answer.value));
      else reply.ok();
    });
  },
});

export const acl = container({
  name: 'acl',
  group: 'server',
  summary: 'Users and their permissions.',
  since: '6.0.0',
  subcommands: [aclCat, aclGenPass, aclGetUser, aclList, aclLoad, aclUsers, aclWhoami],
});

function writeUser({ server, reply }: Call, name: string): void {
  const { flags, passwords, commands, keys, channels } = describeUser(server, name);
  reply.map(6);
  reply.bulkText('flags');
  replyWords(reply, flags);
  reply.bulkText('passwords');
  replyTexts(reply, passwords);
  for (const [field, value] of Object.entries({ commands, keys, channels })) replyField(reply, field, value);
  reply.bulkText('selectors');
  reply.array(0);
}
