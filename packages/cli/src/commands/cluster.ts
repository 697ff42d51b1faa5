import type { Command } from 'commander';
import { addStoreCommand, type StoreCommand } from '../cluster/store-command.js';
import type { Exit } from '../terminal/run-command.js';

const EXAMPLES = `
Examples:
  $ quotadb cluster init cluster.yaml --etcd http://10.0.0.1:2379,http://10.0.0.2:2379
  $ export QUOTADB_ETCD=http://10.0.0.1:2379,http://10.0.0.2:2379
  $ quotadb cluster status                         exit code 1 while a member is away
  $ quotadb cluster add red --region eu --member b --host 10.0.1.2 --port 6380
  $ quotadb cluster remove red --region eu --member a --yes
  $ quotadb cluster move 0-4095 --to blue          while everything runs; shows the progress
  $ quotadb cluster rebalance --weights red=2,blue=1`;

const YES = ['--yes', 'do it without asking'] as const;
const NO_WAIT = ['--no-wait', 'do not show the progress'] as const;

/** In the order of the help. What they need is loaded when one of them runs. */
const SUBCOMMANDS: readonly StoreCommand[] = [
  {
    usage: 'init <file>',
    description: 'put the first map into etcd, from a file as --cluster-map has it',
    options: [['--replace', 'put it in the place of an older one: after etcd was restored from a backup'], YES],
    run: async (...given) => (await import('../cluster/init.js')).runInit(...given),
  },
  {
    usage: 'status',
    description: 'the map: groups, slots, moves, and members with the revision that is in force there',
    options: [],
    run: async (...given) => (await import('../cluster/status.js')).runStatus(...given),
  },
  {
    usage: 'add <group>',
    description: 'add a member to a group; a new group has no slots yet',
    options: [
      ['--region <name>', 'the --region of the server', true],
      ['--member <name>', 'its --member, where the region has several of the group'],
      ['--host <address>', 'where clients and other nodes reach it', true],
      ['--port <port>', 'its port for Redis clients'],
      ['--tls-port <port>', 'its port for Redis clients that use TLS'],
      ['--yes', 'do it without asking'],
    ],
    run: async (...given) => (await import('../cluster/add.js')).runAdd(...given),
  },
  {
    usage: 'remove <group>',
    description: 'remove a member, those of a region, or a group that has no slots',
    options: [
      ['--region <name>', 'only the members in this region'],
      ['--member <name>', 'only this one of --region'],
      ['--yes', 'do it without asking'],
    ],
    run: async (...given) => (await import('../cluster/remove.js')).runRemove(...given),
  },
  {
    usage: 'move <slots>',
    description: 'move slots with their keys to another group, as 0-100,200',
    options: [['--to <group>', 'the group that gets them', true], NO_WAIT, YES],
    run: async (...given) => (await import('../cluster/move.js')).runMove(...given),
  },
  {
    usage: 'rebalance',
    description: 'move as few slots as give every group its part',
    options: [['--weights <weights>', 'how many parts groups have, as red=2,blue=1; others have 1'], NO_WAIT, YES],
    run: async (...given) => (await import('../cluster/move.js')).runRebalance(...given),
  },
  {
    usage: 'pause',
    description: 'let moves stand still',
    options: [],
    run: async (...given) => (await import('../cluster/move.js')).runPause(...given),
  },
  {
    usage: 'resume',
    description: 'go on with moves that were paused',
    options: [],
    run: async (...given) => (await import('../cluster/move.js')).runResume(...given),
  },
];

/** `quotadb cluster …`: the cluster map in etcd. */
export function clusterCommand(program: Command, exit: Exit): void {
  const cluster = program
    .command('cluster')
    .description('show and change the cluster map in etcd')
    .addHelpText('after', EXAMPLES);
  for (const declared of SUBCOMMANDS) addStoreCommand(cluster, exit, declared);
}
