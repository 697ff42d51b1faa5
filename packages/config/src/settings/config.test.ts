import { describe, expect, test } from 'vitest';
import { formatSize, parseSizeBytes } from '../kinds/size.js';
import { ConfigurationError, type ConfigurationSources, loadConfiguration } from './load.js';
import { changeParameters, ParameterError, parameterNames, printParameter } from './parameters.js';
import { defaultConfiguration, environmentVariable, peersOf, settingNames, settingOf } from './table.js';

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

describe('the cluster map', () => {
  const flags = { etcd: 'http://10.0.0.1:2379,https://10.0.0.2:2379/', group: 'red' };

  test('is in etcd, at one or more URLs, or in a file', () => {
    expect(load({ flags })).toMatchObject({
      etcdUrls: ['http://10.0.0.1:2379', 'https://10.0.0.2:2379'],
      etcdPrefix: '/quotadb',
      etcdLeaseSeconds: 10,
    });
    expect(load({ flags: { ...flags, etcd: ['http://a:1', 'http://b:2'] } }).etcdUrls).toEqual([
      'http://a:1',
      'http://b:2',
    ]);
    expect(mistakesOf({ flags: { ...flags, 'cluster-map': 'map.yaml' } })).toEqual([
      '--etcd: --cluster-map is given too, and the map is in one place: choose one',
    ]);
    expect(mistakesOf({ flags: { etcd: 'http://a:1' } })[0]).toContain('--etcd: needs --group');
    expect(mistakesOf({ flags: { group: 'red' } })[0]).toContain('--group: needs --cluster-map or --etcd');
  });

  test.each([
    'ftp://a',
    'a:2379',
    'http://a/v3',
    'http://me:secret@a',
    'http://a?x',
    Array(17).fill('http://a').join(),
  ])('is not at %s', (etcd) =>
    expect(mistakesOf({ flags: { ...flags, etcd } })[0]).toMatch(/^--etcd: .*must be the URLs/),
  );

  test('has users with passwords, and certificates with keys, over TLS', () => {
    const needs = (more: Record<string, string>) => mistakesOf({ flags: { ...flags, ...more } })[0];
    expect(needs({ 'etcd-user': 'me' })).toContain('belong together');
    expect(needs({ 'etcd-cert': 'a.pem' })).toContain('belong together');
    expect(needs({ etcd: 'http://a', 'etcd-ca': 'ca.pem' })).toContain('https://');
    expect(needs({ 'etcd-prefix': 'quotadb' })).toContain('--etcd-prefix');
  });
});

