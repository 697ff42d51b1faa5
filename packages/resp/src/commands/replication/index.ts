import type { Command } from '../../session/command.js';
import { freshGet } from './fresh-get.js';
import { replAges } from './repl-ages.js';
import { replPeers } from './repl-peers.js';
import { replShards } from './repl-shards.js';

export const replicationCommands: readonly Command[] = [freshGet, replAges, replPeers, replShards];
