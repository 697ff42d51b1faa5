import type { Service } from './compose.js';
import { REPOSITORY } from './compose.js';

type Flags = { readonly [Key in keyof Service]-?: (value: NonNullable<Service[Key]>) => readonly string[] };

const none = () => [];
const each = (flag: string) => (values: readonly string[]) => values.map((value) => `--${flag}=${value}`);

/** A service of a compose file in the words of `podman run`. */
const flags: Flags = {
  build: none,
  image: none,
  profiles: none,
  command: none,
  depends_on: none,
  restart: none,
  user: (user) => [`--user=${user}`],
  network_mode: (mode) => [`--network=${mode}`],
  init: (isWanted) => [`--init=${isWanted}`],
  read_only: (isReadOnly) => [`--read-only=${isReadOnly}`],
  cap_drop: each('cap-drop'),
  // Podman has it without a value.
  security_opt: (options) => options.map((option) => `--security-opt=${option.replace(/:true$/, '')}`),
  tmpfs: each('tmpfs'),
  entrypoint: (words) => [`--entrypoint=${JSON.stringify(words)}`],
  environment: (variables) => Object.entries(variables).map(([name, value]) => `--env=${name}=${value}`),
  // The port of the machine is a free one: another cluster, or a test, may have the usual ones.
  ports: (ports) => ports.map((port) => `--publish=${port.replace(/^([\d.]+):\d+:(\d+)$/, '$1::$2')}`),
  volumes: (volumes) => volumes.map((volume) => `--volume=${volume.replace(/^\.\//, REPOSITORY)}`),
  secrets: each('secret'),
  healthcheck: ({ test: [kind, ...words] }) => {
    if (kind === 'CMD-SHELL') return [`--health-cmd=${words.join(' ')}`];
    if (kind === 'CMD') return [`--health-cmd=${JSON.stringify(words)}`];
    throw new Error(`a health check of the kind ${kind}`);
  },
  deploy: ({ resources: { limits } }) => [`--cpus=${limits.cpus}`, `--memory=${limits.memory.toLowerCase()}`],
};

/** The arguments of `podman run` behind its own flags. Throws for what it would have to leave out. */
export function runArguments(service: Service): readonly string[] {
  const words = Object.entries(service).flatMap(([key, value]) => {
    if (!(key in flags)) throw new Error(`a service has ${key}, which this cannot run`);
    return (flags[key as keyof Flags] as (given: unknown) => readonly string[])(value);
  });
  return [...words, service.image, ...(service.command ?? [])];
}
