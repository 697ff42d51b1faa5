import { z } from 'zod';

/**
 * What etcd answers over its JSON gateway; nothing else of an answer is looked at. Numbers of 64 bits are texts there,
 * a zero is left out, keys and values are Base64.
 */
const INT64 = /^\d{1,19}$/;
/** Revisions: one that a double cannot hold is no revision. */
const revision = z
  .string()
  .regex(INT64)
  .transform(Number)
  .refine((number) => Number.isSafeInteger(number));
/** Leases have numbers of all 64 bits, and stay texts. */
const leaseId = z.string().regex(/^-?\d{1,19}$/);
const bytes = z.string().transform((text) => Buffer.from(text, 'base64'));

const header = z.object({ revision: revision.default(0) });
const keyValue = z.object({
  key: bytes,
  value: bytes.default(Buffer.alloc(0)),
  create_revision: revision,
  mod_revision: revision,
});
export type KeyValue = z.infer<typeof keyValue>;

const range = z.object({ header, kvs: z.array(keyValue).default([]) });

export const answers = {
  range,
  transaction: z.object({
    header,
    succeeded: z.boolean().default(false),
    responses: z.array(z.object({ response_range: range.optional() })).default([]),
  }),
  grant: z.object({ ID: leaseId, TTL: revision }),
  /** Without a TTL the lease is gone. */
  keepAlive: z.object({ result: z.object({ TTL: revision.default(0), header: header.optional() }) }),
  revoke: z.object({ header }),
  login: z.object({ token: z.string().min(1).max(10_000) }),
  watch: z.object({
    result: z.object({
      created: z.boolean().default(false),
      canceled: z.boolean().default(false),
      events: z
        .array(z.object({ type: z.string().default('PUT'), kv: keyValue.partial({ create_revision: true }) }))
        .default([]),
    }),
  }),
};

/** Of an answer that is not 200; in older versions without `message`. */
export const refusal = z.object({ error: z.string().max(10_000), code: z.int().default(-1) });
