import { expect, test } from 'vitest';
import { drawPlot, escapeText, tickStep } from './plot.js';

test.each([
  [1.25, 0.25],
  [2, 0.5],
  [0.9, 0.2],
  [12, 2.5],
])('up to %d the lines are %d apart', (upper, step) => {
  expect(tickStep(upper)).toBeCloseTo(step);
});

test('one run alone, a gap in a line and a large ratio are all drawn', () => {
  const run = { date: '2026-01-01T00:00:00.000Z', commit: 'abcdef0123' };
  const panel = (ratios: (number | undefined)[]) => ({ title: 'p99', hint: 'lower', series: [{ label: 'a', ratios }] });
  for (const ratios of [[1], [1, undefined, 40], [undefined, 0.5]]) {
    const svg = drawPlot(
      'title',
      ratios.map(() => run),
      [panel(ratios)],
    );
    const drawn = ratios.filter((ratio) => ratio !== undefined).length;
    expect(svg.match(/<circle class="dot c0" cx="[\d.]+" cy="[\d.]+" r="3.5">/g)).toHaveLength(drawn);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  }
});

test('text that looks like markup stays text', () => {
  expect(escapeText('<a & "b">')).toBe('&lt;a &amp; &quot;b&quot;&gt;');
});
