import { defineProblems } from '@quotadb/http';

/**
 * The problems of requests about limits of the catalogue. The detail of a refusal is the reason that the limits give.
 */
export const limitProblems = defineProblems({
  invalid_name: [400, 'Invalid name', 'A name or a subject is a text, in the path percent-encoded UTF-8.'],
  no_such_limit: [404, 'No such limit', 'The catalogue has no limit or domain of this name.'],
  limit_refused: [422, 'Limit refused', 'The limit cannot be checked like this; the detail says why.'],
  catalogue_refused: [
    422,
    'Catalogue refused',
    'The limits would have mistakes, which the detail names: nothing was changed.',
  ],
  adjustment_refused: [409, 'Adjustment refused', 'The tokens cannot be changed like this; the detail says why.'],
});
