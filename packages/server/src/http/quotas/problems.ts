import { defineProblems } from '@quotadb/http';

/** The problems of requests for quotas. The detail of a refusal is the reason that the quotas give. */
export const quotaProblems = defineProblems({
  invalid_name: [400, 'Invalid name', 'The name in the path is not percent-encoded UTF-8.'],
  reservation_refused: [409, 'Reservation refused', 'The reservation is unknown here, settled, or has lapsed.'],
  lease_refused: [409, 'Lease refused', 'The lease is not known here, or has ended.'],
  policy_refused: [409, 'Policy refused', 'The quota cannot be defined or dropped like this; the detail says why.'],
  quota_refused: [422, 'Quota refused', 'The quota cannot be taken from like this; the detail says why.'],
});
