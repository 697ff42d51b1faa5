import { initialOf } from '@quotadb/quota';
import { isServerOf } from '@quotadb/wire';
import type { Mistake } from '../world/cluster.js';
import { mistake } from './mistakes.js';

/** Mistakes in the division of a region's tokens among its members. */
export const MEMBER_MISTAKES: readonly Mistake[] = [
  mistake('every member starts with all tokens of its region', ({ book }, { region: own }) => {
    book.initialOf = (policy, _window, limit, name = own) =>
      [...new Set([policy.allocator, ...policy.shares.map(({ region }) => region)])]
        .filter((region) => isServerOf(name, region))
        .reduce((sum, region) => sum + initialOf(policy, region, limit), 0);
  }),
  mistake('members gain before the others have given up', ({ book }) => {
    const divide = book.divide.bind(book);
    book.divide = ({ servers, removed }, nowMs) => {
      const hasAll = servers.map((server) => ({ ...server, version: Number.MAX_SAFE_INTEGER }));
      return divide({ servers: hasAll, removed }, nowMs);
    };
  }),
];
