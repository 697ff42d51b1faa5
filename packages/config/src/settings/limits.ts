import type { PartialDefinition } from '@quotadb/quota';
import { integer, quotaDefinitions, text } from '../kinds/kinds.js';
import { setting } from './setting.js';

/** Settings of rate limits and quotas. */
export const limitsSettings = {
  ratePublishPercent: setting({
    flag: 'rate-publish-threshold',
    kind: integer('percent', 0, 100),
    default: 20,
    help:
      'the counts of a rate limit are published to other regions and the disk once they reach this share of the ' +
      'limit, or 100 / regions percent of it where that is less; below it they are in memory only. 0 publishes all counts',
    parameter: 'rate-publish-threshold',
    changeable: true,
  }),
  home: setting({
    flag: 'home',
    kind: text('region', /^(?:[a-z0-9-]{1,32})?$/, 'the name of a region; empty for the first by name'),
    default: '',
    help:
      'the region where quota policies are defined, the same for all regions; without it the first by name of this ' +
      'region and its --peer regions',
  }),
  quotas: setting({
    flag: 'quota',
    kind: quotaDefinitions(),
    default: [] as readonly PartialDefinition[],
    help: 'a quota policy, in the syntax of QUOTA.DEFINE; used in the home region; may be given several times',
  }),
};
