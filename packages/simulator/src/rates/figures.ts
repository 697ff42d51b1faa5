import {
  type Admission,
  type AdmissionSetup,
  measureAdmission,
  measureTraffic,
  type Traffic,
  type TrafficSetup,
} from './measure.js';
import { drawLines } from './plot.js';

/** A figure about regions in docs/algorithms/sliding-window.md, which scripts/measure-rates.mjs writes. */
export type RateRow =
  | { readonly question: 'traffic'; readonly setup: TrafficSetup; readonly measured: Traffic }
  | { readonly question: 'admission'; readonly setup: AdmissionSetup; readonly measured: Admission };

const THRESHOLDS = [0, 5, 20, 50, 100];
const ADMISSION_THRESHOLDS = [0, 20, 50];
const REGION_COUNTS = [2, 3, 5, 8];
const ROUND_TRIPS_MS = [2, 50, 100, 200, 300];
const USUAL_REGIONS = 3;
const USUAL_ROUND_TRIP_MS = 100;
const USUAL_THRESHOLD = 20;

const common = { regions: USUAL_REGIONS, roundTripMs: USUAL_ROUND_TRIP_MS, windowMs: 60_000 };
const cold = { ...common, name: 'cold', identifiers: 50_000, limit: 100, requests: 200_000, requestsPerSecond: 5_000 };
const hot = { ...common, name: 'hot', identifiers: 20, limit: 2_000, requests: 200_000, requestsPerSecond: 5_000 };
const hammered = { isIndependent: false, limit: 100, windowMs: 10_000, windows: 4, load: 'hammering' } as const;
const oneKey = { isIndependent: false, limit: 1_000, windowMs: 10_000, windows: 4, load: 5 };

export async function measureRates(onRow: (row: RateRow) => void): Promise<void> {
  for (const base of [cold, hot]) {
    for (const publishPercent of THRESHOLDS) {
      const setup = { ...base, publishPercent };
      onRow({ question: 'traffic', setup, measured: await measureTraffic(setup) });
    }
  }
  const setups = new Map<string, AdmissionSetup>();
  const add = (setup: AdmissionSetup) => setups.set(JSON.stringify(setup), setup);
  for (const regions of REGION_COUNTS) {
    for (const publishPercent of ADMISSION_THRESHOLDS)
      add({ ...oneKey, regions, roundTripMs: USUAL_ROUND_TRIP_MS, publishPercent });
    add({ ...oneKey, regions, roundTripMs: USUAL_ROUND_TRIP_MS, publishPercent: USUAL_THRESHOLD, isIndependent: true });
    add({ ...hammered, regions, roundTripMs: USUAL_ROUND_TRIP_MS, publishPercent: USUAL_THRESHOLD });
    for (const roundTripMs of ROUND_TRIPS_MS) add({ ...oneKey, regions, roundTripMs, publishPercent: USUAL_THRESHOLD });
  }
  for (const setup of setups.values()) onRow({ question: 'admission', setup, measured: await measureAdmission(setup) });
}

function trafficOf(rows: readonly RateRow[], name: string): Traffic[] {
  return THRESHOLDS.map((threshold) => {
    const row = rows.find(
      (each) => each.question === 'traffic' && each.setup.name === name && each.setup.publishPercent === threshold,
    );
    return row!.measured as Traffic;
  });
}

function admissionOf(rows: readonly RateRow[], setup: Partial<AdmissionSetup>): Admission {
  const wanted: Partial<AdmissionSetup> = { ...oneKey, ...setup };
  const row = rows.find(
    (each) =>
      each.question === 'admission' &&
      each.setup.regions === wanted.regions &&
      each.setup.roundTripMs === wanted.roundTripMs &&
      each.setup.publishPercent === wanted.publishPercent &&
      each.setup.isIndependent === wanted.isIndependent &&
      each.setup.load === wanted.load,
  );
  return row!.measured as Admission;
}

export function plotRates(rows: readonly RateRow[]): string {
  const over = (setup: Partial<AdmissionSetup>) => admissionOf(rows, setup).overPercent;
  return drawLines('A limit across regions: what it costs and what it admits', [
    {
      title: 'Cells sent between 3 regions',
      hint: 'thousands for a million requests',
      xLabel: 'publish threshold, % of the limit',
      unit: '',
      x: THRESHOLDS,
      lines: ['cold', 'hot'].map((name) => ({
        label: name === 'cold' ? 'cold: far from their limit' : 'hot: at their limit',
        y: trafficOf(rows, name).map(({ cellsPerMillion }) => Math.round(cellsPerMillion / 100) / 10),
      })),
    },
    {
      title: 'Admitted beyond the limit',
      hint: `round trip ${USUAL_ROUND_TRIP_MS} ms, one hot key`,
      xLabel: 'regions',
      unit: ' %',
      x: REGION_COUNTS,
      lines: ADMISSION_THRESHOLDS.map((publishPercent) => ({
        label: `threshold ${publishPercent} %`,
        y: REGION_COUNTS.map((regions) => over({ regions, roundTripMs: USUAL_ROUND_TRIP_MS, publishPercent })),
      })),
    },
    {
      title: 'Admitted beyond the limit',
      hint: `threshold ${USUAL_THRESHOLD} %, one hot key`,
      xLabel: 'round trip, ms',
      unit: ' %',
      x: ROUND_TRIPS_MS,
      lines: REGION_COUNTS.map((regions) => ({
        label: `${regions} regions`,
        y: ROUND_TRIPS_MS.map((roundTripMs) => over({ regions, roundTripMs, publishPercent: USUAL_THRESHOLD })),
      })),
    },
  ]);
}

export function tabulateRates(rows: readonly RateRow[]): string {
  const figure = (value: number) => value.toLocaleString('en');
  const traffic = (name: string) =>
    trafficOf(rows, name).map(({ messagesPerMillion, cellsPerMillion, bytesPerMillion }, index) => {
      const figures = [messagesPerMillion, cellsPerMillion, Math.round(bytesPerMillion / 1000)].map(figure);
      return `| ${[name, `${THRESHOLDS[index]} %`, ...figures].join(' | ')} |`;
    });
  const admission = REGION_COUNTS.map((regions) => {
    const at = { regions, roundTripMs: USUAL_ROUND_TRIP_MS, publishPercent: USUAL_THRESHOLD };
    const cells = ADMISSION_THRESHOLDS.map((publishPercent) => {
      const { overPercent, worstWindowPercent } = admissionOf(rows, { ...at, publishPercent });
      return `${overPercent} % (${worstWindowPercent} %)`;
    });
    const independent = admissionOf(rows, { ...at, isIndependent: true }).overPercent;
    const burst = admissionOf(rows, { ...at, load: hammered.load });
    const hammering = `${burst.overPercent} % (${burst.worstWindowPercent} %)`;
    return `| ${[regions, ...cells, `${independent} %`, hammering].join(' | ')} |`;
  });
  const thresholds = ADMISSION_THRESHOLDS.map((threshold) => `threshold ${threshold} %`);
  return [
    '| identifiers | threshold | messages | cells | kB |',
    '|---|---|---|---|---|',
    ...traffic('cold'),
    ...traffic('hot'),
    '| any, independent regions | | 0 | 0 | 0 |',
    '',
    `| regions | ${thresholds.join(' | ')} | independent regions | hammering |`,
    `|${'---|'.repeat(ADMISSION_THRESHOLDS.length + 3)}`,
    ...admission,
  ].join('\n');
}
