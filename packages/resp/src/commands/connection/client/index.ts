import { container } from '../../../session/container.js';
import { clientKill } from './kill.js';
import { clientInfo, clientList } from './list.js';
import { clientNoEvict, clientNoTouch, clientPause, clientReply, clientUnpause } from './modes.js';
import { clientGetName, clientId, clientSetInfo, clientSetName } from './names.js';

export const client = container({
  name: 'client',
  group: 'connection',
  summary: 'Connections: this one, and all of them.',
  since: '2.4.0',
  subcommands: [
    clientGetName,
    clientId,
    clientInfo,
    clientKill,
    clientList,
    clientNoEvict,
    clientNoTouch,
    clientPause,
    clientReply,
    clientSetInfo,
    clientSetName,
    clientUnpause,
  ],
});
