import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ClusterMap,
  inRanges,
  type MapStore,
  type Marks,
  type Member,
  Mover,
  nodeIdOf,
  Receiver,
  SLOT_COUNT,
  type SlotRange,
  slotOfKey,
} from '@quotadb/cluster';
import type { Configuration } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import type { MovingAnswer, MovingRequest } from '@quotadb/resp';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { MemberLinks } from '../links/member-links.js';
import { countEntries, type MovingQuotas } from './received-entries.js';
import { SlotKeys } from './slot-keys.js';

export interface MovingOptions {
  readonly config: Configuration;
  readonly logger: Logger;
  readonly engine: Engine;
  readonly store: MapStore;
  readonly links: MemberLinks;
  /** The map in force. */
  readonly map: () => ClusterMap | undefined;
  /** Undefined before quotas have started and after they have stopped. */
  readonly quotas: () => MovingQuotas | undefined;
  /** Resolves when all changes made so far are as durable as this server promises. */
  readonly waitForDisk: () => Promise<void>;
  /** By the clock that keys expire by. */
  readonly nowMs: () => number;
  /** Why slots of this member wait, see Mover. */
  readonly waits: (reason: string) => void;
}

/** A mover waits no longer for the answer of another member; for one that empties slots, which visits all keys. */
const CALL_TIMEOUT_MS = 1500;
const PREPARE_TIMEOUT_MS = 15_000;

const revision = z.int().min(1);
const slot = z
  .int()
  .min(0)
  .max(SLOT_COUNT - 1);
const range = z.strictObject({ first: slot, last: slot }).refine(({ first, last }) => first <= last);
const version = z.number().min(0);
const marksSchema = z.strictObject({
  revision: z.int().min(0),
  origin: z.string().regex(/^[0-9a-f]{64}$/),
  seen: z.record(z.string().regex(/^[0-9a-f]{64}$/), z.array(version).max(4096)),
  policies: version,
  busy: z.array(range).max(SLOT_COUNT),
});
const prepareSchema = z.strictObject({ revision, slots: z.array(range).min(1).max(SLOT_COUNT) });
const heldSchema = z.strictObject({ revision });

/** Slots that move to and from this server's group, on the main thread. */
export class MovingService {
  readonly mover: Mover;
  private readonly options: MovingOptions;
  private readonly keys: SlotKeys;
  private readonly receiver: Receiver;
  private readonly own: Pick<Member, 'group' | 'region' | 'name'>;
  /** Slots whose unpublished counts have been published since the first move began. */
  private published: readonly SlotRange[] = [];
  private running: Promise<void> | undefined = undefined;

  constructor(options: MovingOptions) {
    this.options = options;
    const { config, engine, store, logger, nowMs } = options;
    const own = { group: config.group, region: config.region, name: config.member };
    this.own = own;
    const keys = new SlotKeys(engine, this.lazyQuotas(), nowMs);
    this.keys = keys;
    const clock = { now: () => performance.now(), sleep: (milliseconds: number) => sleep(milliseconds) };
    const marks = () => keys.marks(options.map()?.revision ?? 0);
    const marksOf = (member: Member) => this.marksOf(member);
    const covers = (given: Marks) => keys.covers(given);
    this.receiver = new Receiver({
      ...{ own, map: options.map, marksOf, clock },
      sink: {
        empty: (slots, mayGoOn) => keys.drop(slots, mayGoOn),
        count: (entries, isMeant, members) => {
          engine.advanceTo(nowMs());
          countEntries(engine, this.lazyQuotas(), entries, isMeant, members);
        },
        covers,
        marks,
      },
    });
    this.mover = new Mover({
      ...{ own, store, clock, map: options.map },
      waits: options.waits,
      report: (sentence) => logger.info(`moving slots: ${sentence}`),
      peers: {
        marksOf,
        prepare: async (to, at, slots) =>
          void (await this.call(to, 'prepare', { revision: at, slots }, PREPARE_TIMEOUT_MS)),
        send: async (to, at, entries) => void (await this.call(to, 'send', { revision: at }, CALL_TIMEOUT_MS, entries)),
        finish: async (to, at) => void (await this.call(to, 'finish', { revision: at }, CALL_TIMEOUT_MS)),
      },
      source: {
        choose: async (slots, share) => {
          this.refuseFeeds();
          return keys.choose(slots, share);
        },
        catchUp: () => keys.catchUp(),
        send: (...given) => keys.send(...given),
        drop: (slots, mayGoOn) => keys.drop(slots, mayGoOn),
        covers,
        marks,
      },
    });
  }

