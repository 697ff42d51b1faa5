import { z } from 'zod';

/** A byte of the table of slots has the number of a group, and two values have other meanings. */
export const MAXIMUM_GROUPS = 250;
/** Of one group, in all regions. */
const MAXIMUM_MEMBERS = 64;
const MAXIMUM_MOVES = 100;
export const MAXIMUM_MAP_BYTES = 1024 * 1024;

const NAME = { error: 'a name has 1 to 32 lower-case letters, digits and dashes' };
const name = z.string(NAME).regex(/^[a-z0-9-]{1,32}$/, NAME);
const HOST = { error: 'a host is a name or an IP address, without a port' };
const host = z.string(HOST).regex(/^[A-Za-z0-9_.:-]{1,253}$/, HOST);
const PORT = { error: 'a port is a whole number from 1 to 65535' };
const port = z.int(PORT).min(1, PORT).max(65_535, PORT);

const member = z.strictObject({
  region: name,
  /** The name of the member in its region; left out where a region has one member of the group. */
  member: name.optional(),
  /** The address that clients and other nodes reach it at. */
  host,
  port: port.optional(),
  tlsPort: port.optional(),
});

const SLOTS = { error: 'slots are numbers and ranges from 0 to 16383, such as 0-8191' };
const slots = z.union([z.int(SLOTS), z.string(SLOTS)], SLOTS);

const group = z.strictObject({
  slots: z.union([slots, z.array(slots)], SLOTS).optional(),
  members: z
    .array(member, { error: 'members are a list' })
    .min(1, { error: 'a group has at least one member' })
    .max(MAXIMUM_MEMBERS, { error: `a group has at most ${MAXIMUM_MEMBERS} members` }),
});

/** Slots on their way from one group to another, see docs/decisions/0027-slots-move.md. Only in a map of etcd. */
const move = z.strictObject({
  /** Those that `from` still owns, the held ones among them; none where only copies are left. */
  slots: z.union([slots, z.array(slots)], SLOTS).optional(),
  from: name,
  to: name,
  /** No command on these begins in `from`, and `to` has not got them yet. */
  held: z.union([slots, z.array(slots)], SLOTS).optional(),
  /** The revision that the hold began with: no two holds have the same. */
  since: z.int().min(1).optional(),
  /** Those that `to` owns already, and `from` still has copies of, which it is about to drop. */
  left: z.union([slots, z.array(slots)], SLOTS).optional(),
});

export const mapSchema = z.strictObject({
  revision: z.int({ error: 'the revision is a whole number from 1 on' }).min(1, {
    error: 'the revision is a whole number from 1 on',
  }),
  groups: z.record(name, group, {
    error: 'groups are given by their names, of lower-case letters, digits and dashes',
  }),
  moves: z
    .array(move)
    .max(MAXIMUM_MOVES, { error: `a map has at most ${MAXIMUM_MOVES} moves` })
    .optional(),
  /** Moves stand still until an operator goes on with them. */
  paused: z.boolean().optional(),
});

/** The map as it is written. */
export type MapDocument = z.infer<typeof mapSchema>;
