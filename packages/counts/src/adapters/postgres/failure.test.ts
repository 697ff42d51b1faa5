import { expect, test } from 'vitest';
import { classifyFailure, UnreachableError } from './failure.js';

const answer = (severity: string, code: string) => Object.assign(new Error(), { severity, code });

test.each([
  ['a connection that could not be had', new UnreachableError(new Error()), 'unreachable'],
  ['a connection that broke', Object.assign(new Error(), { code: 'ECONNRESET' }), 'unknown'],
  ['no answer in time', new Error('Query read timeout'), 'unknown'],
  ['a session ended by an administrator', answer('FATAL', '57P01'), 'unknown'],
  ['a server that panicked', answer('PANIC', '53100'), 'unknown'],
  ['a server that does not know itself', answer('ERROR', '40003'), 'unknown'],
  ['a deadlock', answer('ERROR', '40P01'), 'conflict'],
  ['a serialization failure', answer('ERROR', '40001'), 'conflict'],
  ['a serialization failure that ended the session', answer('FATAL', '40001'), 'unknown'],
  ['a statement timeout', answer('ERROR', '57014'), 'transient'],
  ['a standby', answer('ERROR', '25006'), 'transient'],
  ['a full disk', answer('ERROR', '53100'), 'transient'],
  ['a missing table', answer('ERROR', '42P01'), 'transient'],
  ['a number out of range', answer('ERROR', '22003'), 'refused'],
  ['a severity in another language', answer('FEHLER', '22003'), 'unknown'],
])('%s', (_name, error, failure) => {
  expect(classifyFailure(error)).toBe(failure);
});
