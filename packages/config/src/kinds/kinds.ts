import type { PartialDefinition } from '@quotadb/quota';
import { PolicyError, parseDefinition, printDefinition } from '@quotadb/quota';
import type { FsyncMode } from '@quotadb/storage';
import { duration } from './duration.js';
import { Mistake } from './mistake.js';
import { type OutputLimit, parseOutputLimit, printOutputLimit } from './output-limit.js';
import { type PeerAddress, parsePeerAddress, printPeerAddress } from './peer-address.js';
import { formatSize, readSizeBytes, SIZE_EXAMPLES } from './size.js';

/** The possible values of a setting. */
export interface Kind<Value> {
  /** Stands for the value in help: `--resp <port>`. Empty for a switch, which needs none. */
  readonly placeholder: string;
  /** Bounds or choices, for the reference. */
  readonly range: string;
  /** Throws a Mistake. */
  parse(text: string): Value;
  /** For a value that a config file may hold as a JSON object instead of text; throws a Mistake. */
  read?(value: unknown): Value;
  /** As CONFIG GET shows it. */
  print(value: Value): string;
  /** As help and the reference show it. */
  show(value: Value): string;
}

const MAXIMUM_PORT = 65_535;

/** Help shows a value as CONFIG GET does, unless the kind has a form of its own. */
function kind<Value>(declaration: Omit<Kind<Value>, 'show'> & Partial<Kind<Value>>): Kind<Value> {
  return { show: declaration.print, ...declaration };
}

/** A count and the key of the counter that feeds it. */
export interface Feed {
  readonly itemId: string;
  readonly key: string;
}

/** An item id as the counts API takes it, but for the characters that separate it here. */
const FEED = /^([^\p{Cc}=]{1,255})(?:=(.+))?$/su;

export function text(placeholder: string, allowed: RegExp, range: string): Kind<string> {
  return kind({
    placeholder,
    range,
    parse(value) {
      if (!allowed.test(value)) throw new Mistake(`must be ${range}`, value);
      return value;
    },
    print: (value) => value,
  });
}

export function pemFile(remark = ''): Kind<string> {
  return text('file', /^[^\0]*$/, `the path of a PEM file${remark}`);
}

export function integer(placeholder: string, minimum: number, maximum: number): Kind<number> {
  return kind({
    placeholder,
    range: `${minimum} to ${maximum}`,
    parse(value) {
      const number = /^-?\d{1,16}$/.test(value.trim()) ? Number(value) : Number.NaN;
      if (number >= minimum && number <= maximum) return number;
      throw new Mistake(`must be a whole number, ${minimum} to ${maximum}`, value);
    },
    print: String,
  });
}

export function port(): Kind<number> {
  return { ...integer('port', 0, MAXIMUM_PORT), range: `0 to ${MAXIMUM_PORT}; 0 picks a free one` };
}

export function size(minimumBytes: number, maximumBytes: number): Kind<number> {
  const range = `${formatSize(minimumBytes)} to ${formatSize(maximumBytes)}`;
  return {
    placeholder: 'size',
    range,
    parse(value) {
      const bytes = readSizeBytes(value);
      if (bytes !== undefined && bytes >= minimumBytes && bytes <= maximumBytes) return bytes;
      throw new Mistake(`must be a size, ${range}, ${SIZE_EXAMPLES}`, value);
    },
    print: String,
    show: formatSize,
  };
}

export function choice<Option extends string>(placeholder: string, options: readonly Option[]): Kind<Option> {
  return kind({
    placeholder,
    range: options.join(', '),
    parse(value) {
      const chosen = options.find((option) => option === value.toLowerCase());
      if (chosen === undefined) throw new Mistake(`must be one of: ${options.join(', ')}`, value);
      return chosen;
    },
    print: (value) => value,
  });
}

export function powerOfTwo(placeholder: string, minimum: number, maximum: number): Kind<number> {
  const plain = integer(placeholder, minimum, maximum);
  return {
    ...plain,
    range: `a power of two, ${minimum} to ${maximum}`,
    parse(value) {
      const number = plain.parse(value);
      if ((number & (number - 1)) !== 0) throw new Mistake(`must be a power of two, ${minimum} to ${maximum}`, value);
      return number;
    },
  };
}

const LONGEST_FSYNC_INTERVAL_MS = 60_000;

