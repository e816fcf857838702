import type { CellsFigure } from './cells.js';
import type { CellsThroughput } from './cells-throughput.js';
import type { SizingResult } from './sizing.js';
import { bench } from './testing/bench-process.js';

describe('each bench', () => {
  it('measures each read against a control that sends the same bytes', () => {
    const little = [
      '--rounds',
      '1',
      '--seconds',
      '0.2',
      '--connections',
      '2',
      '--transfers',
      '100',
      '--grown-to',
      '200',
    ];

    const { status, stdout, stderr } = bench('reads', ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const result = JSON.parse(stdout);
    expect(result.comparisons).toHaveLength(5);
    for (const { pairs } of result.comparisons) {
      expect(pairs).toHaveLength(1);
      expect(pairs[0].ours.perSecond).toBeGreaterThan(0);
      expect(pairs[0].control.perSecond).toBeGreaterThan(0);
    }
    expect(result.residentMb).toBeGreaterThan(10);
  });

  it('measures a page of a list', () => {
    const little = ['--rounds', '1', '--seconds', '0.2', '--connections', '2', '--transfers', '700', '--page', '7'];

    const { status, stdout, stderr } = bench('lists', ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const { comparisons } = JSON.parse(stdout);
    expect(comparisons.map(({ name }: { name: string }) => name)).toEqual([
      'GET /transfers, page 7 of 700 transfers',
      'GET /transfers?limit=25',
      'GET /transfers?limit=100',
    ]);
    for (const { pairs } of comparisons) {
      expect(pairs[0].ours.perSecond).toBeGreaterThan(0);
      expect(pairs[0].control.perSecond).toBeGreaterThan(0);
    }
    expect(bench('lists', ...little.slice(0, -1), '99').stderr).toContain('items before that page');
  });

  it('measures orders in process and over HTTP, and verifies the books', () => {
    const little = [
      '--rounds',
      '1',
      '--seconds',
      '0.2',
      '--connections',
      '2',
      '--callers',
      '2',
      '--accounts',
      '4',
      '--workspaces',
      '2',
    ];

    const { status, stdout, stderr } = bench('orders', ...little, '--json', '--cases', 'workspaces');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    expect(stderr).toContain('Proving the books');
    const { comparisons } = JSON.parse(stdout);
    expect(comparisons.map(({ name }: { name: string }) => name)).toEqual([
      'A lone order, in process',
      'Orders over 2 workspaces, in process',
      'Orders over 2 workspaces, in process',
      'Orders over 2 workspaces, over HTTP',
    ]);
    for (const { pairs } of comparisons) {
      expect(pairs[0].ours.perSecond).toBeGreaterThan(0);
      expect(pairs[0].control.perSecond).toBeGreaterThan(0);
    }
  });

  it('measures the client against fetch, and its memory growth', () => {
    const little = ['--rounds', '1', '--seconds', '0.2', '--connections', '2', '--calls', '100'];

    const { status, stdout, stderr } = bench('client', ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const { comparisons, growths } = JSON.parse(stdout);
    expect(comparisons).toHaveLength(1);
    expect(comparisons[0].pairs[0].ours.perSecond).toBeGreaterThan(0);
    expect(comparisons[0].pairs[0].control.perSecond).toBeGreaterThan(0);
    expect(growths).toHaveLength(1);
    expect(growths[0].marks.map(({ asked }: { asked: number }) => asked)).toEqual([10, 30, 50, 70, 90, 100]);
    for (const { heapMb, residentMb } of growths[0].marks) {
      expect(heapMb).toBeGreaterThan(1);
      expect(residentMb).toBeGreaterThan(heapMb);
    }
  });

  it('measures reads through a gateway, and its memory growth', () => {
    const little = ['--rounds', '1', '--seconds', '0.2', '--connections', '2', '--requests', '100'];

    const { status, stdout, stderr } = bench('gateway', ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const { comparisons, growths, residentMb } = JSON.parse(stdout);
    expect(comparisons.map(({ compares }: { compares?: string }) => compares)).toEqual([
      undefined,
      'addedMs',
      'addedMs',
    ]);
    for (const { pairs } of comparisons) {
      expect(pairs[0].ours.perSecond).toBeGreaterThan(0);
      expect(pairs[0].control.perSecond).toBeGreaterThan(0);
    }
    expect(growths[0].marks).toHaveLength(6);
    expect(residentMb).toBeGreaterThan(10);
  });

  it('measures the processor time of the verification', () => {
    const little = ['--seconds', '1', '--connections', '2', '--accounts', '4'];

    const { status, stdout, stderr } = bench('verification', ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const { orders, placing, payingOut, share } = JSON.parse(stdout);
    expect(orders).toBeGreaterThan(0);
    expect(placing.service + placing.database).toBeGreaterThan(0);
    expect(payingOut.service + payingOut.database).toBeGreaterThan(0);
    expect(share).toBeLessThan(1);
  });

  it.each(['metrics', 'traces'])('measures the processor time of a request with %s and without', (part) => {
    const little = ['--rounds', '1', '--requests', '20', '--connections', '2', '--accounts', '4'];

    const { status, stdout, stderr } = bench(part, ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const figures = JSON.parse(stdout) as { name: string; with: { median: number }; without: { median: number } }[];
    expect(figures.map(({ name }) => name)).toEqual([
      'GET /products',
      'GET /transfers/{transferId}',
      'POST /accounts/{accountId}/orders',
    ]);
    for (const figure of figures) {
      expect(figure.with.median).toBeGreaterThan(0);
      expect(figure.without.median).toBeGreaterThan(0);
    }
  });

  it('measures the processor time of a request with three databases and with one', () => {
    // Processor time is counted in steps of 10 ms.
    const little = ['--rounds', '1', '--requests', '400', '--connections', '2', '--accounts', '4'];

    const { status, stdout, stderr } = bench('cells', ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const figures = JSON.parse(stdout) as CellsFigure[];
    expect(figures.map(({ name }) => name)).toEqual([
      'GET /transfers/{transferId}',
      'POST /accounts/{accountId}/orders',
    ]);
    for (const { cells, one } of figures) {
      expect(cells.median).toBeGreaterThan(0);
      expect(one.median).toBeGreaterThan(0);
    }
  }, 240_000);

  it('measures orders over one, two and three databases', () => {
    const little = ['--seconds', '1', '--connections', '2', '--accounts', '4'];

    const { status, stdout, stderr } = bench('cells-throughput', ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const figures = JSON.parse(stdout) as CellsThroughput[];
    expect(figures.map(({ cells }) => cells)).toEqual([1, 2, 3]);
    for (const { perSecond } of figures) expect(perSecond).toBeGreaterThan(0);
  }, 240_000);

  it('measures the processor time, the bytes and the log of an order', () => {
    const little = ['--seconds', '1', '--connections', '2', '--accounts', '4'];

    const { status, stdout, stderr } = bench('sizing', ...little, '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const { orders, placing, carryingOut, tables, connections } = JSON.parse(stdout) as SizingResult;
    expect(orders).toBeGreaterThan(0);
    for (const phase of [placing, carryingOut]) {
      expect(phase.service + phase.database).toBeGreaterThan(0);
      expect(phase.walBytes).toBeGreaterThan(100);
    }
    expect(tables.map(({ name }) => name)).toContain('transfer');
    expect(connections.service).toBeGreaterThan(0);
  });

  it('measures reads, lists and orders in grown books', () => {
    const little = ['--rounds', '1', '--seconds', '0.2', '--connections', '2', '--accounts', '2'];

    const { status, stdout, stderr } = bench('grown', ...little, '--transfers', '300', '--grown-to', '500', '--json');

    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const { comparisons } = JSON.parse(stdout);
    expect(comparisons).toHaveLength(4);
    for (const { pairs } of comparisons) expect(pairs[0].ours.perSecond).toBeGreaterThan(0);
  });
});
