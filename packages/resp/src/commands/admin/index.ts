import type { Command } from '../../session/command.js';
import { acl } from './acl.js';
import { command } from './command/index.js';
import { config } from './config.js';
import { debug } from './debug.js';
import { info } from './info/index.js';
import { latency } from './latency.js';
import { memory } from './memory.js';
import { monitor } from './monitor.js';
import { pubSubCommands } from './pubsub.js';
import { moduleCommand, role } from './role.js';
import { backup, bgRewriteAof, bgsave, lastSave, save } from './save.js';
import { slowlog } from './slowlog.js';
import { time } from './time.js';
import { wait, waitAof } from './wait.js';

export const adminCommands: readonly Command[] = [
  wait,
  waitAof,
  acl,
  backup,
  bgRewriteAof,
  bgsave,
  command,
  config,
  debug,
  info,
  lastSave,
  latency,
  memory,
  moduleCommand,
  monitor,
  role,
  save,
  slowlog,
  time,
  ...pubSubCommands,
];
