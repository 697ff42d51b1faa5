import { type ClusterView, SLOT_COUNT, slotOfKey, type ViewNode } from '@quotadb/cluster';
import { type ClusterBoard, HELD, HERE } from './cluster-board.js';

/** A command for the group that owns a slot. */
export interface ForwardRequest {
  readonly slot: number;
  readonly words: readonly Uint8Array[];
  /** The version of RESP that the reply is to have. */
  readonly protocol: 2 | 3;
  /** How long the command may wait at the owner before it answers. */
  readonly waitMs?: number | undefined;
}

/** The bytes of the reply, or why there is none, as an error reply. */
export type ForwardAnswer =
  | { readonly reply: Uint8Array }
  | { readonly error: string; readonly mayHaveRun?: true | undefined };

/** An operation of HTTP that another group has carried here. */
export interface OperationRequest {
  readonly method: string;
  /** The path with its query. */
  readonly target: string;
  readonly body: Uint8Array;
  /** The user of the connection, whose roles count. */
  readonly user: string;
}

/** Another group compares policies with those here, or sends newer ones. */
export interface PoliciesRequest {
  /** The digest of the other group's policies. */
  readonly digest: string;
  /** JSON of a SharedSet; empty where it sends none. */
  readonly changes: string;
}

const EMPTY_VIEW: ClusterView = { revision: 0, groupCount: 0, ownIndex: -1, nodes: [] };
const NO_NODE = 0xffff;
const PATIENCE_MS = 2000;
const POLL_MS = 5;

/** The cluster as one lane sees it. */
export class LaneCluster {
  /** See ClusterBoard. */
  readonly owners: Uint8Array;
  /** Commands of clients that do not know of slots are carried to their owner. */
  readonly forwards: boolean;
  private readonly board: ClusterBoard;
  private read = -1;
  private known = EMPTY_VIEW;
  /** On the main thread, by slot. */
  private readonly entered = new Map<number, number>();
  /** Of every slot, the index of the node in the view. */
  private readonly nodes = new Uint16Array(SLOT_COUNT);

  constructor(board: ClusterBoard, forwards: boolean) {
    this.board = board;
    this.owners = board.owners;
    this.forwards = forwards;
  }

  /** Read again after a change, when it is next asked for. */
  get view(): ClusterView {
    const { sequence } = this.board;
    if (sequence === this.read) return this.known;
    this.known = this.board.view() ?? EMPTY_VIEW;
    this.read = sequence;
    this.nodes.fill(NO_NODE);
    for (const [index, { slots }] of this.known.nodes.entries())
      for (const { first, last } of slots) this.nodes.fill(index, first, last + 1);
    return this.known;
  }

  /** This server does not have the data of its group yet: it is for no clients in its own view. */
  get isCopying(): boolean {
    const { nodes, ownIndex } = this.view;
    return nodes[ownIndex]?.isLive === false;
  }

  isHere(name: Uint8Array): boolean {
    return this.owners[slotOfKey(name, 0, name.length)] === HERE;
  }

  /** Whether its slot is on its way between groups. */
  isHeld(name: Uint8Array): boolean {
    return this.owners[slotOfKey(name, 0, name.length)] === HELD;
  }

  /**
   * Something on the main thread begins that uses this key and may wait; until the function that it returns is called.
   */
  enter(name: Uint8Array): () => void {
    const slot = slotOfKey(name, 0, name.length);
    const { entered } = this;
    entered.set(slot, (entered.get(slot) ?? 0) + 1);
    return () => {
      const left = (entered.get(slot) ?? 1) - 1;
      if (left === 0) entered.delete(slot);
      else entered.set(slot, left);
    };
  }

  /** How many have entered, and not left, slots that are on their way between groups now. */
  unsettled(): number {
    let count = 0;
    for (const [slot, entered] of this.entered) if (this.owners[slot] === HELD) count += entered;
    return count;
  }

  /** On the main thread: waits while the key's slot is on its way between groups; false where that took too long. */
  async whenThere(name: Uint8Array): Promise<boolean> {
    const slot = slotOfKey(name, 0, name.length);
    for (let waitedMs = 0; this.owners[slot] === HELD; waitedMs += POLL_MS) {
      if (waitedMs > PATIENCE_MS) return false;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return true;
  }

  /**
   * Why a key or subject cannot be used here, for callers that are not sent elsewhere; undefined where it can, and
   * while its slot is held: what has begun before is waited for.
   */
  findElsewhere(name: Uint8Array): string | undefined {
    const slot = slotOfKey(name, 0, name.length);
    if (this.owners[slot] === HERE || this.owners[slot] === HELD) return undefined;
    const node = this.nodeOf(slot);
    if (node === undefined) return `it is in the slot ${slot}, which no group owns`;
    return `it is in the slot ${slot}, which the group ${node.group} owns: ask a node of that group`;
  }

  /** The node that clients should ask for a slot; undefined where no group has it. */
  nodeOf(slot: number): ViewNode | undefined {
    const { nodes } = this.view;
    return nodes[this.nodes[slot]];
  }
}
