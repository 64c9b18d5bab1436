import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Chart, drawChart, MOST_DRAWN, ticksOf } from '../../cli/terminal/render/chart.js';
import { MOST_SVG_CURVES, svgOf } from '../../cli/terminal/render/chart-svg.js';
import { textWidth } from '../../cli/terminal/render/columns.js';
import { lookOf } from '../../cli/terminal/render/look.js';

const PIPE = lookOf({}, { LANG: 'C.UTF-8' });
const TERMINAL = lookOf({ isTTY: true, columns: 50 }, { LANG: 'C.UTF-8' });
const chart = (...curves: readonly (readonly (number | null)[])[]): Chart => ({
  title: 'loss',
  axis: 'step',
  curves: curves.map((y, index) => ({ label: `job-${index}`, x: y.map((_, step) => step), y })),
});

describe('a chart', () => {
  it('is of one character for each curve in a pipe, with a legend of several', () =>
    assert.deepEqual(drawChart(chart([0, 1, 2], [2, 1, 0]), lookOf({}, {}), 5), [
      'loss',
      '2 |oooooooooo                                                         **********',
      '  |          ooooooooooooooooooo                   *******************',
      '1 |                             ooooooooooooooooooo',
      '  |          *******************                   ooooooooooooooooooo',
      '0 |**********                                                         oooooooooo',
      '   0                                     1                                     2',
      '  * job-0',
      '  o job-1',
    ]));

  it('is of dots on a terminal', () =>
    assert.deepEqual(drawChart(chart([0, 1, 2, 1, 0]), TERMINAL, 4), [
      'loss',
      '2 │                  ⣀⡠⠤⠔⠒⠉⠒⠢⠤⢄⣀',
      '  │           ⢀⣀⡠⠤⠒⠊⠉           ⠉⠑⠒⠤⢄⣀⡀',
      '1 │      ⣀⡠⠔⠒⠉⠁                       ⠈⠉⠒⠢⢄⣀',
      '0 │⣀⠤⠔⠒⠉⠉                                   ⠉⠉⠒⠢⠤⣀',
      '   0          1           2          3           4',
    ]));

  it('has the characters of a pipe where curves could not be told apart by colour', () => {
    const noColour = lookOf({ isTTY: true, columns: 60 }, { LANG: 'C.UTF-8', NO_COLOR: '1' });
    assert.doesNotMatch(drawChart(chart([0, 1], [1, 0]), noColour, 4).join(''), /[\u2801-\u28ff]/);
    assert.match(drawChart(chart([0, 1], [1, 0]), TERMINAL, 4).join(''), /[\u2801-\u28ff]/);
    const many = chart(...Array.from({ length: 6 }, (_, index) => [0, index]));
    assert.doesNotMatch(drawChart(many, TERMINAL, 4).join(''), /[\u2801-\u28ff]/);
  });

  it('leaves gaps where a value is none, and says if there is no value at all', () => {
    const [, ...rows] = drawChart(chart([1, null, null, null, 1]), PIPE, 3);
    assert.equal(rows.join('').replaceAll(/[^*]/g, ''), '**');
    assert.deepEqual(drawChart(chart([null]), PIPE, 3), ['loss', '  no value to draw']);
    assert.match(svgOf([chart([null])]), /no value to draw/);
  });

  const number = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, -0, 1, 1e308, -1e308, 1.7e308, -1.7e308, 5e-324, 1 + 2 ** -52, 1e-9),
    fc.constant(null),
  );
  const anyChart = fc
    .record({
      curves: fc.array(fc.array(number, { maxLength: 8 }), { minLength: 1, maxLength: MOST_SVG_CURVES }),
      steps: fc.array(fc.nat({ max: Number.MAX_SAFE_INTEGER }), { minLength: 8, maxLength: 8 }),
      axis: fc.constantFrom<Chart['axis']>('step', 'time'),
    })
    .map(({ curves, steps, axis }): Chart => {
      const x = steps.toSorted((a, b) => a - b);
      return {
        title: 't',
        axis,
        curves: curves.map((y, index) => ({ label: `c${index}`, x: x.slice(0, y.length), y })),
      };
    });

  it('of any values has its height and width, and an image without what is no number', () =>
    fc.assert(
      fc.property(anyChart, fc.integer({ min: 40, max: 90 }), (any, columns) => {
        const look = lookOf({ isTTY: true, columns }, { LANG: 'C.UTF-8', NO_COLOR: '1' });
        const lines = drawChart({ ...any, curves: any.curves.slice(0, MOST_DRAWN) }, look, 6);
        for (const line of lines) assert.ok(textWidth(line) <= columns, `${textWidth(line)} > ${columns}: ${line}`);
        assert.doesNotMatch(svgOf([any]), /NaN|Infinity|undefined|e[+-]\d+[ "]/);
      }),
    ));

  it('has round ticks within its range', () => {
    assert.deepEqual(ticksOf({ least: 0, most: 1 }, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
    assert.deepEqual(ticksOf({ least: -3, most: 42 }, 4), [0, 20, 40]);
    assert.deepEqual(ticksOf({ least: 0.0031, most: 0.0032 }, 2), [0.0031, 0.00315, 0.0032]);
    fc.assert(
      fc.property(
        fc.double({ min: -1e9, max: 1e9, noNaN: true }),
        fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
        (least, width) => {
          const ticks = ticksOf({ least, most: least + width }, 5);
          assert.ok(ticks.length >= 1 && ticks.length <= 12, String(ticks));
          assert.deepEqual(
            ticks,
            ticks.toSorted((a, b) => a - b),
          );
        },
      ),
    );
  });

  it('is an image in which names are text', () => {
    const evil = '<script>alert("x")</script>&';
    const svg = svgOf([
      {
        title: evil,
        axis: 'time',
        curves: [
          { label: evil, x: [0, 60_000], y: [1, 2] },
          { label: 'b', x: [0], y: [1] },
        ],
      },
    ]);
    assert.doesNotMatch(svg, /<script|&(?!amp;|lt;|gt;|quot;)/);
    assert.match(svg, /&lt;script&gt;alert\(&quot;x&quot;\)&lt;\/script&gt;&amp;/);
    assert.match(svg, />1m 00s<|>1m 0s</);
  });
});
