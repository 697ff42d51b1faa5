import type { PeerFigures } from '../../src/snapshot.js';
import { type Link, stateOfLink, wordsOfPeer } from '../live/links.js';
import { regions } from '../live/regions.js';
import { bytes, count, milliseconds } from './format.js';
import { State } from './panel.js';
import { number, Table, text } from './table.js';

/** In the words of `quotadb status`: a peer that has everything is in step, after the time of a round trip. */
export function lagOf({ state, lagMs, lagVersions }: PeerFigures): string {
  if (lagMs < 0) return 'not known';
  return state === 'connected' && lagVersions === 0
    ? `in step, ${milliseconds(lagMs)}`
    : `${milliseconds(lagMs)} behind`;
}

export function LinkTable(props: { links: readonly Link[] }) {
  return <Table columns={COLUMNS} rows={props.links} keyOf={({ from, to }) => `${from} ${to}`} />;
}

const COLUMNS = [
  text('From', ({ from }: Link) => from),
  text('To', ({ to }: Link) => to),
  text('State', ({ peer }: Link) => (
    <>
      <State dot={stateOfLink(peer)}>{wordsOfPeer(peer)}</State>
      {peer.trouble !== '' && <div class="trouble small">{peer.trouble}</div>}
    </>
  )),
  number('Lag', ({ peer }: Link) => lagOf(peer)),
  number('View is as of', ({ peer }: Link) => (peer.ageMs < 0 ? 'never' : `${milliseconds(peer.ageMs)} ago`)),
  number('Round trip', ({ peer }: Link) => (peer.roundTripMs < 0 ? '–' : milliseconds(peer.roundTripMs))),
  number('Clock ahead', ({ peer }: Link) => (peer.state === 'connected' ? `${Math.round(peer.skewMs)} ms` : '–')),
  number('Sent', ({ peer }: Link) => bytes(peer.bytesOut)),
  number('Received', ({ peer }: Link) => bytes(peer.bytesIn)),
  number('Repairs', ({ peer }: Link) => count(peer.repairs)),
  number('Tokens given', ({ from, to }: Link) => count(tokensGiven(from, to))),
];

function tokensGiven(from: string, to: string): number {
  return regions.value.get(from)?.snapshot?.tokenFlow.find(({ region }) => region === to)?.givenTotal ?? 0;
}
