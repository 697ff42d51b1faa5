import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryDirectory } from '../testing/temporary-directory.js';
import { createControlGroup } from './control-groups.js';

let root: string;
beforeEach(() => {
  root = temporaryDirectory();
});

test('version 2: one group with both limits', () => {
  writeFileSync(join(root, 'cgroup.controllers'), 'cpu memory');
  expect('group' in createControlGroup('one', root)).toBe(true);
  expect(readFileSync(join(root, 'cgroup.subtree_control'), 'utf8')).toBe('+cpu +memory');
  expect(readFileSync(join(root, 'one', 'cpu.max'), 'utf8')).toBe('200000 100000');
  expect(readFileSync(join(root, 'one', 'memory.max'), 'utf8')).toBe('2147483648');
});

test('version 1: a group for each limit', () => {
  mkdirSync(join(root, 'cpu'));
  mkdirSync(join(root, 'memory'));
  const outcome = createControlGroup('one', root);
  expect('group' in outcome && outcome.group.joinFiles).toEqual([
    join(root, 'cpu', 'one', 'cgroup.procs'),
    join(root, 'memory', 'one', 'cgroup.procs'),
  ]);
  expect(readFileSync(join(root, 'cpu', 'one', 'cpu.cfs_quota_us'), 'utf8')).toBe('200000');
  expect(readFileSync(join(root, 'memory', 'one', 'memory.limit_in_bytes'), 'utf8')).toBe('2147483648');
});

test('where groups are not there or not allowed, it says so and leaves nothing', () => {
  expect(createControlGroup('one', root)).toEqual({ refused: 'this machine has no control groups' });
  mkdirSync(join(root, 'memory'));
  writeFileSync(join(root, 'cpu'), 'a file where a directory should be');
  const outcome = createControlGroup('one', root);
  expect('refused' in outcome && outcome.refused).toContain('no right to control groups');
  expect(existsSync(join(root, 'memory', 'one'))).toBe(false);
});

test('on this machine: a group is made and removed, or refused with a reason', async () => {
  const outcome = createControlGroup(`quotadb-bench-test-${process.pid}`);
  if ('refused' in outcome) {
    expect(outcome.refused).not.toBe('');
    return;
  }
  const directories = outcome.group.joinFiles.map(dirname);
  expect(directories.every(existsSync)).toBe(true);
  expect(outcome.group.holds(process.pid)).toBe(false);
  await outcome.group.gently();
  expect(directories.some(existsSync)).toBe(false);
});
