import { describe, expect, test } from 'vitest';
import { formatSize, parseSizeBytes } from '../kinds/size.js';
import { ConfigurationError, type ConfigurationSources, loadConfiguration } from './load.js';
import { changeParameters, ParameterError, parameterNames, printParameter } from './parameters.js';
import { defaultConfiguration, environmentVariable, settingNames, settingOf } from './table.js';

function load(sources: Partial<ConfigurationSources>) {
  return loadConfiguration({ flags: {}, environment: {}, ...sources });
}

function mistakesOf(sources: Partial<ConfigurationSources>): readonly string[] {
  try {
    load(sources);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.mistakes;
  }
}

describe('feeds', () => {
  test('are an item and a key, or one name for both, and may be given several times', () => {
    const given = load({ flags: { feed: ['visits=page:visits=1', 'plain,other=o'] } });
    expect(given.feeds).toEqual([
      { itemId: 'visits', key: 'page:visits=1' },
      { itemId: 'plain', key: 'plain' },
      { itemId: 'other', key: 'o' },
    ]);
  });

  test('that name no item or no key, or are too many, are mistakes', () => {
    for (const feed of ['=key', 'item=', '\u0001=key', `${'i'.repeat(256)}=key`]) {
      expect(mistakesOf({ flags: { feed: [feed] } })).toEqual(['--feed: argument must be an item id, or item=key']);
    }
    const feed = Array.from({ length: 10_001 }, (_, index) => `item-${index}`);
    expect(mistakesOf({ flags: { feed } })).toEqual(['--feed: there may be at most 10000']);
  });
});

describe('tracing', () => {
  test('takes the variables of OpenTelemetry too, and our own names win', () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      OTEL_EXPORTER_OTLP_HEADERS: 'key=1,other=a=b',
    };
    expect(load({ environment })).toMatchObject({
      otlpEndpoint: 'http://collector:4318',
      otlpHeaders: ['key=1', 'other=a=b'],
    });
    const both = { ...environment, QUOTADB_OTLP_ENDPOINT: 'http://ours:4318' };
    expect(load({ environment: both }).otlpEndpoint).toBe('http://ours:4318');
    const file = { path: 'f', text: '{"otlp-endpoint": "http://file:4318"}' };
    expect(load({ environment, file }).otlpEndpoint).toBe('http://file:4318');
  });

  test('an endpoint that is no address and a header without a name are mistakes', () => {
    expect(mistakesOf({ flags: { 'otlp-endpoint': 'collector' } })).toHaveLength(1);
    expect(mistakesOf({ flags: { 'otlp-header': ['=x'] } })).toEqual(['--otlp-header: a header is name=value']);
  });
});

describe('the table', () => {
  test('without any source every setting has its default', () => {
    expect(load({})).toEqual(defaultConfiguration());
  });

  test('every default is a value its own kind accepts', () => {
    for (const name of settingNames) {
      const { kind, default: standard } = settingOf(name);
      expect(kind.parse(kind.print(standard))).toEqual(standard);
      expect(kind.parse(kind.show(standard))).toEqual(standard);
    }
  });

  test('flags, variables and CONFIG names are unique', () => {
    const flags = settingNames.map((name) => settingOf(name).flag);
    expect(new Set(flags).size).toBe(flags.length);
    expect(new Set(parameterNames()).size).toBe(parameterNames().length);
    expect(environmentVariable('max-memory')).toBe('QUOTADB_MAX_MEMORY');
  });
});

describe('sources', () => {
  test('a flag wins over the environment, the environment over the file, the file over the default', () => {
    const file = { path: 'q.json', text: '{"resp": 1, "http": 2, "region": "file", "timeout": "30"}' };
    const environment = { QUOTADB_RESP: '11', QUOTADB_HTTP: '12' };
    expect(load({ flags: { resp: '21' }, environment, file })).toMatchObject({
      respPort: 21,
      httpPort: 12,
      region: 'file',
      timeoutSeconds: 30,
      maxClients: 10_000,
    });
  });

  test('a setting that may be given several times takes a list', () => {
    expect(load({ flags: { 'grow-only': ['a:', 'b:'] } }).growOnlyPrefixes).toEqual(['a:', 'b:']);
    expect(load({ environment: { QUOTADB_GROW_ONLY: 'a:,b:' } }).growOnlyPrefixes).toEqual(['a:', 'b:']);
    expect(load({ file: { path: 'f', text: '{"grow-only": ["a:"]}' } }).growOnlyPrefixes).toEqual(['a:']);
  });

  test('sizes have units', () => {
    expect(load({ flags: { 'max-memory': '2GB' } }).maxMemoryBytes).toBe(2 * 1024 ** 3);
    expect(load({ flags: { 'client-output-buffer-limit': '32mb 8mb 60' } }).outputLimit).toEqual({
      hardBytes: 32 * 1024 ** 2,
      softBytes: 8 * 1024 ** 2,
      softSeconds: 60,
    });
  });

  test('variables of other programs that only look like ours are left alone', () => {
    expect(mistakesOf({ environment: { QUOTADB_PORT: 'tcp://10.0.0.1:6380', QUOTADB_SERVICE_HOST: 'x' } })).toEqual([]);
  });
});

