import { defineProblems } from '@quotadb/http';

/** The problems of requests for quotas. The detail of a refusal is the reason that the quotas give. */
export const quotaProblems = defineProblems({
  invalid_name: {
    status: 400,
    title: 'Invalid name',
    detail: 'The name in the path is not percent-encoded UTF-8.',
  },
  reservation_refused: {
    status: 409,
    title: 'Reservation refused',
    detail: 'The reservation is not known here, or has been settled or has lapsed.',
  },
  lease_refused: {
    status: 409,
    title: 'Lease refused',
    detail: 'The lease is not known here, or has ended.',
  },
  policy_refused: {
    status: 409,
    title: 'Policy refused',
    detail: 'The quota cannot be defined or dropped like this; the detail says why.',
  },
  quota_refused: {
    status: 422,
    title: 'Quota refused',
    detail: 'The quota cannot be taken from like this; the detail says why.',
  },
});
