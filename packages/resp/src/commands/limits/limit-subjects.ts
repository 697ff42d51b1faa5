import { defineFamily } from '../../session/define.js';
import { quotaRefund, quotaReset, quotaSubjects } from '../quotas/quota-subjects.js';

const define = defineFamily({
  flags: ['write', 'admin', 'noscript', 'no_multi'],
  group: 'limit',
  since: 'quotadb 0.2.0',
});

export const limitSubjects = define({
  ...quotaSubjects,
  name: 'limit.subjects',
  group: 'limit',
  since: 'quotadb 0.2.0',
  summary:
    'A page of the subjects that used a limit of the catalogue, as far as this region knows. Returns the cursor of ' +
    'the next page (0 after the last), and for each subject its name, its limit and what remains. As with SCAN a ' +
    'page may be empty.',
});

export const limitRefund = define({
  ...quotaRefund,
  name: 'limit.refund',
  group: 'limit',
  since: 'quotadb 0.2.0',
  summary:
    'Gives back what a subject has used of a limit in this region and window: as much as that is, at most the ' +
    'amount. Returns how much was given back, and what remains here and in all regions as far as this one knows.',
});

export const limitReset = define({
  ...quotaReset,
  name: 'limit.reset',
  group: 'limit',
  since: 'quotadb 0.2.0',
  summary:
    'Gives back all that a subject has used of a limit in this window, in every region that can be reached. Returns ' +
    'how much was given back, the regions that did, and those that did not answer.',
});