  start(): void {
    this.running ??= this.mover.run();
  }

  async stop(): Promise<void> {
    this.mover.stop();
    await this.running;
  }

  /** Answers a step that the mover of another node asks for. */
  ask({ step, about, entries }: MovingRequest, answered: (answer: MovingAnswer) => void): void {
    this.answer(step, about, entries).then(
      (answer) => answered({ answer: JSON.stringify(answer) }),
      (error: Error) => {
        this.options.engine.releaseLocks();
        answered({ error: `ERR ${oneLine(error.message)}` });
      },
    );
  }

  /** Before commands on slots of these moves are waited for: from now on nothing is kept unpublished. */
  prepareToLeave(map: ClusterMap): void {
    const isLeaving = this.leaving(map).length > 0;
    this.options.engine.setPublishesAll(isLeaving);
    if (!isLeaving) this.published = [];
  }

  /** When no command runs on held slots: what only this server has of them becomes known to others. */
  async letGo(map: ClusterMap): Promise<void> {
    const leaving = this.leaving(map);
    const slots = leaving.flatMap((move) => move.slots);
    const isNew = slots.some(
      ({ first, last }) => !this.published.some((known) => known.first <= first && last <= known.last),
    );
    if (isNew) {
      await this.keys.publish(slots);
      this.published = slots;
    }
    const held = leaving.flatMap((move) => move.held);
    if (held.length === 0) return;
    const isInHeld = inRanges(held);
    const isHeld = (subject: Uint8Array) => isInHeld(slotOfKey(subject, 0, subject.length));
    this.options.engine.advanceTo(this.options.nowMs());
    // At a start there are none yet, and no local balances.
    this.options.quotas()?.returnUnspent(isHeld);
  }

  private leaving({ moves }: ClusterMap): ClusterMap['moves'] {
    return moves.filter(({ from }) => from === this.own.group);
  }

  private async answer(step: string, about: string, entries: Uint8Array): Promise<unknown> {
    const given: unknown = JSON.parse(about);
    if (step === 'marks') return this.durableMarks();
    if (step === 'prepare') {
      this.refuseFeeds();
      const asked = prepareSchema.parse(given);
      await this.receiver.prepare(asked.revision, asked.slots);
    } else if (step === 'send') this.receiver.count(heldSchema.parse(given).revision, entries);
    else if (step === 'finish') await this.receiver.finish(heldSchema.parse(given).revision);
    else throw new Error(`there is no step ${step}`);
    return null;
  }

  /** What this server held when it was asked, once its disk has it. */
  private async durableMarks(): Promise<Marks> {
    const marks = this.keys.marks(this.options.map()?.revision ?? 0);
    await this.options.waitForDisk();
    return marks;
  }

  private async marksOf(member: Member): Promise<Marks> {
    if (nodeIdOf(member) === nodeIdOf(this.own)) return this.durableMarks();
    return marksSchema.parse(await this.call(member, 'marks', null, CALL_TIMEOUT_MS));
  }

  private async call(
    member: Member,
    step: string,
    about: unknown,
    timeoutMs: number,
    entries?: Uint8Array,
  ): Promise<unknown> {
    const words = [
      'CLUSTER',
      'MOVING',
      step,
      JSON.stringify(about),
      ...(entries === undefined ? [] : [Buffer.from(entries)]),
    ];
    const reply = await this.options.links.send(member, words, 2, timeoutMs);
    const text = Buffer.from(reply.buffer, reply.byteOffset, reply.length).toString();
    return JSON.parse(text.slice(text.indexOf('\n') + 1));
  }

  /** A feed would write what was counted elsewhere once more, and miss keys that are dropped here. */
  private refuseFeeds(): void {
    if (this.options.config.feeds.length > 0)
      throw new Error('a server with --feed cannot move slots: what it has written to counts would be written twice');
  }

  private lazyQuotas(): MovingQuotas {
    const now = (): MovingQuotas => {
      const quotas = this.options.quotas();
      if (quotas === undefined) throw new Error('the quotas of this server are not running');
      return quotas;
    };
    return {
      describe: (key) => now().describe(key),
      adopt: (entry) => now().adopt(entry),
      openSubjects: () => now().openSubjects(),
      returnUnspent: (isMeant) => now().returnUnspent(isMeant),
      policiesVersion: () => now().policiesVersion(),
    };
  }
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 500);
}
