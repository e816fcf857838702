import { Refusal } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { DatabaseValues, type MeasuredCell } from './database-values.js';
import { Metrics } from './metric-list.js';

const ROWS = [
  [
    { kind: 'payout', rail: 'bank', due: 3, seconds: 61 },
    { kind: 'execution', rail: '', due: 1, seconds: 1 },
  ],
  [{ kind: 'execution', parked: 2 }],
  [],
  [{ rail: 'bank', status: 'submitted', payouts: 5, seconds: 90 }],
  [{ finding_count: 4 }],
  [{ rows: 7, seconds: 1.5 }],
  [{ waiting: 9, seconds: 2.5 }],
  [{ enabled: 4, failing: 1, disabled: 2, due: 9, seconds: 6.5 }],
  [{ rail: 'bank', differences: 3, seconds: 40, refused: 1 }],
  [{ rail: 'bank', payouts: 6, seconds: 3601 }],
];

let pipeline: jest.Mock;

beforeEach(() => {
  pipeline = jest.fn(async () => ROWS);
});

/** Returns what scrapes: the values by series. */
function collect(
  readMaxMs?: number,
  cells = (): readonly MeasuredCell<Pick<Database, 'pipeline'>>[] => [{ database: { pipeline } as never }],
): () => Promise<Readonly<Record<string, number>>> {
  const metrics = new Metrics();
  new DatabaseValues(metrics, cells, readMaxMs);
  return async () => {
    const lines = (await metrics.registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
    );
  };
}

describe('the metrics that are read from the database', () => {
  const VALUES =
    /^banking_(bank_|work_due|work_oldest|work_parked|payouts_|verification_findings|events_|audit_|webhook_)/;
  const valuesOf = (scraped: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(scraped).filter(([series]) => VALUES.test(series)));

  it('have the values of one read, and 0 for known kinds without any', async () => {
    const scrape = collect();
    const [first, second] = await Promise.all([scrape(), scrape()]);

    expect(valuesOf(first)).toEqual({
      'banking_work_due{kind="execution"}': 1,
      'banking_work_due{kind="payout"}': 0,
      'banking_work_due{kind="payout",rail="bank"}': 3,
      'banking_work_due{kind="crossing"}': 0,
      'banking_work_due{kind="removed-placer"}': 0,
      'banking_work_due{kind="approval"}': 0,
      'banking_work_oldest_due_seconds{kind="execution"}': 1,
      'banking_work_oldest_due_seconds{kind="payout"}': 0,
      'banking_work_oldest_due_seconds{kind="payout",rail="bank"}': 61,
      'banking_work_oldest_due_seconds{kind="crossing"}': 0,
      'banking_work_oldest_due_seconds{kind="removed-placer"}': 0,
      'banking_work_oldest_due_seconds{kind="approval"}': 0,
      'banking_work_parked{kind="execution"}': 2,
      'banking_work_parked{kind="payout"}': 0,
      'banking_work_parked{kind="crossing"}': 0,
      'banking_work_parked{kind="removed-placer"}': 0,
      'banking_work_parked{kind="approval"}': 0,
      'banking_payouts_open{status="due"}': 0,
      'banking_payouts_open{status="submitting"}': 0,
      'banking_payouts_open{status="submitted"}': 0,
      'banking_payouts_open{rail="bank",status="submitted"}': 5,
      'banking_payouts_open{status="parked"}': 0,
      'banking_payouts_oldest_seconds{status="due"}': 0,
      'banking_payouts_oldest_seconds{status="submitting"}': 0,
      'banking_payouts_oldest_seconds{status="submitted"}': 0,
      'banking_payouts_oldest_seconds{rail="bank",status="submitted"}': 90,
      'banking_payouts_oldest_seconds{status="parked"}': 0,
      'banking_payouts_held{rail="bank"}': 6,
      'banking_payouts_held_oldest_seconds{rail="bank"}': 3601,
      'banking_bank_differences{rail="bank"}': 3,
      'banking_bank_comparison_age_seconds{rail="bank"}': 40,
      'banking_bank_files_refused{rail="bank"}': 1,
      banking_payouts_stopped: 1,
      banking_verification_findings: 4,
      banking_events_unrecorded: 7,
      banking_events_oldest_unrecorded_seconds: 1.5,
      banking_audit_unrecorded: 9,
      banking_audit_oldest_unrecorded_seconds: 2.5,
      'banking_webhook_endpoints{status="enabled"}': 4,
      'banking_webhook_endpoints{status="failing"}': 1,
      'banking_webhook_endpoints{status="disabled"}': 2,
      banking_webhook_deliveries_due: 9,
      banking_webhook_oldest_undelivered_seconds: 6.5,
    });
    expect(valuesOf(second)).toEqual(valuesOf(first));
    expect(pipeline).toHaveBeenCalledTimes(1);
  });

  it('are left out while the database is away', async () => {
    pipeline.mockRejectedValue(new Refusal('unavailable'));
    const scrape = collect();

    const scraped = await scrape();
    expect(valuesOf(scraped)).toEqual({});
    expect(scraped).toEqual({ banking_database_values_up: 0 });
  });

  it('are read again after five seconds, and follow the database', async () => {
    const now = jest.spyOn(performance, 'now');
    try {
      now.mockReturnValue(0);
      pipeline.mockRejectedValueOnce(new Refusal('unavailable'));
      const scrape = collect();
      expect(await scrape()).toMatchObject({ banking_database_values_up: 0 });
      now.mockReturnValue(4_999);
      expect(await scrape()).toMatchObject({ banking_database_values_up: 0 });
      now.mockReturnValue(5_001);
      expect(await scrape()).toMatchObject({ banking_database_values_up: 1, banking_payouts_stopped: 1 });
      pipeline.mockResolvedValue([[], [], [], [], [], [], [], [], [], []]);
      now.mockReturnValue(10_003);
      expect(await scrape()).toMatchObject({ banking_payouts_stopped: 0, 'banking_work_parked{kind="execution"}': 0 });
      pipeline.mockRejectedValue(new Refusal('unavailable'));
      now.mockReturnValue(15_005);
      expect(valuesOf(await scrape())).toEqual({});
      expect(pipeline).toHaveBeenCalledTimes(4);
    } finally {
      now.mockRestore();
    }
  });

  it('are left out if the database does not respond, and the scrape ends', async () => {
    pipeline.mockReturnValue(new Promise(() => undefined));
    const scrape = collect(10);

    expect(await scrape()).toMatchObject({ banking_database_values_up: 0 });
  });
});

