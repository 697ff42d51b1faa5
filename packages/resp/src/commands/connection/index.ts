import type { Command } from '../../session/command.js';
import { auth } from './auth.js';
import { client } from './client/index.js';
import { echo } from './echo.js';
import { hello } from './hello.js';
import { ping } from './ping.js';
import { quit } from './quit.js';
import { reset } from './reset.js';
import { select } from './select.js';

export const connectionCommands: readonly Command[] = [auth, client, echo, hello, ping, quit, reset, select];
