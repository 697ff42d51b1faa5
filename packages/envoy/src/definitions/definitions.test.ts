import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor.js';
import { expect, test } from 'vitest';
import { descriptors } from './descriptors.js';
import { describeDefinitions, printDescriptors } from './testing/describe-definitions.js';

const folder = fileURLToPath(new URL('./', import.meta.url));

test('the descriptors are those of the .proto files: npm run generate makes them anew', () => {
  const made = readFileSync(`${folder}descriptors.ts`, 'utf8');
  expect(made).toBe(printDescriptors(folder));
});

/** Every message, field and method with its numbers, from the descriptors alone. */
test('another library builds the same messages from the descriptors', () => {
  const file = [...describeDefinitions(folder).values()].map((bytes) => descriptor.FileDescriptorProto.decode(bytes));
  const root = (protobuf.Root as unknown as { fromDescriptor(set: object): protobuf.Root }).fromDescriptor({ file });
  root.resolveAll();
  const reports = root.lookupType('envoy.service.rate_limit_quota.v3.RateLimitQuotaUsageReports');
  const plain = {
    domain: 'd',
    bucketQuotaUsages: { 7: { bucketId: { bucket: { name: 'x' } }, numRequestsAllowed: '3' } },
  };
  const bytes = reports.encode(reports.fromObject(plain)).finish();
  expect(reports.toObject(reports.decode(bytes), { longs: String })).toEqual(plain);
  expect(descriptors.size).toBe(file.length);
});