describe('the mesh', () => {
  const mesh = 'us=us:7380,eu=eu:7380,ap=ap:7380';
  const plaintext = { 'repl-plaintext': true };

  test('is the same line for every region, whose peers are the others', () => {
    for (const region of ['us', 'eu', 'ap']) {
      const others = peersOf(load({ flags: { ...plaintext, region }, environment: { QUOTADB_MESH: mesh } }));
      expect(others.map((peer) => peer.region)).toEqual(['us', 'eu', 'ap'].filter((other) => other !== region));
      expect(others.every(({ host, port }) => host.length === 2 && port === 7380)).toBe(true);
    }
  });

  test('is the same line for the members of a region, too', () => {
    const line = 'us/a=a:7380,us/b=b:7380,eu=eu:7380';
    const flags = { ...plaintext, region: 'us', member: 'b', mesh: [line] };
    expect(peersOf(load({ flags })).map((peer) => peer.region)).toEqual(['us/a', 'eu']);
    expect(mistakesOf({ flags: { ...flags, member: 'c' } })).toEqual([
      '--mesh: it has us/a, us/b, eu, and this server is us/c (--region, --member): add it, or give --peer instead',
    ]);
  });

  test('adds to the peers, and none of them twice', () => {
    const flags = { ...plaintext, region: 'us', mesh: ['us=us:7380', 'eu=eu:7380'], peer: ['ap=ap:7380'] };
    expect(peersOf(load({ flags })).map((peer) => peer.region)).toEqual(['ap', 'eu']);
    expect(mistakesOf({ flags: { ...flags, peer: ['eu=eu:1'] } })).toEqual(['--peer: eu is given twice']);
  });

  test('without this region, or over plaintext that nobody asked for, is a mistake', () => {
    expect(mistakesOf({ flags: { ...plaintext, region: 'sa', mesh: [mesh] } })).toEqual([
      '--mesh: it has us, eu, ap, and this server is sa (--region): add it, or give --peer instead',
    ]);
    expect(mistakesOf({ flags: { region: 'us', mesh: [mesh] } })).toEqual([
      expect.stringContaining('eu is not on this machine'),
      expect.stringContaining('ap is not on this machine'),
    ]);
  });
});

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
      expect(mistakesOf({ flags: { feed: [feed] } })).toEqual([
        expect.stringMatching(/^--feed: ".*" must be the id of/),
      ]);
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

  test('durations have units, and a bare number keeps the unit of its setting', () => {
    const flags = {
      timeout: '5m',
      'repl-interval': '1s',
      'idempotency-window': '2d',
      'slowlog-log-slower-than': '5ms',
    };
    expect(load({ flags })).toMatchObject({
      timeoutSeconds: 300,
      replicationIntervalMs: 1000,
      idempotencyWindowHours: 48,
      slowlogSlowerThanMicroseconds: 5000,
    });
    expect(load({ flags: { timeout: '5', 'repl-interval': '5', fsync: '2s' } })).toMatchObject({
      timeoutSeconds: 5,
      replicationIntervalMs: 5,
      fsync: 2000,
    });
    expect(load({ flags: { 'slowlog-log-slower-than': '-1' } }).slowlogSlowerThanMicroseconds).toBe(-1);
    // Not a whole number of the unit that the setting is kept in.
    expect(mistakesOf({ flags: { timeout: '1500ms' } })).toEqual([expect.stringContaining('"1500ms" must be')]);
  });

  test('a config file is YAML, or JSON with comments, and its scalars stay as they are written', () => {
    const yaml = '# of the eu region\nregion: eu\npassword: 007\ntimeout: 90s\nmemory: yes\ngrow-only: [a, b]\n';
    const json = `// of the eu region
      { "region": "eu", /* "http": 1, */ "password": "007", "timeout": "90s", "memory": true,
        "grow-only": ["a", "b"], // a comma at the end is no mistake
      }`;
    for (const text of [yaml, json])
      expect(load({ file: { path: 'f', text } })).toMatchObject({
        region: 'eu',
        password: '007',
        timeoutSeconds: 90,
        memory: true,
        growOnlyPrefixes: ['a', 'b'],
      });
    const url = load({ file: { path: 'f', text: '{"otlp-endpoint": "http://collector:4318"}' } }).otlpEndpoint;
    expect(url).toBe('http://collector:4318');
  });

  test('a config file whose aliases multiply is a mistake and not a full memory', () => {
    const repeated = (name: string) => `[${Array.from({ length: 20 }, () => `*${name}`).join(', ')}]`;
    const text = `feed: &a [x]\npeer: &b ${repeated('a')}\nhttp-name: &c ${repeated('b')}\ngrow-only: ${repeated('c')}\n`;
    expect(mistakesOf({ file: { path: 'f', text } })).toContainEqual(expect.stringMatching(/^f:4: .*alias/));
  });

  test('a server is no peer of itself, and another member of its region is one', () => {
    const flags = (peer: string) => ({ flags: { region: 'us', member: 'a', peer: [peer] } });
    expect(mistakesOf(flags('us/a=127.0.0.1:1'))).toEqual([
      '--peer: us/a is the name of this server itself (--region, --member)',
    ]);
    expect(mistakesOf(flags('us/b=127.0.0.1:1'))).toEqual([]);
  });

  test('a mistake in a config file is reported with its line', () => {
    const text = 'region: eu\n\npeer:\n  - us=10.0.0.2:7380\n  - ap\nmax-memroy: 1gb\n';
    expect(mistakesOf({ file: { path: 'q.yaml', text } })).toEqual([
      'q.yaml:6: "max-memroy": no such setting; did you mean "max-memory"?',
      'q.yaml:3: "peer": "ap" must be region=host:port or region/member=host:port, such as eu=10.0.0.2:7380',
    ]);
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
      'q.json:1: "tiemout": no such setting; did you mean "timeout"?',
      'q.json:1: "region": cannot be an object: it must be 1 to 32 of a-z, 0-9 and -',
      '--resp: "70000" must be a whole number, -1 to 65535',
      'QUOTADB_MAX_CLIENTS: "0" must be a whole number, 1 to 4294967295',
      'q.json:1: "timeout": "soon" must be a duration, 0s to 2147483647s, such as 250ms, 60s, 5m, 1h30m, 1d ' +
        'or 2w; a bare number is seconds',
      'QUOTADB_MAX_MEMORY: "much" must be a size, 4mb to 16gb, such as 512mb, 2gb or a number of bytes',
      '--log-level: "loud" must be one of: trace, debug, info, warn, error, fatal, silent',
    ]);
  });

  test('a secret is never part of its mistake', () => {
    const [mistake] = mistakesOf({ flags: { postgres: 'postgress://me:hunter2@host/db' } });
    expect(mistake).toMatch(/^--postgres: must be postgresql:/);
    expect(mistake).not.toContain('hunter2');
  });

  test.each([
    ['{', /^q.json:1: neither YAML nor JSON: /],
    ['[]', /must hold settings by their names/],
    ['region: us\nregion: eu', /^q.json:2: "region": it is in line 1 already: give it once$/],
    ['region: us\n---\nhttp: 1', /^q.json:2: a second document begins here/],
    ['timeout:\n', /^q.json:1: "timeout": has no value: it must be 0s to/],
    ['{\n"timeout": null}', /^q.json:2: "timeout": has no value/],
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
    ['4MiB', 4 * 1024 ** 2],
  ])('%s is %i bytes', (text, bytes) => {
    expect(parseSizeBytes(text)).toBe(bytes);
    expect(parseSizeBytes(formatSize(bytes))).toBe(bytes);
  });

  test.each(['', 'mb', '1.5mb', '-1', '1tb', '1 mb', '99999999999999999gb'])('%j is no size', (text) => {
    expect(() => parseSizeBytes(text)).toThrow('must be a size, such as 512mb');
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
