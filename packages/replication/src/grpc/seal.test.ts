import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { validityOf } from '../certificates/certificates.js';
import { findSealFault, sealText } from './seal.js';
import { CLUSTER, materialOf, testAuthority } from './testing/material.js';

const [authority, otherAuthority] = await Promise.all([testAuthority(), testAuthority()]);
const [us, eu] = await Promise.all([materialOf('us', authority), materialOf('eu', authority)]);
const nowMs = Date.now();
const US = { cluster: CLUSTER, region: 'us' };

test('a region seals a text, and every other can tell that it has', () => {
  const seal = sealText(us, 'text');
  expect(findSealFault(eu, 'text', seal, US, nowMs)).toBeUndefined();
  expect(findSealFault(eu, 'another', seal, US, nowMs)).toMatch(/changed after us had sealed them/);
  expect(findSealFault(eu, 'text', seal, { ...US, cluster: 'x' }, nowMs)).toMatch(/not that of x\/us/);
});

test('no other region can seal it in its name', async () => {
  expect(findSealFault(us, 'text', sealText(eu, 'text'), US, nowMs)).toMatch(/the seal of test\/eu/);
  const stolenName = { certificate: us.certificate, signature: sealText(eu, 'text').signature };
  expect(findSealFault(eu, 'text', stolenName, US, nowMs)).toMatch(/changed after/);
  const impostor = await materialOf('us', otherAuthority);
  expect(findSealFault(eu, 'text', sealText(impostor, 'text'), US, nowMs)).toMatch(/another authority/);
  const expired = await materialOf('us', authority, { validity: validityOf(-1) });
  expect(findSealFault(eu, 'text', sealText(expired, 'text'), US, nowMs)).toMatch(/is valid from/);
});

test('a seal that is none is refused, and throws nothing', () => {
  for (const certificate of ['', 'x', us.key]) {
    expect(findSealFault(eu, 'text', { certificate, signature: '' }, US, nowMs)).toMatch(/cannot be read/);
  }
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const seal = sealText({ ...us, key }, 'text');
  expect(findSealFault(eu, 'text', seal, US, nowMs)).toMatch(/changed after|cannot be read/);
});
