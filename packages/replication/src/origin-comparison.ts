import { type Digests, FrameKind } from '@quotadb/wire';
import { nameOfOrigin } from './identity.js';
import type { Link } from './link.js';
import type { Replica } from './replica.js';

/** A question is repeated until it is answered: frames get lost on some transports, and differences are repaired. */
const ASK_AGAIN_MS = 300;
/** A question is forgotten when its caller has not looked for this long. */
const FORGET_MS = 30_000;
/** Questions of one peer that wait or were answered, one for each origin; beyond it the oldest is dropped. */
const MAXIMUM_ASKED = 256;

const EMPTY_DIGEST = '0'.repeat(16);

/** Which peers hold the same of some origins, as far as they have answered. */
export interface Comparison {
  /** The same text as long as this replica holds the same of them; undefined where not all peers agree. */
  readonly held: string | undefined;
  /** Regions that have not answered, and those that hold other changes. */
  readonly unanswered: readonly string[];
  readonly differing: readonly string[];
}

interface Question {
  readonly number: number;
  readonly origins: readonly Uint8Array[];
  /** Those that were established when it was asked: see OriginComparison. */
  readonly links: readonly Link[];
  /** By link and by origin: what that peer holds of it. */
  readonly answers: Map<Link, Map<string, string>>;
  askedAtMs: number;
  wantedAtMs: number;
}

interface Asked {
  readonly question: number;
  readonly origin: Uint8Array;
  readonly cameAtMs: number;
  isAnswered: boolean;
}

/**
 * Proof that this replica and all of its peers hold the same of an origin that is lost, and that nothing more of it can
 * come to any of them. Equal watermarks do not prove it: parts of a walk that its origin did not live to end lie above.
 *
 *   1  this replica asks every peer for its digests of the origin
 *   2  a peer answers once it has no link to the origin, and each of its other peers has answered a ping that was sent
 *      after the question came. What a process had sent that ended before the question was asked has then arrived, or
 *      never will: its link is closed
 *   3  the answers count while the links are those over which the question was asked. Where a process ended since, what
 *      it had sent to others may still be on its way: a new question is asked
 *
 * So a change of the origin that is not in the digests could only come from a process that held it when it answered.
 */
export class OriginComparison {
  private readonly replica: Replica;
  /** By the names of their origins. */
  private readonly questions = new Map<string, Question>();
  private readonly asked = new Map<Link, Map<string, Asked>>();
  private questionsTotal = 0;

  constructor(replica: Replica) {
    this.replica = replica;
  }

  /** Begins to compare, or looks how far it is. Call it again, after some ticks, until all agree. */
  compare(origins: readonly Uint8Array[]): Comparison {
    const nowMs = this.replica.clock.monotonicMs();
    const name = origins.map(nameOfOrigin).sort().join();
    const links = [...this.replica.links].filter((link) => link.isEstablished);
    let question = this.questions.get(name);
    if (question === undefined || !isSame(question.links, links)) {
      question = this.begin(origins, links, nowMs);
      this.questions.set(name, question);
    }
    question.wantedAtMs = nowMs;
    const held = origins.map((origin) => this.heldOf(origin));
    const { answers } = question;
    const unanswered = links.filter((link) => origins.some((origin) => !answers.get(link)?.has(nameOfOrigin(origin))));
    const differing = links.filter((link) =>
      origins.some((origin, index) => (answers.get(link)?.get(nameOfOrigin(origin)) ?? held[index]) !== held[index]),
    );
    const open = [...unanswered, ...differing];
    if (open.length > 0 && nowMs - question.askedAtMs >= ASK_AGAIN_MS) this.ask(question, open, nowMs);
    return {
      held: open.length > 0 ? undefined : held.join(),
      unanswered: unanswered.map(({ region }) => region),
      differing: differing.map(({ region }) => region),
    };
  }

  receive(link: Link, frame: Digests): void {
    const name = nameOfOrigin(frame.origin);
    if (frame.isAnswer) {
      for (const { number, answers } of this.questions.values())
        if (number === frame.question) answers.get(link)?.set(name, textOf(frame));
      return;
    }
    const asked = this.asked.get(link) ?? new Map<string, Asked>();
    this.asked.set(link, asked);
    const before = asked.get(name);
    const { question } = frame;
    const origin = Uint8Array.from(frame.origin);
    // Asked again it is answered again; nothing has to be waited for twice.
    if (before?.question === question) before.isAnswered = false;
    else asked.set(name, { question, origin, cameAtMs: this.replica.clock.monotonicMs(), isAnswered: false });
    if (asked.size > MAXIMUM_ASKED) asked.delete(asked.keys().next().value as string);
  }

  cancel(link: Link): void {
    this.asked.delete(link);
  }

  /** Answers the questions of peers that can be answered by now. */
  tick(nowMs: number): void {
    for (const [name, { wantedAtMs }] of this.questions)
      if (nowMs - wantedAtMs > FORGET_MS) this.questions.delete(name);
    for (const [link, questions] of this.asked)
      for (const asked of questions.values()) {
        if (asked.isAnswered || !this.isSilenced(asked, link)) continue;
        asked.isAnswered = true;
        link.send({ ...this.digestsOf(asked.origin), question: asked.question, isAnswer: true });
      }
  }

  /** Nothing of an origin can come from a process that ended before the question was asked. */
  private isSilenced({ origin, cameAtMs }: Asked, from: Link): boolean {
    const name = nameOfOrigin(origin);
    return [...this.replica.links].every(
      (link) =>
        link === from ||
        !link.isEstablished ||
        (nameOfOrigin(link.origin) !== name && link.pings.answeredMs > cameAtMs),
    );
  }

  private begin(origins: readonly Uint8Array[], links: readonly Link[], nowMs: number): Question {
    const answers = new Map(links.map((link) => [link, new Map<string, string>()]));
    const number = ++this.questionsTotal;
    const question = { number, origins, links, answers, askedAtMs: nowMs, wantedAtMs: nowMs };
    this.ask(question, links, nowMs);
    return question;
  }

  private ask(question: Question, links: readonly Link[], nowMs: number): void {
    question.askedAtMs = nowMs;
    const none = { kind: FrameKind.digests, shards: [], versions: [], digests: [], isAnswer: false } as const;
    for (const origin of question.origins)
      for (const link of links) link.send({ ...none, origin, question: question.number });
  }

  private heldOf(origin: Uint8Array): string {
    return textOf(this.digestsOf(origin));
  }

  private digestsOf(origin: Uint8Array): Digests {
    const { engine } = this.replica;
    const index = engine.origins.find(origin);
    const shards = Array.from({ length: engine.shardCount }, (_, shard) => shard);
    const held = shards.map((shard) =>
      index === -1 ? { version: 0, digest: EMPTY_DIGEST } : engine.digestAt(shard, index),
    );
    const versions = held.map(({ version }) => version);
    const digests = held.map(({ digest }) => digest);
    return { kind: FrameKind.digests, origin, shards, versions, digests, question: 0, isAnswer: false };
  }
}

function textOf({ shards, versions, digests }: Digests): string {
  return shards.map((shard, index) => `${shard}:${versions[index]}:${digests[index]}`).join();
}

function isSame(one: readonly Link[], other: readonly Link[]): boolean {
  return one.length === other.length && one.every((link) => other.includes(link));
}
