import { errors } from '../../../errors/errors.js';
import { argumentIs, bytesArgument, keyword, textArgument } from '../../../request/arguments.js';
import { nameMistake } from '../../../session/client.js';
import { defineFamily } from '../../../session/define.js';

const LIBRARY_NAME = keyword('lib-name');
const LIBRARY_VERSION = keyword('lib-ver');

const define = defineFamily({ flags: ['noscript', 'loading', 'stale'], group: 'connection', since: '2.6.9' });

export const clientId = define({
  name: 'id',
  arity: 2,
  summary: 'The id of this connection.',
  since: '5.0.0',
  run({ client, reply }) {
    reply.integer(client.id);
  },
});

export const clientGetName = define({
  name: 'getname',
  arity: 2,
  summary: 'The name of this connection.',
  run({ client, reply }) {
    if (client.name === '') reply.nil();
    else reply.bulkText(client.name);
  },
});

export const clientSetName = define({
  name: 'setname',
  arity: 3,
  summary: 'Names this connection; an empty name removes the name.',
  syntax: 'connection-name',
  run({ request, client, reply }) {
    const mistake = nameMistake(bytesArgument(request, 2), errors.clientNameInvalid);
    if (mistake !== undefined) return reply.error(mistake);
    client.name = textArgument(request, 2);
    reply.ok();
  },
});

export const clientSetInfo = define({
  name: 'setinfo',
  arity: 4,
  summary: 'Sets the name or version of the client library of this connection.',
  since: '7.2.0',
  syntax: '<LIB-NAME libname | LIB-VER libver>',
  run({ request, client, reply }) {
    const isName = argumentIs(request, 2, LIBRARY_NAME);
    if (!isName && !argumentIs(request, 2, LIBRARY_VERSION))
      return reply.error(errors.clientInfoUnknown(textArgument(request, 2)));
    const mistake = nameMistake(bytesArgument(request, 3), errors.clientInfoInvalid(textArgument(request, 2)));
    if (mistake !== undefined) return reply.error(mistake);
    if (isName) client.libraryName = textArgument(request, 3);
    else client.libraryVersion = textArgument(request, 3);
    reply.ok();
  },
});