describe('the metrics that are read from several databases', () => {
  const SLOT = { cell: 'b', slot: 'banking_home_b', is_active: true, is_lost: false, behind: 5, retained: 70 };

  it('have the name of the cell, and none of a cell that is away but that it is', async () => {
    const atHome = jest.fn(async (_: unknown, bound: readonly unknown[]) =>
      bound.length === 1
        ? [[SLOT, { ...SLOT, cell: 'c', is_active: false, is_lost: true, behind: null, retained: null }]]
        : ROWS,
    );
    const inB = jest.fn(async () => [
      [{ kind: 'payout', rail: 'bank', due: 8, seconds: 2 }],
      ...Array.from({ length: 9 }, () => []),
    ]);
    let cells = [
      { cell: 'home', database: { pipeline: atHome } as never },
      { cell: 'b', database: { pipeline: inB } as never, unserved: 2 },
      { cell: 'c', database: undefined },
    ] as readonly MeasuredCell<Pick<Database, 'pipeline'>>[];
    const scrape = collect(undefined, () => cells);

    const scraped = await scrape();

    expect(scraped).toMatchObject({
      'banking_database_values_up{cell="home"}': 1,
      'banking_database_values_up{cell="b"}': 1,
      'banking_database_values_up{cell="c"}': 0,
      'banking_work_due{kind="payout",rail="bank",cell="home"}': 3,
      'banking_work_due{kind="payout",rail="bank",cell="b"}': 8,
      'banking_payouts_stopped{cell="home"}': 1,
      'banking_payouts_stopped{cell="b"}': 0,
      'banking_directory_copy_connected{cell="b"}': 1,
      'banking_directory_copy_behind_bytes{cell="b"}': 5,
      'banking_directory_slot_retained_bytes{cell="b"}': 70,
      'banking_directory_copy_lost{cell="b"}': 0,
      'banking_workspaces_unserved{cell="b"}': 2,
      'banking_directory_copy_connected{cell="c"}': 0,
      'banking_directory_copy_lost{cell="c"}': 1,
    });
    cells = cells.map((one) => (one.cell === 'b' ? { ...one, isCopyLost: true } : one));
    expect(await scrape()).toMatchObject({ 'banking_directory_copy_lost{cell="b"}': 1 });
    expect(Object.keys(scraped).filter((series) => series.includes('cell="c"'))).toHaveLength(3);
    expect(Object.keys(scraped).filter((series) => !series.includes('cell='))).toEqual([]);
    cells = cells.slice(0, 1);
    expect(Object.keys(await scrape()).filter((series) => /_up\{/.test(series))).toEqual([
      'banking_database_values_up{cell="home"}',
    ]);
  });
});
