import type { Call, Command } from '../../session/command.js';
import { defineCommand } from '../../session/define.js';

/** Position of the number of keys; they follow it, and the other arguments follow them. */
const KEY_COUNT = 2;

function evaluation(
  name: string,
  since: string,
  summary: string,
  first: 'script' | 'sha1',
  run: (call: Call) => void,
): Command {
  const isReadOnly = name.endsWith('_ro');
  return defineCommand({
    name,
    arity: -3,
    flags: [
      ...(isReadOnly ? (['readonly'] as const) : []),
      'noscript',
      'stale',
      'skip_monitor',
      'no_mandatory_keys',
      'movablekeys',
    ],
    keyCountAt: KEY_COUNT,
    group: 'scripting',
    summary,
    since,
    complexity: 'Depends on the script that is executed.',
    syntax: `${first} numkeys [key [key ...]] [arg [arg ...]]`,
    run,
  });
}

/** What a script may do is decided call by call: each of its commands needs the permissions that it needs elsewhere. */
export const evaluations: readonly Command[] = [
  evaluation('eval', '2.6.0', 'Runs a Lua script, with no other client in between.', 'script', (call) =>
    call.server.scripts.evaluate(call, false),
  ),
  evaluation('evalsha', '2.6.0', 'Runs a script that was loaded or run before, by its digest.', 'sha1', (call) =>
    call.server.scripts.evaluateStored(call, false),
  ),
  evaluation('eval_ro', '7.0.0', 'Runs a script that changes nothing.', 'script', (call) =>
    call.server.scripts.evaluate(call, true),
  ),
  evaluation('evalsha_ro', '7.0.0', 'Runs a script that changes nothing, by its digest.', 'sha1', (call) =>
    call.server.scripts.evaluateStored(call, true),
  ),
];