export function fsyncMode(): Kind<FsyncMode> {
  const interval = duration('milliseconds', 1, LONGEST_FSYNC_INTERVAL_MS);
  const range = `always, never, or a duration, ${interval.range}`;
  return kind({
    placeholder: 'when',
    range,
    parse(value) {
      const word = value.toLowerCase();
      if (word === 'always' || word === 'never') return word;
      try {
        return interval.parse(value);
      } catch {
        throw new Mistake(`must be ${range}`, value);
      }
    },
    print: String,
    show: (value) => (typeof value === 'number' ? interval.show(value) : value),
  });
}

/** On the command line its mere presence means yes. */
export function yesOrNo(): Kind<boolean> {
  const values: Readonly<Record<string, boolean>> = { yes: true, no: false, true: true, false: false };
  return kind({
    placeholder: '',
    range: 'yes, no',
    parse(value) {
      const parsed = values[value.toLowerCase()];
      if (parsed === undefined) throw new Mistake('must be yes or no', value);
      return parsed;
    },
    print: (value) => (value ? 'yes' : 'no'),
  });
}

/** A setting that may be given several times; commas separate its values where it can be given only once. */
function listOf<Item>(
  placeholder: string,
  range: string,
  parse: (text: string) => Item,
  print: (item: Item) => string,
): Kind<readonly Item[]> {
  return kind({
    placeholder,
    range,
    parse: (value) =>
      value
        .split(',')
        .filter((item) => item !== '')
        .map(parse),
    print: (items) => items.map(print).join(','),
  });
}

export function list(placeholder: string, range: string): Kind<readonly string[]> {
  return listOf(placeholder, range, String, String);
}

const HOST_NAME = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::\d{1,5})?$/;

export function hostNames(): Kind<readonly string[]> {
  const range = 'a host name or an IP address, with the port of its pages unless it is 80 or 443';
  const parse = (text: string): string => {
    const name = text.toLowerCase();
    if (!HOST_NAME.test(name)) throw new Mistake(`must be ${range}, without a scheme or a path`, text);
    return name;
  };
  return listOf('name', range, parse, String);
}

const MAXIMUM_URLS = 16;

/** Of servers that do the same, without a path and without credentials. */
export function urls(): Kind<readonly string[]> {
  const range = `the URLs of one to ${MAXIMUM_URLS} servers, such as http://10.0.0.1:2379`;
  const parse = (text: string): string => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isPlain =
      url?.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
    if (!isPlain || !['http:', 'https:'].includes(url.protocol))
      throw new Mistake(`must be ${range}, and no more than that`, text);
    return url.origin;
  };
  const all = listOf('url', range, parse, String);
  return {
    ...all,
    parse(value) {
      const list = all.parse(value);
      if (list.length > MAXIMUM_URLS) throw new Mistake(`must be ${range}`, value);
      return list;
    },
  };
}

export function peerAddresses(): Kind<readonly PeerAddress[]> {
  const range = 'a region and its address, such as eu=10.0.0.2:7380';
  return listOf('region=host:port', range, parsePeerAddress, printPeerAddress);
}

function parseQuota(text: string): PartialDefinition {
  try {
    const definition = parseDefinition(text.trim().split(/\s+/));
    if (definition.windowMs !== 0 || definition.leaseMs !== undefined) return definition;
    throw new PolicyError('a quota without a window must be defined once with QUOTA.DEFINE, not at every start');
  } catch (error) {
    throw error instanceof PolicyError ? new Mistake(`is no quota: ${error.message}`, text.trim()) : error;
  }
}

export function quotaDefinitions(): Kind<readonly PartialDefinition[]> {
  return kind({
    placeholder: 'definition',
    range: 'such as "calls LIMIT 1000 WINDOW 60s"; several with ";" between them',
    parse: (value) =>
      value
        .split(';')
        .filter((text) => text.trim() !== '')
        .map(parseQuota),
    print: (definitions) => definitions.map(printDefinition).join('; '),
  });
}

/** ITEM=KEY pairs; ITEM alone stands for the key of the same name. */
export function feeds(): Kind<readonly Feed[]> {
  const range = 'the id of a count and the key of a counter, without commas; may be given several times';
  return listOf('item=key', range, parseFeed, ({ itemId, key }) => `${itemId}=${key}`);
}

function parseFeed(text: string): Feed {
  const [, itemId, key = itemId] = FEED.exec(text) ?? [];
  if (itemId === undefined || key === undefined) throw new Mistake('must be the id of a count, or id=key', text);
  return { itemId, key };
}

export function outputLimit(): Kind<OutputLimit> {
  return {
    placeholder: 'limit',
    range: '"hard soft soft-seconds", 0 for none',
    parse: parseOutputLimit,
    print: (value) => printOutputLimit(value, String),
    show: (value) => printOutputLimit(value, formatSize),
  };
}
