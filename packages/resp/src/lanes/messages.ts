import type { Configuration } from '@quotadb/config';
import type { StoreUse } from '@quotadb/engine';
import type { PublishedPolicies } from '../services/lane-quotas.js';
import type { MainServices } from '../services/main-services.js';
import type { QuestionName } from '../session/questions.js';
import type { Identity } from '../session/server-state.js';

/** The start message of a lane's thread. */
export interface LaneStart {
  readonly laneIndex: number;
  readonly laneCount: number;
  /** The main thread serves clients too. */
  readonly hasMainLane: boolean;
  readonly store: SharedArrayBuffer;
  readonly control: SharedArrayBuffer;
  readonly config: Configuration;
  readonly identity: Identity;
  /** The listening socket, which all lanes accept from. */
  readonly listener: number;
  readonly maximumBulkBytes: number;
  readonly boards: SharedBoards;
  readonly policies: PublishedPolicies;
  /** A lone lane takes no locks of shards until the main thread asks it to share. */
  readonly use: StoreUse;
}

/** Memory that the main thread and all lanes share beside the store. */
export interface SharedBoards {
  readonly replication: SharedArrayBuffer;
  /** A DiskBoard; undefined where everything is in memory. */
  readonly disk: SharedArrayBuffer | undefined;
  /** The log, where lanes write to it themselves. */
  readonly log: SharedArrayBuffer | undefined;
  /** Of a GuardedClock; undefined where the clock is not guarded. */
  readonly clock: SharedArrayBuffer | undefined;
  /** A ScriptBoard. */
  readonly scripts: SharedArrayBuffer;
  /** A ClusterBoard; undefined where there is no cluster map. */
  readonly cluster: SharedArrayBuffer | undefined;
}

/** One of the questions that every lane can answer; see Questions. */
export interface LaneQuestion {
  readonly name: QuestionName;
  readonly ask: unknown;
}

/** The services of a lane for the main thread. The lane is woken after each message. */
export interface LaneServices {
  question: { ask: LaneQuestion; answer: unknown };
  /** One-way: these are the policies from now on. */
  policies: { ask: PublishedPolicies; answer: null };
  /** Answered when the lane takes locks: from then on the main thread may use the store too. */
  share: { ask: null; answer: null };
  /** One-way: run the commands that were read, send the replies, then end. */
  stop: { ask: { readonly withinMs: number }; answer: null };
}

/** The services of the main thread for a lane's thread. */
export interface ThreadServices extends MainServices {
  /** The answers of all lanes. */
  everyLane: { ask: LaneQuestion; answer: readonly unknown[] };
  /** One-way: sends the question to the other lanes for its effect there. */
  otherLanes: { ask: LaneQuestion; answer: null };
  /** One-way: the lane has started. */
  ready: { ask: null; answer: null };
  warning: { ask: string; answer: null };
  /** One-way: redis.log of a script. */
  scriptLog: { ask: ScriptLine; answer: null };
  /** One-way: a command threw an error. */
  fault: { ask: Fault; answer: null };
}

/** Levels as redis.log has them: 0 debug, 1 verbose, 2 notice, 3 warning. */
export interface ScriptLine {
  readonly level: number;
  readonly text: string;
}

export interface Fault {
  readonly error: string;
  readonly client: number;
  readonly command: string;
}
