import { container } from '../../../session/container.js';
import { clientKill } from './kill.js';
import { clientInfo, clientList } from './list.js';
import { clientNoEvict, clientNoTouch, clientReply } from './modes.js';
import { clientGetName, clientId, clientSetInfo, clientSetName } from './names.js';
import { clientPause, clientUnblock, clientUnpause } from './pause.js';
import { clientCaching, clientGetRedir, clientTracking, clientTrackingInfo } from './tracking.js';

export const client = container({
  name: 'client',
  group: 'connection',
  summary: 'Connections: this one, and all of them.',
  since: '2.4.0',
  subcommands: [
    clientCaching,
    clientGetName,
    clientGetRedir,
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
    clientTracking,
    clientTrackingInfo,
    clientUnblock,
    clientUnpause,
  ],
});
