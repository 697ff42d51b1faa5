/**
 * Lines over a few values of x, in panels side by side under one legend each, as SVG for light and dark surroundings.
 */
export interface PlotPanel {
  readonly title: string;
  readonly hint: string;
  readonly xLabel: string;
  readonly unit: string;
  readonly x: readonly number[];
  readonly lines: readonly { readonly label: string; readonly y: readonly number[] }[];
}

const PANEL_WIDTH = 330;
const PLOT_HEIGHT = 170;
const MARGIN = { left: 58, right: 16, top: 78, bottom: 52 };
const LEGEND_LINE_HEIGHT = 17;
const TICKS = 5;

const LIGHT = ['#0b63c5', '#b54708', '#177245', '#8a3ffc', '#b3125c'];
const DARK = ['#6cb2ff', '#ffa657', '#56d38a', '#c8a2ff', '#ff8fc0'];

export function drawLines(title: string, panels: readonly PlotPanel[]): string {
  const width = panels.length * PANEL_WIDTH;
  const legendTop = MARGIN.top + PLOT_HEIGHT + MARGIN.bottom;
  const height = legendTop + Math.max(...panels.map(({ lines }) => lines.length)) * LEGEND_LINE_HEIGHT + 6;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${styles()}</style>`,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    `<text class="strong" x="12" y="22">${title}</text>`,
    ...panels.flatMap((panel, index) => drawPanel(panel, index * PANEL_WIDTH, legendTop)),
    '</svg>',
    '',
  ].join('\n');
}

function drawPanel(panel: PlotPanel, offset: number, legendTop: number): string[] {
  const left = offset + MARGIN.left;
  const right = offset + PANEL_WIDTH - MARGIN.right;
  const bottom = MARGIN.top + PLOT_HEIGHT;
  const upper = roundUp(Math.max(1, ...panel.lines.flatMap(({ y }) => y)));
  // Values of x are evenly spaced, not to scale: the reader compares the lines.
  const x = (index: number) => left + ((index + 0.5) * (right - left)) / panel.x.length;
  const y = (value: number) => bottom - (value / upper) * PLOT_HEIGHT;
  const pointOf = (index: number, value: number) => `${round(x(index))},${round(y(value))}`;
  const figureOf = (value: number) => `${value.toLocaleString('en')}${panel.unit}`;
  const ticks = Array.from({ length: TICKS + 1 }, (_, index) => (upper * index) / TICKS);
  return [
    `<text x="${left}" y="46">${panel.title}</text>`,
    `<text class="faint" x="${left}" y="62">${panel.hint}</text>`,
    ...ticks.flatMap((tick) => [
      `<line class="grid" x1="${left}" x2="${right}" y1="${round(y(tick))}" y2="${round(y(tick))}"/>`,
      `<text class="faint end" x="${left - 6}" y="${round(y(tick) + 4)}">${figureOf(round(tick))}</text>`,
    ]),
    ...panel.x.map(
      (value, index) => `<text class="faint middle" x="${round(x(index))}" y="${bottom + 17}">${value}</text>`,
    ),
    `<text class="faint middle" x="${(left + right) / 2}" y="${bottom + 33}">${panel.xLabel}</text>`,
    ...panel.lines.flatMap((line, colour) => [
      `<polyline class="line c${colour}" points="${line.y.map((value, index) => pointOf(index, value)).join(' ')}"/>`,
      ...line.y.map(
        (value, index) =>
          `<circle class="dot c${colour}" cx="${round(x(index))}" cy="${round(y(value))}" r="3.5">` +
          `<title>${line.label}: ${figureOf(value)}</title></circle>`,
      ),
      `<circle class="dot c${colour}" cx="${left + 4}" cy="${legendTop + colour * LEGEND_LINE_HEIGHT - 4}" r="4"/>`,
      `<text x="${left + 14}" y="${legendTop + colour * LEGEND_LINE_HEIGHT}">${line.label}</text>`,
    ]),
  ];
}

/** To a number that divides into ticks people can read. */
function roundUp(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * magnitude).find((candidate) => candidate >= value)!;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function styles(): string {
  const colours = (palette: readonly string[], text: string, faint: string, ground: string, grid: string) =>
    [
      `text{fill:${text}}.faint{fill:${faint}}.ground{fill:${ground}}.grid{stroke:${grid}}`,
      ...palette.map((colour, index) => `.line.c${index}{stroke:${colour}}.dot.c${index}{fill:${colour}}`),
    ].join('');
  return [
    'text{font:12px system-ui,sans-serif}.strong{font-weight:600;font-size:14px}',
    '.end{text-anchor:end}.middle{text-anchor:middle}',
    '.line{fill:none;stroke-width:2;stroke-linejoin:round}',
    colours(LIGHT, '#1f2328', '#57606a', '#ffffff', '#e3e6ea'),
    `@media(prefers-color-scheme:dark){${colours(DARK, '#e6edf3', '#9ba5b0', '#0d1117', '#2b323b')}}`,
  ].join('');
}
