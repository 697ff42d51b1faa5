import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBy, encodeBy } from '../testing/envoy-client.js';
import { MAXIMUM_DESCRIPTORS, MAXIMUM_ENTRIES } from './bounds.js';
import { decodeHealthRequest, encodeHealthResponse, ServingStatus } from './health.js';
import { decodeUsageReports, encodeQuotaResponse } from './quota-messages.js';
import { decodeRateLimitRequest } from './rate-limit-request.js';
import { Code, encodeRateLimitResponse } from './rate-limit-response.js';

const REQUEST = 'envoy.service.ratelimit.v3.RateLimitRequest';
const RESPONSE = 'envoy.service.ratelimit.v3.RateLimitResponse';
const REPORTS = 'envoy.service.rate_limit_quota.v3.RateLimitQuotaUsageReports';
const QUOTA_RESPONSE = 'envoy.service.rate_limit_quota.v3.RateLimitQuotaResponse';

/** Bytes with remarks: `0a 02 64 31 # domain`. */
function bytesOf(annotated: string): Buffer {
  return Buffer.from(annotated.replaceAll(/#.*$/gm, '').replaceAll(/\s/g, ''), 'hex');
}

describe('recorded bytes', () => {
  /** A tag is (field × 8 + wire type): 0a is field 1 with a length, 12 field 2, 18 field 3 as a number. */
  const request = bytesOf(`
    0a 05 65 6e 76 6f 79                                   # 1 domain: "envoy"
    12 25                                                  # 2 descriptors, 37 bytes
       0a 16                                               #   1 entries, 22 bytes
          0a 0a 63 6c 69 65 6e 74 5f 74 61 67              #     1 key: "client_tag"
          12 08 6c 6f 63 61 6c 2d 75 73                    #     2 value: "local-us"
       12 04 08 2a 10 03                                   #   2 limit: 1 requests_per_unit 42, 2 unit HOUR
       1a 03 08 ac 02                                      #   3 hits_addend: 1 value 300
       20 01                                               #   4 is_negative_hits: true
    18 07                                                  # 3 hits_addend: 7
  `);

  test('of a request are read by field number', () => {
    expect(decodeRateLimitRequest(request)).toEqual({
      domain: 'envoy',
      hits: 7,
      descriptors: [
        {
          entries: [{ key: 'client_tag', value: 'local-us' }],
          limit: { requestsPerUnit: 42, unit: 3 },
          hits: 300,
          isNegative: true,
        },
      ],
    });
  });

  test('of a response are written by field number', () => {
    const written = encodeRateLimitResponse({
      code: Code.overLimit,
      statuses: [
        {
          code: Code.overLimit,
          limit: { requestsPerUnit: 300, unit: 7, name: 'n' },
          remaining: 0,
          resetSeconds: 59,
        },
        { code: Code.ok, limit: undefined, remaining: 2 ** 32 - 1, resetSeconds: 0 },
      ],
      headers: [['x-ratelimit-limit', '300']],
      metadata: { a: true, b: [1, 'c'] },
    });
    expect(written.toString('hex')).toBe(
      bytesOf(`
        08 02                                              # 1 overall_code: OVER_LIMIT
        12 10                                              # 2 statuses, 16 bytes
           08 02                                           #   1 code: OVER_LIMIT
           12 08 08 ac 02 10 07 1a 01 6e                   #   2 current_limit: 1 requests 300, 2 unit WEEK, 3 name "n"
           22 02 08 3b                                     #   4 duration_until_reset: 1 seconds 59
        12 08 08 01 18 ff ff ff ff 0f                      # 2 statuses: 1 code OK, 3 limit_remaining 2^32 - 1
        1a 18                                              # 3 response_headers_to_add, 24 bytes
           0a 11 782d726174656c696d69742d6c696d6974        #   1 key: "x-ratelimit-limit"
           12 03 33 30 30                                  #   2 value: "300"
        32 22                                              # 6 dynamic_metadata, 34 bytes
           0a 07 0a 01 61 12 02 20 01                      #   fields: "a": 4 bool_value true
           0a 17 0a 01 62 12 12 32 10                      #   fields: "b": 6 list_value, 16 bytes
              0a 09 11 00 00 00 00 00 00 f0 3f             #     2 number_value: 1
              0a 03 1a 01 63                               #     3 string_value: "c"
      `).toString('hex'),
    );
  });

  test('of a usage report and of an assignment', () => {
    const report = bytesOf(`
      0a 01 64                                             # 1 domain: "d"
      12 1a 08 09                                          # 2 bucket_quota_usages: 1 key 9
         12 16                                             #   2 value, 22 bytes
            0a 0a 0a 08 0a 01 6b 12 03 76 61 6c            #     1 bucket_id: 1 bucket: "k": "val"
            12 04 08 05 10 00                              #     2 time_elapsed: 5 s
            18 03                                          #     3 num_requests_allowed: 3
            20 01                                          #     4 num_requests_denied: 1
    `);
    const usage = { bucket: [{ key: 'k', value: 'val' }], elapsedMs: 5000, allowed: 3, denied: 1 };
    expect(decodeUsageReports(report)).toEqual({ domain: 'd', usages: [usage] });
    const strategy = { kind: 'tokens', tokens: 5, fillSeconds: 100 } as const;
    expect(encodeQuotaResponse([{ bucket: usage.bucket, strategy, ttlMs: 1500 }]).toString('hex')).toBe(
      bytesOf(`
        0a 26                                              # 1 bucket_action, 38 bytes
           0a 0a 0a 08 0a 01 6b 12 03 76 61 6c             #   1 bucket_id
           12 18                                           #   2 quota_assignment_action, 24 bytes
              12 08 08 01 10 80 ca b5 ee 01                #     2 assignment_time_to_live: 1 s, 500,000,000 ns
              1a 0c                                        #     3 rate_limit_strategy
                 1a 0a                                     #       3 token_bucket
                    08 05                                  #         1 max_tokens: 5
                    12 02 08 01                            #         2 tokens_per_fill: 1
                    1a 02 08 64                            #         3 fill_interval: 100 s
      `).toString('hex'),
    );
  });

  test('of gRPC health', () => {
    expect(decodeHealthRequest(bytesOf('0a 01 73 # 1 service: "s"'))).toBe('s');
    expect(encodeHealthResponse(ServingStatus.serving).toString('hex')).toBe('0801');
  });
});

const texts = fc.string({ maxLength: 20, unit: 'grapheme' });
const numbers = fc.integer({ min: 0, max: 2 ** 32 - 1 });

test('requests that another library writes are read as it wrote them', () => {
  const descriptors = fc.array(
    fc.record({
      entries: fc.array(fc.record({ key: texts, value: texts }), { maxLength: 4 }),
      limit: fc.option(fc.record({ requestsPerUnit: numbers, unit: fc.nat(7) }), { nil: undefined }),
      hits: fc.option(numbers, { nil: undefined }),
      isNegative: fc.boolean(),
    }),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(texts, descriptors, numbers, (domain, given, hits) => {
      const plain = {
        domain,
        hitsAddend: hits,
        descriptors: given.map(({ hits: own, isNegative, ...rest }) => ({
          ...rest,
          ...(own !== undefined && { hitsAddend: { value: own } }),
          isNegativeHits: isNegative,
        })),
      };
      expect(decodeRateLimitRequest(encodeBy(REQUEST, plain))).toEqual({ domain, descriptors: given, hits });
    }),
  );
});

test('another library reads responses as they were written', () => {
  const statuses = fc.array(
    fc.record({
      code: fc.constantFrom(Code.ok, Code.overLimit),
      limit: fc.option(fc.record({ requestsPerUnit: numbers, unit: fc.integer({ min: 1, max: 7 }), name: texts }), {
        nil: undefined,
      }),
      remaining: numbers,
      resetSeconds: fc.nat(100_000),
    }),
  );
  fc.assert(
    fc.property(statuses, fc.constantFrom(Code.ok, Code.overLimit), (given, code) => {
      const written = encodeRateLimitResponse({ code, statuses: given, headers: [['a', 'b']], metadata: undefined });
      const read = decodeBy(RESPONSE, written) as { statuses?: { limitRemaining?: number }[]; overallCode: string };
      expect(read.overallCode).toBe(code === Code.ok ? 'OK' : 'OVER_LIMIT');
      expect((read.statuses ?? []).map(({ limitRemaining = 0 }) => limitRemaining)).toEqual(
        given.map(({ remaining }) => remaining),
      );
      const limits = (read.statuses ?? []) as { currentLimit?: { requestsPerUnit?: number; name?: string } }[];
      expect(
        limits.map(({ currentLimit }) => currentLimit && [currentLimit.requestsPerUnit ?? 0, currentLimit.name ?? '']),
      ).toEqual(given.map(({ limit }) => limit && [limit.requestsPerUnit, limit.name]));
    }),
  );
});

test('reports that another library writes are read, and it reads assignments and abandoned buckets', () => {
  const bytes = encodeBy(REPORTS, {
    domain: 'd',
    bucketQuotaUsages: {
      1: {
        bucketId: { bucket: { b: '2', a: '1' } },
        timeElapsed: { seconds: 2, nanos: 5e8 },
        numRequestsAllowed: 2 ** 40,
      },
    },
  });
  const bucket = [
    { key: 'a', value: '1' },
    { key: 'b', value: '2' },
  ];
  expect(decodeUsageReports(bytes).usages).toEqual([{ bucket, elapsedMs: 2500, allowed: 2 ** 40, denied: 0 }]);
  const written = encodeQuotaResponse([
    { bucket, strategy: { kind: 'denyAll' }, ttlMs: 1000 },
    { bucket, strategy: { kind: 'allowAll' }, ttlMs: 1000 },
    { bucket, strategy: undefined },
  ]);
  const bucketId = { bucket: { a: '1', b: '2' } };
  const rule = (blanketRule: string) => ({
    bucketId,
    quotaAssignmentAction: { assignmentTimeToLive: { seconds: 1 }, rateLimitStrategy: { blanketRule } },
  });
  expect(decodeBy(QUOTA_RESPONSE, written)).toEqual({
    bucketAction: [rule('DENY_ALL'), rule('ALLOW_ALL'), { bucketId, abandonAction: {} }],
  });
});

describe('hostile bytes', () => {
  const decoders = { decodeRateLimitRequest, decodeUsageReports, decodeHealthRequest };

  test.each(Object.entries(decoders))('%s reads any bytes, or throws a FrameError', (_, decode) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decode(bytes);
        } catch (error) {
          expect((error as Error).name).toBe('FrameError');
        }
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['a text that is not UTF-8', bytesOf('0a 02 c3 28'), /not UTF-8/],
    ['a length past the end', bytesOf('0a 7f 61'), /has 127 bytes/],
    ['a number of more than 64 bits', bytesOf('18 ff ff ff ff ff ff ff ff ff 7f'), /too long|past/],
    ['hits past 32 bits', bytesOf('18 80 80 80 80 10'), /hits_addend is 4294967296/],
    ['a group, which is not in use any more', bytesOf('2b 2c'), /wire type 3/],
  ])('%s is refused', (_, bytes, message) => {
    expect(() => decodeRateLimitRequest(bytes)).toThrow(message);
  });

  test('more descriptors and entries than any proxy sends are refused', () => {
    const many = { domain: 'd', descriptors: Array(MAXIMUM_DESCRIPTORS + 1).fill({}) };
    expect(() => decodeRateLimitRequest(encodeBy(REQUEST, many))).toThrow(/more than 64 descriptors/);
    const long = { domain: 'd', descriptors: [{ entries: Array(MAXIMUM_ENTRIES + 1).fill({ key: 'k' }) }] };
    expect(() => decodeRateLimitRequest(encodeBy(REQUEST, long))).toThrow(/more than 32 entries/);
  });
});
