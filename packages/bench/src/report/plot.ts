import { COMMIT_LETTERS } from '../results/history.js';
import type { Run, Series } from './select.js';

/**
 * Draws how ratios to Redis went over the runs, as SVG. Panels stand side by side under one legend. Colours are
 * given twice, for light and for dark surroundings, and the ground is painted in both, so that the picture does not
 * depend on the page it is shown on.
 */
export interface Panel {
  readonly title: string;
  /** Which way is better, in words. */
  readonly hint: string;
  readonly series: readonly Series[];
}

const PANEL_WIDTH = 320;
const PLOT_HEIGHT = 180;
const MARGIN = { left: 44, right: 44, top: 78, bottom: 44 };
const LEGEND_ENTRY_WIDTH = 220;
const LEGEND_LINE_HEIGHT = 18;
const MAX_COMMIT_LABELS = 3;
/** Redis itself, at 1.0, is always in the picture with some room above. */
const LEAST_UPPER_BOUND = 1.25;
const MARKER_RADIUS = 3.5;

const LIGHT = ['#0b63c5', '#b54708', '#177245', '#8a3ffc', '#b3125c', '#5c5f66'];
const DARK = ['#6cb2ff', '#ffa657', '#56d38a', '#c8a2ff', '#ff8fc0', '#b1b7c0'];

export function drawPlot(title: string, runs: readonly Run[], panels: readonly Panel[]): string {
  const labels = [...new Set(panels.flatMap((panel) => panel.series.map((series) => series.label)))];
  const width = panels.length * PANEL_WIDTH;
  const entriesPerLine = Math.max(1, Math.floor(width / LEGEND_ENTRY_WIDTH));
  const legendTop = MARGIN.top + PLOT_HEIGHT + MARGIN.bottom;
  const height = legendTop + Math.ceil(labels.length / entriesPerLine) * LEGEND_LINE_HEIGHT + 10;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" role="img">`,
    `<title>${escapeText(title)}</title>`,
    `<style>${styles()}</style>`,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    `<text class="strong" x="12" y="22">${escapeText(title)}</text>`,
    ...panels.flatMap((panel, index) => drawPanel(panel, index * PANEL_WIDTH, runs, labels)),
    ...labels.map((label, index) => {
      const left = 12 + (index % entriesPerLine) * LEGEND_ENTRY_WIDTH;
      const top = legendTop + Math.floor(index / entriesPerLine) * LEGEND_LINE_HEIGHT;
      const dot = `<circle class="dot ${colourClass(index)}" cx="${left + 4}" cy="${top - 4}" r="4"/>`;
      return `${dot}<text x="${left + 14}" y="${top}">${escapeText(label)}</text>`;
    }),
    '</svg>',
    '',
  ].join('\n');
}

function drawPanel(panel: Panel, offset: number, runs: readonly Run[], labels: readonly string[]): string[] {
  const left = offset + MARGIN.left;
  const right = offset + PANEL_WIDTH - MARGIN.right;
  const bottom = MARGIN.top + PLOT_HEIGHT;
  const ratios = panel.series.flatMap((series) => series.ratios).filter((ratio) => ratio !== undefined);
  const step = tickStep(Math.max(LEAST_UPPER_BOUND, ...ratios) * 1.05);
  const upper = Math.ceil(Math.max(LEAST_UPPER_BOUND, ...ratios) / step) * step;
  const x = (run: number) =>
    runs.length === 1 ? (left + right) / 2 : left + (run * (right - left)) / (runs.length - 1);
  const y = (ratio: number) => bottom - (ratio / upper) * PLOT_HEIGHT;

  const ticks = Array.from({ length: Math.round(upper / step) + 1 }, (_, index) => index * step);
  return [
    `<text x="${left}" y="46">${escapeText(panel.title)}</text>`,
    `<text class="faint" x="${left}" y="62">${escapeText(panel.hint)}</text>`,
    ...ticks.flatMap((tick) => [
      `<line class="grid" x1="${left}" x2="${right}" y1="${round(y(tick))}" y2="${round(y(tick))}"/>`,
      `<text class="faint end" x="${left - 6}" y="${round(y(tick) + 4)}">${Number(tick.toFixed(2))}×</text>`,
    ]),
    `<line class="redis" x1="${left}" x2="${right}" y1="${round(y(1))}" y2="${round(y(1))}"/>`,
    `<text class="faint" x="${right + 6}" y="${round(y(1) + 4)}">Redis</text>`,
    ...labelledRuns(runs.length).map((run) => {
      const commit = runs[run]!.commit.slice(0, COMMIT_LETTERS);
      return `<text class="faint middle" x="${round(x(run))}" y="${bottom + 18}">${commit}</text>`;
    }),
    ...panel.series.flatMap((series) => drawSeries(series, labels.indexOf(series.label), runs, x, y)),
  ];
}

function drawSeries(
  series: Series,
  colour: number,
  runs: readonly Run[],
  x: (run: number) => number,
  y: (ratio: number) => number,
): string[] {
  const points = series.ratios.flatMap((ratio, run) => (ratio === undefined ? [] : [{ run, ratio }]));
  const path = points.map(({ run, ratio }) => `${round(x(run))},${round(y(ratio))}`).join(' ');
  return [
    `<polyline class="line ${colourClass(colour)}" points="${path}"/>`,
    ...points.map(({ run, ratio }) => {
      const commit = runs[run]!.commit.slice(0, COMMIT_LETTERS);
      const tip = `${series.label}: ${ratio.toFixed(2)}× Redis, ${commit}, ${runs[run]!.date.slice(0, 10)}`;
      const place = `cx="${round(x(run))}" cy="${round(y(ratio))}" r="${MARKER_RADIUS}"`;
      return `<circle class="dot ${colourClass(colour)}" ${place}><title>${escapeText(tip)}</title></circle>`;
    }),
  ];
}

/** The first and the last run, and as many between as there is room for. */
function labelledRuns(count: number): number[] {
  const shown = Math.min(count, MAX_COMMIT_LABELS);
  const all = Array.from({ length: shown }, (_, index) =>
    shown === 1 ? 0 : Math.round((index * (count - 1)) / (shown - 1)),
  );
  return [...new Set(all)];
}

/** A step that people can read, for about five lines. */
export function tickStep(upper: number): number {
  const rough = upper / 5;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * magnitude).find((step) => step >= rough * 0.999)!;
}

function styles(): string {
  const colours = (palette: readonly string[], text: string, faint: string, ground: string, grid: string) =>
    [
      `text{fill:${text}}.faint{fill:${faint}}.ground{fill:${ground}}.grid{stroke:${grid}}.redis{stroke:${faint}}`,
      ...palette.map((colour, index) => `.line.c${index}{stroke:${colour}}.dot.c${index}{fill:${colour}}`),
    ].join('');
  return [
    'text{font:12px system-ui,sans-serif}.strong{font-weight:600;font-size:14px}',
    '.end{text-anchor:end}.middle{text-anchor:middle}',
    '.line{fill:none;stroke-width:2;stroke-linejoin:round}.redis{stroke-dasharray:5 4;stroke-width:1.5}',
    colours(LIGHT, '#1f2328', '#57606a', '#ffffff', '#e3e6ea'),
    `@media(prefers-color-scheme:dark){${colours(DARK, '#e6edf3', '#9ba5b0', '#0d1117', '#2b323b')}}`,
  ].join('');
}

function colourClass(index: number): string {
  return `c${index % LIGHT.length}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
