import { ConnectionError, ReplyError } from '@quotadb/client';
import type { ClusterMap, Group, Member } from '@quotadb/cluster';
import type { ForwardAnswer, ForwardRequest } from '@quotadb/resp';
import type { MemberLinks } from './links/member-links.js';

/** While slots move, maps of nodes differ for some milliseconds. */
const DIFFERENCE_MS = 1000;
const PAUSE_MS = 10;

/** Beside the time that a command may wait at the owner. */
const FORWARD_TIMEOUT_MS = 5000;

/** Carries commands to the group that owns their slot, and the replies back. */
export class Forwarder {
  forwarded = 0;
  failed = 0;
  private readonly links: MemberLinks;

  constructor(links: MemberLinks) {
    this.links = links;
  }

  /**
   * Where the other node has another map, which has not run the command, it is carried again by the newest one here.
   */
  async forward(map: () => ClusterMap, region: string, request: ForwardRequest): Promise<ForwardAnswer> {
    this.forwarded++;
    const untilMs = performance.now() + DIFFERENCE_MS;
    for (;;) {
      const answer = await this.carry(map(), region, request);
      const isAgain = 'error' in answer && answer.error.startsWith('TRYAGAIN the group') && performance.now() < untilMs;
      if (!isAgain) return answer;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  private async carry(
    map: ClusterMap,
    region: string,
    { slot, words, protocol, waitMs = 0 }: ForwardRequest,
  ): Promise<ForwardAnswer> {
    const group = map.groupOf(slot);
    if (group === undefined) return { error: 'CLUSTERDOWN Hash slot not served' };
    let reason = 'none is reachable';
    for (const member of this.inOrder(group, region, slot)) {
      try {
        return { reply: await this.links.send(member, words, protocol, FORWARD_TIMEOUT_MS + waitMs) };
      } catch (error) {
        if (error instanceof ReplyError) return { error: errorOf(error, group) };
        this.failed++;
        if (!(error instanceof ConnectionError)) throw error;
        // It may have run: to send it again could count it twice.
        if (error.isSent)
          return {
            error: `ERR the group ${group.name} has not answered, and may have run the command`,
            mayHaveRun: true,
          };
        reason = error.message;
      }
    }
    return { error: `CLUSTERDOWN no member of the group ${group.name} can be reached: ${reason}` };
  }

  /** Asks a member of a group that can be reached, one after another; rejects where none has answered in time. */
  async ask(group: Group, region: string, words: readonly string[], timeoutMs: number): Promise<Uint8Array> {
    let failure = new Error('it has no members');
    for (const member of this.inOrder(group, region, 0)) {
      try {
        return await this.links.ask(member, words, timeoutMs / group.members.length);
      } catch (error) {
        failure = error as Error;
        if (error instanceof ReplyError) break;
      }
    }
    throw failure;
  }

  /** Reachable members first, of those the own region's first; the slot spreads the load over these. */
  private inOrder({ members }: Group, region: string, slot: number): Member[] {
    const rank = (member: Member) => (this.links.isReachable(member) ? 0 : 2) + (member.region === region ? 0 : 1);
    const turned = members.map((_, at) => members[(at + slot) % members.length]);
    return turned.sort((one, other) => rank(one) - rank(other));
  }
}

/** The other node has another map for a moment, and carries nothing on. */
function errorOf({ code, message }: ReplyError, group: Group): string {
  if (code !== 'MOVED') return message;
  return `TRYAGAIN the group ${group.name} has another cluster map than this node, which gives the slot to others`;
}
