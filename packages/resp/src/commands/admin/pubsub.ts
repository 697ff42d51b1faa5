import { errors } from '../../errors/errors.js';
import type { Command } from '../../session/command.js';
import { defineCommand } from '../../session/define.js';

const NOT_IN_SCRIPTS: Command['flags'] = ['noscript', 'loading', 'stale'];
/** Redis publishes from scripts: there the refusal names publish/subscribe, too. */
const IN_SCRIPTS: Command['flags'] = ['loading', 'stale'];

function refused(name: string, arity: number, syntax: string, since: string, flags = NOT_IN_SCRIPTS): Command {
  return defineCommand({
    name,
    arity,
    flags,
    group: 'server',
    summary: 'Refused: publish/subscribe is not supported.',
    since,
    syntax,
    run({ reply }) {
      reply.error(errors.noPubSub);
    },
  });
}

export const pubSubCommands: readonly Command[] = [
  refused('subscribe', -2, 'channel [channel ...]', '2.0.0'),
  refused('unsubscribe', -1, '[channel [channel ...]]', '2.0.0'),
  refused('psubscribe', -2, 'pattern [pattern ...]', '2.0.0'),
  refused('punsubscribe', -1, '[pattern [pattern ...]]', '2.0.0'),
  refused('ssubscribe', -2, 'shardchannel [shardchannel ...]', '7.0.0'),
  refused('sunsubscribe', -1, '[shardchannel [shardchannel ...]]', '7.0.0'),
  refused('publish', 3, 'channel message', '2.0.0', IN_SCRIPTS),
  refused('spublish', 3, 'shardchannel message', '7.0.0', IN_SCRIPTS),
  refused('pubsub', -2, 'subcommand [argument [argument ...]]', '2.8.0'),
];
