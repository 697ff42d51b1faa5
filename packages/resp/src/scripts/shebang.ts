/** The first line of a script, `#!lua flags=no-writes`: what it says about the script. */
export interface Shebang {
  /** Whether there is one. */
  readonly isThere: boolean;
  readonly flags: ReadonlySet<ScriptFlag>;
}

/**
 * Redis's flags, and Upstash's `allow-key-locking`, which asks for what every script gets here: only the declared keys
 * are locked. `no-writes` alone changes anything; docs/scripts.md says why.
 */
const SCRIPT_FLAGS = [
  'no-writes',
  'allow-oom',
  'allow-stale',
  'no-cluster',
  'allow-cross-slot-keys',
  'allow-key-locking',
] as const;
export type ScriptFlag = (typeof SCRIPT_FLAGS)[number];

const NONE: Shebang = { isThere: false, flags: new Set() };
const FLAGS = 'flags=';

/** The shebang of a source, or the mistake in it, in Redis's words. */
export function readShebang(source: string): Shebang | string {
  if (!source.startsWith('#!')) return NONE;
  const end = source.indexOf('\n');
  if (end === -1) return 'Invalid script shebang';
  const [engine = '', ...options] = source.slice(0, end).trim().split(/\s+/);
  if (engine !== '#!lua') return `Unexpected engine in script shebang: ${engine}`;
  const flags = new Set<ScriptFlag>();
  for (const option of options) {
    if (!option.startsWith(FLAGS)) return `Unknown lua shebang option: ${option}`;
    const names = option.slice(FLAGS.length);
    for (const name of names === '' ? [] : names.split(',')) {
      if (!isFlag(name)) return `Unexpected flag in script shebang: ${name}`;
      flags.add(name);
    }
  }
  return { isThere: true, flags };
}

/** The source without the shebang's text; its line stays, so that lines count as before. */
export function withoutShebang(source: string): string {
  return source.startsWith('#!') ? source.slice(source.indexOf('\n')) : source;
}

function isFlag(name: string): name is ScriptFlag {
  return (SCRIPT_FLAGS as readonly string[]).includes(name);
}
