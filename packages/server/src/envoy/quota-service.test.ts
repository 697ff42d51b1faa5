import { eventually } from '@quotadb/resp/testing';
import { describe, expect, test } from 'vitest';
import { useEnvoyServers } from './testing/use-envoy-servers.js';

const start = useEnvoyServers();
const YAML = `
domain: d
descriptors:
  - key: tenant
    descriptors:
      - { key: api, exact: true, rate_limit: { unit: hour, requests_per_unit: 100 } }
  - { key: fixed, rate_limit: { unit: hour, requests_per_unit: 100 } }
  - { key: small, exact: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
`;

const usage = (bucket: Record<string, string>, allowed = 0) => ({
  bucketId: { bucket },
  timeElapsed: { seconds: 1 },
  numRequestsAllowed: allowed,
});
const report = (...usages: ReturnType<typeof usage>[]) => ({ domain: 'd', bucketQuotaUsages: { ...usages } });

interface Action {
  readonly bucketId: unknown;
  readonly abandonAction?: object;
  readonly quotaAssignmentAction?: {
    readonly assignmentTimeToLive: { readonly seconds?: number };
    readonly rateLimitStrategy: {
      readonly blanketRule?: string;
      readonly tokenBucket?: { readonly maxTokens: number };
    };
  };
}

function actionsOf(replies: readonly Record<string, unknown>[]): Action[] {
  return replies.flatMap(({ bucketAction }) => bucketAction as Action[]);
}

describe('a proxy that reports a bucket', () => {
  test('gets a share of an exact limit, taken from the same tokens that RLS takes', async () => {
    const { client } = await start(YAML);
    const { call, replies } = client.reports();
    const bucket = { api: 'v1', tenant: 'acme' };
    call.write(report(usage(bucket)));
    await eventually(() => expect(replies).toHaveLength(1));
    const [{ bucketId, quotaAssignmentAction }] = actionsOf(replies);
    expect(bucketId).toEqual({ bucket });
    expect(quotaAssignmentAction?.rateLimitStrategy.tokenBucket).toMatchObject({
      maxTokens: 10,
      tokensPerFill: { value: 1 },
    });
    expect(quotaAssignmentAction?.assignmentTimeToLive).toEqual({ seconds: 10 });
    const { statuses } = await client.ask('d', [
      ['tenant', 'acme'],
      ['api', 'v1'],
    ]);
    expect(statuses[0].limitRemaining).toBe(89);
    call.end();
  });

  test('is denied where no tokens are left, and gets them when they are there again', async () => {
    const { client, clock } = await start(YAML);
    expect((await client.ask('d', [['small', 'x']])).overallCode).toBe('OK');
    const { call, replies } = client.reports();
    call.write(report(usage({ small: 'x' })));
    await eventually(() =>
      expect(actionsOf(replies)[0]?.quotaAssignmentAction?.rateLimitStrategy.blanketRule).toBe('DENY_ALL'),
    );
    clock.advance(3_600_000);
    await eventually(() =>
      expect(actionsOf(replies).at(-1)?.quotaAssignmentAction?.rateLimitStrategy.tokenBucket?.maxTokens).toBe(1),
    );
    call.end();
  });

  test('is allowed everything where there is no limit, and abandoned where the limit is not exact', async () => {
    const { client } = await start(YAML, { logLevel: 'silent' });
    const { call, replies } = client.reports();
    call.write(report(usage({ other: 'x' })));
    await eventually(() =>
      expect(actionsOf(replies)[0]?.quotaAssignmentAction?.rateLimitStrategy.blanketRule).toBe('ALLOW_ALL'),
    );
    call.write(report(usage({ fixed: 'x' })));
    await eventually(() =>
      expect(actionsOf(replies).at(-1)).toEqual({ bucketId: { bucket: { fixed: 'x' } }, abandonAction: {} }),
    );
    call.end();
  });
});

describe('a stream of reports ends with a status', () => {
  test.each<[string, readonly object[], number]>([
    ['without a domain', [{ bucketQuotaUsages: { 1: usage({ small: 'x' }) } }], 3],
    ['with another domain in its middle', [report(usage({ small: 'x' })), { domain: 'e' }], 3],
    ['with a bucket that has no name', [report(usage({}))], 3],
    [
      'with more buckets than a proxy has',
      [1, 2].map((part) => report(...Array.from({ length: 600 }, (_, index) => usage({ other: `${part}-${index}` })))),
      8,
    ],
  ])('%s', async (_, messages, code) => {
    const { client } = await start(YAML);
    const { call, status } = client.reports();
    for (const message of messages) call.write(message as Record<string, unknown>);
    expect((await status).code).toBe(code);
  });
});