describe('mistakes', () => {
  test('all are reported at once, each with where it came from', () => {
    const mistakes = mistakesOf({
      flags: { resp: '70000', 'log-level': 'loud' },
      environment: { QUOTADB_MAX_MEMORY: 'much', QUOTADB_MAX_CLIENTS: '0' },
      file: { path: 'q.json', text: '{"timeout": "soon", "tiemout": 3, "region": {"name": "x"}}' },
    });
    expect(mistakes).toEqual([
      'q.json: "tiemout": no such setting',
      'q.json: "region": argument must be a text, a number, true or false',
      '--resp: argument must be between -1 and 65535 inclusive',
      'QUOTADB_MAX_CLIENTS: argument must be between 1 and 4294967295 inclusive',
      'q.json: "timeout": argument couldn\'t be parsed into an integer',
      'QUOTADB_MAX_MEMORY: argument must be a memory value',
      '--log-level: argument(s) must be one of the following: trace, debug, info, warn, error, fatal, silent',
    ]);
  });

  test.each([
    ['{', /not JSON/],
    ['[]', /must hold one JSON object/],
  ])('a config file that holds %s is refused', (text, expected) => {
    expect(mistakesOf({ file: { path: 'q.json', text } })).toEqual([expect.stringMatching(expected)]);
  });

  test('an address that others can reach needs a password', () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com']) {
      expect(mistakesOf({ flags: { host } })).toEqual([expect.stringContaining('--password')]);
      expect(mistakesOf({ flags: { host, password: 'secret' } })).toEqual([]);
    }
    for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::1'])
      expect(mistakesOf({ flags: { host } })).toEqual([]);
  });

  test('settings of the disk that contradict each other are refused', () => {
    expect(mistakesOf({ flags: { data: './data', memory: true } })).toEqual([
      expect.stringContaining('--memory: --data is given too'),
    ]);
    expect(mistakesOf({ flags: { 'keep-incarnation': true } })).toEqual([
      expect.stringContaining('--keep-incarnation: '),
    ]);
    expect(mistakesOf({ environment: { QUOTADB_DATA: './data', QUOTADB_FSYNC: 'always' } })).toEqual([]);
    expect(mistakesOf({ environment: { QUOTADB_FSYNC: '0' } })).toHaveLength(1);
    expect(mistakesOf({ flags: { memory: true } })).toEqual([]);
  });

  test('two ports that are one are refused; 0 and 0 are not', () => {
    expect(mistakesOf({ flags: { resp: '7000', http: '7000' } })).toHaveLength(1);
    expect(mistakesOf({ flags: { resp: '0', http: '0' } })).toEqual([]);
    expect(mistakesOf({ flags: { http: '7000', 'internal-http': '7000' } })).toHaveLength(1);
    expect(mistakesOf({ flags: { http: '0', 'internal-http': '0' } })).toEqual([]);
  });

  test('a database must be named by a URL, and a token has one role', () => {
    expect(mistakesOf({ flags: { postgres: 'localhost' } })).toHaveLength(1);
    expect(mistakesOf({ flags: { postgres: 'postgresql://user@host/database?sslmode=verify-full' } })).toEqual([]);
    const same = { 'counts-token': ['a', 'b'], 'counts-internal-token': ['b'] };
    expect(mistakesOf({ flags: same })).toEqual([expect.stringContaining('--counts-internal-token')]);
  });
});

describe('sizes', () => {
  test.each([
    ['0', 0],
    ['1024', 1024],
    ['1k', 1000],
    ['1kb', 1024],
    ['3MB', 3 * 1024 ** 2],
    ['2g', 2e9],
    ['1gb', 1024 ** 3],
    ['7b', 7],
  ])('%s is %i bytes', (text, bytes) => {
    expect(parseSizeBytes(text)).toBe(bytes);
    expect(parseSizeBytes(formatSize(bytes))).toBe(bytes);
  });

  test.each(['', 'mb', '1.5mb', '-1', '1tb', '1 mb', '99999999999999999gb'])('%j is no size', (text) => {
    expect(() => parseSizeBytes(text)).toThrow('argument must be a memory value');
  });
});

describe('parameters at run time', () => {
  test('change all together or not at all', () => {
    const config = defaultConfiguration();
    changeParameters(config, [
      ['maxclients', '5'],
      ['timeout', '6'],
    ]);
    expect(config).toMatchObject({ maxClients: 5, timeoutSeconds: 6 });
    expect(() =>
      changeParameters(config, [
        ['maxclients', '7'],
        ['nonsense', '8'],
      ]),
    ).toThrow(ParameterError);
    expect(config.maxClients).toBe(5);
    expect(printParameter(config, 'maxclients')).toBe('5');
  });

  test('names that every object has are no parameters', () => {
    const config = defaultConfiguration();
    for (const name of ['constructor', '__proto__', 'toString']) {
      expect(() => changeParameters(config, [[name, '']])).toThrow(ParameterError);
    }
  });
});
