import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { minorUnits } from '@banking/domain';
import { bind, WORKER_ROLE } from '@banking/postgres';
import { type FreshDatabase, freshDatabase, until } from '@banking/postgres/testing';
import { OutageError, WorkError } from '@banking/work-queue';
import type { BankDialect, FileRailConfig } from '../rail-config.js';
import { filePayment, fileRailConfig, filesIn } from '../testing/file-rails.js';
import { readFileRailStatus } from './file-rail-status.js';
import { Iso20022Rail, type Iso20022RailOptions } from './iso20022-rail.js';
import type { StepWatch } from './payment-files.js';
import { COUNT_BANK_DIFFERENCES } from './reconcile-statements.js';
import { paymentsOfFile } from './sent-files.js';
import { executionDaysIn } from './write-pain-001.js';

let world: FreshDatabase;
let config: FileRailConfig;

beforeAll(async () => {
  world = await freshDatabase();
});
beforeEach(() => {
  config = fileRailConfig({ closeAfterSeconds: 0 });
});
afterEach(async () => {
  rmSync(config.folder, { recursive: true });
  await asRestored(
    'delete from file_payment; delete from payment_file; delete from rail_event; delete from rail_cursor',
  );
});
afterAll(() => world.close());

/** Changes rows as a restore does: without triggers. */
const asRestored = (sql: string) =>
  world.owner.query(`set session_replication_role = replica; ${sql}; set session_replication_role = default`);

/** A process of its own. */
const railOf = (
  options: Iso20022RailOptions = {},
  dialect: Partial<BankDialect> = {},
  database = world.database.as(WORKER_ROLE),
) =>
  new Iso20022Rail({ ...config, dialect: { ...config.dialect, ...dialect } }, database, {
    leaseMs: 0,
    ...options,
  });

/** Runs the chore until there is nothing to do. */
async function writeAll(rail: Iso20022Rail): Promise<void> {
  while ((await rail.chores[0]!.run()) > 0);
}

const submitAll = async (rail: Iso20022Rail, ...numbers: readonly number[]) => {
  for (const number of numbers) expect(await rail.submit(filePayment(number))).toEqual([]);
};

/** Takes the files as the client of the bank does. Returns the numbers of their payments. */
function takeOut(): number[] {
  const files = filesIn(config, 'out');
  for (const name of files.keys()) rmSync(join(config.folder, 'out', name));
  const numbers = [...files.values()].flatMap((text) => (paymentsOfFile(text) ?? []).map(numberOf));
  return numbers.sort((one, other) => one - other);
}

const numberOf = ({ endToEndId }: { readonly endToEndId: string }) => Number(endToEndId.split('-')[2]);

const copies = () => readdirSync(join(config.folder, 'sent'), { recursive: true, encoding: 'utf8' }).filter(isFile);
const isFile = (name: string) => name.endsWith('.xml');

class Killed extends Error {}

const killedAt =
  (step: Parameters<StepWatch>[0]): StepWatch =>
  (reached) => {
    if (reached === step) throw new Killed();
  };

/** Stops a worker at a step, once. */
function stoppedAt(step: Parameters<StepWatch>[0]) {
  let goOn = (): void => undefined;
  const stopped = new Promise<void>((resolve) => (goOn = resolve));
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const onStep: StepWatch = (reached) => {
    if (reached !== step) return undefined;
    arrive();
    return stopped;
  };
  return { onStep, arrived, goOn };
}

describe('a payment that is submitted', () => {
  it('is accepted once, and found with its amount', async () => {
    const rail = railOf();
    await submitAll(rail, 1, 1, 2);

    expect(await rail.find(filePayment(1).key)).toEqual({ amount: 12_345n, currency: 'EUR', events: [] });
    expect(await rail.find(filePayment(3).key)).toBeUndefined();
    await writeAll(rail);
    await submitAll(rail, 1);
    await writeAll(rail);
    expect(takeOut()).toEqual([1, 2]);
  });

  it.each([
    ['another amount', { amount: minorUnits(1n) }],
    ['another currency', { currency: 'USD' }],
    ['another creditor', { creditor: { ...filePayment(1).creditor, name: 'Another' } }],
  ])('is for an operator if its key has %s', async (_what, more) => {
    const rail = railOf();
    await submitAll(rail, 1);

    await expect(rail.submit(filePayment(1, more))).rejects.toThrow(WorkError);
    await writeAll(rail);
    expect(takeOut()).toEqual([1]);
  });

  it('is found with the events that are not acknowledged', async () => {
    const rail = railOf();
    await submitAll(rail, 1, 2);
    const { key, amount, currency } = filePayment(1);
    await world.owner.query(`insert into rail_cursor (rail) values ('bank-a'), ('bank-b')`);
    await world.owner.query(
      `insert into rail_event (rail, position, key, provider_event, status, reason_code, message, amount, currency, is_return)
       values ('bank-a', '1', $1, 'e1', 'ACSP', null, 'pending', $2, $3, false),
              ('bank-a', '2', $1, 'e2', 'RJCT', 'AC04', null, $2, $3, true),
              ('bank-b', '1', $1, 'e3', 'ACSC', null, null, $2, $3, false)`,
      [key, amount, currency],
    );
    const [first, second] = await rail.receive(10);

    expect((await rail.find(key))?.events).toEqual([
      { providerEvent: 'e1', status: 'ACSP', message: 'pending' },
      { providerEvent: 'e2', status: 'RJCT', reasonCode: 'AC04', isReturn: true },
    ]);
    expect((await rail.find(filePayment(2).key))?.events).toEqual([]);
    await rail.acknowledge([first!]);
    expect((await rail.find(key))?.events).toEqual([second!.event]);
    await rail.acknowledge([second!]);
    expect((await rail.find(key))?.events).toEqual([]);
  });

  it('is rejected if no file can carry it, and is in none', async () => {
    const rail = railOf();
    const creditor = { ...filePayment(1).creditor, name: '王小明' };

    expect(await rail.submit(filePayment(1, { creditor }))).toMatchObject([{ status: 'RJCT', reasonCode: 'BE22' }]);
    expect(await rail.find(filePayment(1).key)).toBeUndefined();
  });

  it('is listed by pages in the order of the keys', async () => {
    const rail = railOf();
    await submitAll(rail, 3, 1, 2);
    const since = '2026-01-01T00:00:00Z';

    const [first, ...rest] = await rail.listSubmitted(since, undefined);
    expect([first, ...rest].map((one) => one?.key)).toEqual([1, 2, 3].map((number) => filePayment(number).key));
    expect(await rail.listSubmitted(since, first?.key)).toEqual(rest);
    expect(await rail.listSubmitted('2100-01-01T00:00:00Z', undefined)).toEqual([]);
  });
});

describe('a file', () => {
  it('waits for more payments until it is full or its time has come', async () => {
    const rail = railOf({}, { closeAfterSeconds: 86_400, paymentsMax: 2, cutOff: { time: '00:00', timeZone: 'UTC' } });
    await submitAll(rail, 1);
    expect(await rail.chores[0]!.run()).toBe(0);

    await submitAll(rail, 2, 3);
    await writeAll(rail);
    expect(takeOut()).toEqual([1, 2]);
    await writeAll(railOf());
    expect(takeOut()).toEqual([3]);
  });

  it('is closed in the minute before the cut-off', async () => {
    await submitAll(railOf(), 1);
    await until(async () => {
      const { rows } = await world.owner.query<{ soon: string }>(
        `select to_char(clock_timestamp() at time zone 'utc' + interval '1 minute', 'HH24:MI') as soon`,
      );
      const rail = railOf({}, { closeAfterSeconds: 86_400, cutOff: { time: rows[0]!.soon, timeZone: 'UTC' } });
      return (await rail.chores[0]!.run()) > 0;
    });
    expect(takeOut()).toEqual([1]);
  });

  it('is whole in out, with a copy in sent, and leaves nothing in ready', async () => {
    const rail = railOf();
    await submitAll(rail, 1, 2);
    await writeAll(rail);

    const [[name, text = ''] = []] = filesIn(config, 'out');
    const { rows } = await world.owner.query<{ message_id: string; is_written: boolean }>(
      'select message_id, written_at is not null as is_written from payment_file',
    );
    expect(rows).toEqual([{ message_id: name?.replace('.xml', ''), is_written: true }]);
    expect(text).toContain(`<MsgId>${rows[0]?.message_id}</MsgId>`);
    expect(copies()).toHaveLength(1);
    expect(
      filesIn(config, `sent/${copies()[0]!.split('/')[0]}`)
        .values()
        .next().value,
    ).toBe(text);
    expect(readdirSync(join(config.folder, 'ready'))).toEqual([]);
    const { rows: parts } = await world.owner.query('select distinct payment_information_id as id from file_payment');
    expect(parts).toEqual([{ id: `${rows[0]?.message_id}-1` }]);
  });

  it.each(['closed', 'prepared', 'marked', 'handed over', 'written'] as const)(
    'leaves once if its worker is killed when it is %s',
    async (step) => {
      const killed = railOf({ onStep: killedAt(step) });
      await submitAll(killed, 1, 2);
      await expect(killed.chores[0]!.run()).rejects.toThrow(Killed);
      const before = takeOut();

      await submitAll(railOf(), 3);
      await writeAll(railOf());
      expect([...before, ...takeOut()].sort()).toEqual([1, 2, 3]);
    },
  );

  it.each(['closed', 'prepared', 'marked', 'handed over'] as const)(
    'leaves once if its worker stops when it is %s, and goes on after another one',
    async (step) => {
      const { onStep, arrived, goOn } = stoppedAt(step);
      const slow = railOf({ onStep });
      await submitAll(slow, 1, 2);
      const running = slow.chores[0]!.run();
      await arrived;
      await writeAll(railOf());
      const before = takeOut();
      goOn();
      await running;
      await writeAll(railOf());

      expect([...before, ...takeOut()]).toEqual([1, 2]);
      expect(readdirSync(join(config.folder, 'ready'))).toEqual([]);
      expect(copies()).toHaveLength(1);
    },
  );

  it('leaves once if several workers write at the same time', async () => {
    const numbers = Array.from({ length: 60 }, (_, index) => index + 1);
    const workers = [1, 2, 3].map(() => railOf({}, { paymentsMax: 7 }));
    await submitAll(workers[0]!, ...numbers);
    await Promise.all(workers.map(writeAll));

    expect(takeOut()).toEqual(numbers);
  });

  describe('that could not be handed over before its day was over', () => {
    const PAST = '2026-01-05';

    /** Prepares a file, and makes it one of a past day. */
    async function prepareInThePast(): Promise<void> {
      const killed = railOf({ onStep: killedAt('marked') });
      await submitAll(killed, 1, 2);
      await expect(killed.chores[0]!.run()).rejects.toThrow(Killed);
      becomePast();
    }

    function becomePast(): void {
      for (const [name, text] of filesIn(config, 'ready')) {
        const dated = text.replace(/(<ReqdExctnDt><Dt>)[0-9-]{10}/g, `$1${PAST}`);
        writeFileSync(join(config.folder, 'ready', name), dated);
      }
    }

    /** Takes the files as the client of the bank does, and looks at their days. */
    function takeOutOfToday(): number[] {
      for (const text of filesIn(config, 'out').values()) expect(executionDaysIn(text)).not.toContain(PAST);
      return takeOut();
    }

    it('leaves with a day to come, and leaves nothing of the other one', async () => {
      await prepareInThePast();
      await writeAll(railOf());

      expect(takeOutOfToday()).toEqual([1, 2]);
      expect(readdirSync(join(config.folder, 'ready'))).toEqual([]);
      expect(copies()).toHaveLength(1);
    });

    it('leaves with a day to come after it was copied and could not be moved', async () => {
      await prepareInThePast();
      const [name = ''] = filesIn(config, 'ready').keys();
      const day = new Date().toISOString().slice(0, 10);
      mkdirSync(join(config.folder, 'sent', day), { recursive: true });
      copyFileSync(join(config.folder, 'ready', name), join(config.folder, 'sent', day, name));
      await writeAll(railOf());

      expect(takeOutOfToday()).toEqual([1, 2]);
      expect(copies()).toHaveLength(1);
      expect(copies()[0]).not.toContain(name);
    });

    it.each(['prepared', 'withdrawn', 'marked', 'handed over', 'written'] as const)(
      'leaves once if its worker is killed when it is %s',
      async (step) => {
        await prepareInThePast();
        await expect(railOf({ onStep: killedAt(step) }).chores[0]!.run()).rejects.toThrow(Killed);
        const before = takeOutOfToday();
        await submitAll(railOf(), 3);
        await writeAll(railOf());

        expect([...before, ...takeOutOfToday()].sort()).toEqual([1, 2, 3]);
        expect(readdirSync(join(config.folder, 'ready'))).toEqual([]);
        expect(copies()).toHaveLength(2);
      },
    );

    it.each(['prepared', 'withdrawn', 'marked', 'handed over'] as const)(
      'leaves once if its worker stops when it is %s, and goes on after another one',
      async (step) => {
        await prepareInThePast();
        const slow = stoppedAt(step);
        const running = railOf({ onStep: slow.onStep }).chores[0]!.run();
        await slow.arrived;
        await writeAll(railOf());
        const before = takeOutOfToday();
        slow.goOn();
        await running;
        await writeAll(railOf());

        expect([...before, ...takeOutOfToday()]).toEqual([1, 2]);
        expect(readdirSync(join(config.folder, 'ready'))).toEqual([]);
        expect(copies()).toHaveLength(1);
      },
    );

    it.each(['withdrawn', 'marked', 'written'] as const)(
      'leaves once if its first worker goes on after another one, killed when it is %s',
      async (step) => {
        const slow = stoppedAt('marked');
        const first = railOf({ onStep: slow.onStep });
        await submitAll(first, 1, 2);
        const running = first.chores[0]!.run();
        await slow.arrived;
        becomePast();
        await expect(railOf({ onStep: killedAt(step) }).chores[0]!.run()).rejects.toThrow(Killed);
        slow.goOn();
        await running;
        await writeAll(railOf());

        expect(takeOutOfToday()).toEqual([1, 2]);
        expect(readdirSync(join(config.folder, 'ready'))).toEqual([]);
        expect(copies()).toHaveLength(1);
      },
    );

    it('leaves once if several workers find it', async () => {
      await prepareInThePast();
      await Promise.all([1, 2, 3, 4].map(() => writeAll(railOf())));
      await writeAll(railOf());

      expect(takeOutOfToday()).toEqual([1, 2]);
      expect(readdirSync(join(config.folder, 'ready'))).toEqual([]);
    });

    it.each(['withdrawn', 'marked', 'handed over', 'written'] as const)(
      'leaves once if the database is restored to before, after it was %s',
      async (step) => {
        await prepareInThePast();
        const { rows } = await world.owner.query<{ prepared_as: string }>('select prepared_as from payment_file');
        await expect(railOf({ onStep: killedAt(step) }).chores[0]!.run()).rejects.toThrow(Killed);
        const before = takeOutOfToday();
        await asRestored(`update payment_file set prepared_as = '${rows[0]!.prepared_as}', written_at = null`);
        await writeAll(railOf());

        expect([...before, ...takeOutOfToday()]).toEqual([1, 2]);
      },
    );

    it('leaves once if the database is restored to before, and its copy is there while it waits', async () => {
      await prepareInThePast();
      const { rows } = await world.owner.query<{ prepared_as: string }>('select prepared_as from payment_file');
      const out = join(config.folder, 'out');
      rmSync(out, { recursive: true });
      writeFileSync(out, '');
      await expect(railOf().chores[0]!.run()).rejects.toThrow(/cannot hand over its files/);
      await asRestored(`update payment_file set prepared_as = '${rows[0]!.prepared_as}'`);
      rmSync(out);
      await writeAll(railOf());

      expect(takeOutOfToday()).toEqual([1, 2]);
      expect(copies()).toHaveLength(1);
    });

    it('leaves as it is if the database knows its payments from the copy only', async () => {
      await prepareInThePast();
      const [name = ''] = filesIn(config, 'ready').keys();
      const day = new Date().toISOString().slice(0, 10);
      mkdirSync(join(config.folder, 'sent', day), { recursive: true });
      copyFileSync(join(config.folder, 'ready', name), join(config.folder, 'sent', day, name));
      await asRestored('delete from file_payment; delete from payment_file');
      expect(await railOf().find(filePayment(1).key)).toBeDefined();
      await writeAll(railOf());

      expect(takeOut()).toEqual([1, 2]);
    });
  });

  it('waits while the folder cannot be written to, half visible nowhere, and leaves afterwards', async () => {
    const rail = railOf();
    await submitAll(rail, 1);
    const ready = join(config.folder, 'ready');
    rmSync(ready, { recursive: true });
    writeFileSync(ready, '');
    await expect(rail.chores[0]!.run()).rejects.toThrow(OutageError);
    await expect(rail.chores[0]!.run()).rejects.toThrow(/^the rail bank-a cannot write its files: /);
    expect(filesIn(config, 'out').size).toBe(0);
    rmSync(ready);
    const out = join(config.folder, 'out');
    renameSync(out, `${out}-away`);
    writeFileSync(out, '');
    await expect(rail.chores[0]!.run()).rejects.toThrow(/cannot hand over its files/);
    rmSync(out);

    await writeAll(rail);
    expect(takeOut()).toEqual([1]);
  });

  it('has its parts removed that killed workers have left, once they are old', () => {
    railOf();
    const names = ['old.xml.0a.tmp', 'new.xml.0b.tmp', 'old.0123abcd.xml'];
    for (const name of names) writeFileSync(join(config.folder, 'ready', name), '');
    const hourAgo = Date.now() / 1_000 - 3_601;
    for (const name of names.filter((one) => one.startsWith('old'))) {
      utimesSync(join(config.folder, 'ready', name), hourAgo, hourAgo);
    }
    railOf();

    expect(readdirSync(join(config.folder, 'ready')).sort()).toEqual(['new.xml.0b.tmp', 'old.0123abcd.xml']);
  });

  it('is not taken as handed over where its folder is another one', async () => {
    const killed = railOf({ onStep: killedAt('marked') });
    await submitAll(killed, 1);
    await expect(killed.chores[0]!.run()).rejects.toThrow(Killed);
    const ready = join(config.folder, 'ready');
    renameSync(ready, `${ready}-away`);
    mkdirSync(ready);

    await expect(railOf().chores[0]!.run()).rejects.toThrow(/lacks a file that is to leave/);
    rmSync(ready, { recursive: true });
    renameSync(`${ready}-away`, ready);
    await writeAll(railOf());
    expect(takeOut()).toEqual([1]);
  });
});

describe('a folder that cannot be made', () => {
  it('is an outage, and not a call without end', async () => {
    // The kernel refuses every folder there, as if a folder above it were missing.
    const away = { ...config, folder: '/proc/banking' };
    const rail = new Iso20022Rail(away, world.database.as(WORKER_ROLE), { leaseMs: 0 });
    await submitAll(rail, 1);

    await expect(rail.chores[0]!.run()).rejects.toThrow(OutageError);
  });
});

describe('a database that is restored to before a file', () => {
  /** Writes two files and takes them, as the bank has them. */
  async function sendTwo(): Promise<void> {
    for (const number of [1, 2]) {
      await submitAll(railOf(), number);
      await writeAll(railOf());
    }
    expect(takeOut()).toEqual([1, 2]);
  }

  it('finds the payments by key before it says that there are none', async () => {
    await sendTwo();
    await asRestored('delete from file_payment; delete from payment_file');

    const rail = railOf();
    const found = await Promise.all([1, 2, 3].map((number) => rail.find(filePayment(number).key)));
    expect(found).toEqual([...[1, 2].map(() => ({ amount: 12_345n, currency: 'EUR', events: [] })), undefined]);
    expect(await rail.listSubmitted('2026-01-01T00:00:00Z', undefined)).toHaveLength(2);
    await submitAll(rail, 1, 2);
    await writeAll(rail);
    expect(takeOut()).toEqual([]);
  });

  it('does not pay a payment again that was submitted again before it was looked up', async () => {
    await sendTwo();
    await asRestored('delete from file_payment; delete from payment_file');
    await submitAll(railOf(), 1, 2, 3);
    await writeAll(railOf());

    expect(takeOut()).toEqual([3]);
  });

  it('knows the files that it has kept, and learns the younger one', async () => {
    await sendTwo();
    await asRestored(`delete from file_payment where file_id = (select max(id) from payment_file);
      delete from payment_file where id = (select max(id) from payment_file)`);
    await submitAll(railOf(), 2, 3);
    await writeAll(railOf());

    expect(takeOut()).toEqual([3]);
  });

  it.each([
    ['closed and not prepared', 'update payment_file set prepared_at = null, prepared_as = null, written_at = null'],
    ['prepared and not handed over', 'update payment_file set written_at = null'],
    ['not closed', 'update file_payment set file_id = null, payment_information_id = null; delete from payment_file'],
  ])('does not write a file again that was %s at that moment', async (_when, sql) => {
    await sendTwo();
    await asRestored(sql);
    await submitAll(railOf(), 3);
    await writeAll(railOf());

    expect(takeOut()).toEqual([3]);
  });

  it('writes no file if it is restored in the moment before one is closed', async () => {
    await sendTwo();
    const database = world.database.as(WORKER_ROLE);
    const transaction = database.transaction.bind(database);
    const restored = Object.assign(database, {
      transaction: async (...call: Parameters<typeof transaction>) => {
        await asRestored(
          `update file_payment set file_id = null, payment_information_id = null; delete from payment_file`,
        );
        return transaction(...call);
      },
    });
    await submitAll(railOf(), 3);
    expect(await railOf({}, {}, restored as typeof database).chores[0]!.run()).toBe(0);
    await writeAll(railOf());

    expect(takeOut()).toEqual([3]);
  });

  it('hands a file over that had not left', async () => {
    const killed = railOf({ onStep: killedAt('marked') });
    await submitAll(killed, 1);
    await expect(killed.chores[0]!.run()).rejects.toThrow(Killed);
    renameSync(join(config.folder, 'out'), join(config.folder, 'out-away'));
    writeFileSync(join(config.folder, 'out'), '');
    await expect(railOf().chores[0]!.run()).rejects.toThrow(OutageError);
    expect(copies()).toHaveLength(1);
    rmSync(join(config.folder, 'out'));
    await asRestored('delete from file_payment; delete from payment_file');

    expect(await railOf().find(filePayment(1).key)).toBeDefined();
    await writeAll(railOf());
    expect(takeOut()).toEqual([1]);
  });

  it('says nothing of a payment while the copies are away or damaged', async () => {
    await sendTwo();
    const sent = join(config.folder, 'sent');
    renameSync(sent, `${sent}-away`);
    await expect(railOf().find(filePayment(3).key)).rejects.toThrow(/has no sent/);
    await submitAll(railOf(), 3);
    await expect(railOf().chores[0]!.run()).rejects.toThrow(OutageError);
    renameSync(`${sent}-away`, sent);

    await asRestored('delete from file_payment; delete from payment_file');
    writeFileSync(join(sent, copies()[0]!), '<Document>');
    await expect(railOf().find(filePayment(3).key)).rejects.toThrow(/cannot read a copy/);
  });
});

describe('the events of a bank with files', () => {
  it('come from the files that its reader stores', async () => {
    let read = 0;
    const files = {
      readNext: async () => {
        read += 1;
        await world.owner.query(
          `insert into rail_event (rail, position, key, provider_event, status, amount, currency)
           values ('bank-a', '1', $1, 'e1', 'ACSP', 12345, 'EUR')`,
          [filePayment(1).key],
        );
        return 1;
      },
    };
    const rail = railOf({ files });

    const events = await rail.receive(10);
    expect(events).toMatchObject([{ key: filePayment(1).key, event: { status: 'ACSP', providerEvent: 'e1' } }]);
    await rail.acknowledge(events);
    expect(read).toBe(1);
    expect(await railOf().receive(10)).toEqual([]);
  });
});

describe('the status of a bank with files', () => {
  it('counts what waits on both sides', async () => {
    const killed = railOf({ onStep: killedAt('closed') });
    await submitAll(killed, 1);
    await expect(killed.chores[0]!.run()).rejects.toThrow(Killed);
    await submitAll(killed, 2, 3);
    writeFileSync(join(config.folder, 'in', 'a.xml'), '');
    writeFileSync(join(config.folder, 'in', '.b.xml'), '');
    for (const name of ['c.xml', 'c.xml.reason.txt']) writeFileSync(join(config.folder, 'refused', name), '');

    expect(await readFileRailStatus(world.database, config)).toEqual({
      ...{ paymentsWaiting: 2, filesUnwritten: 1, filesUnread: 1, filesRefused: 1 },
      notes: [],
    });
  });
});

describe('the comparison of its bank accounts', () => {
  const comparisons = () =>
    world.owner.query('select bank_account, difference_count from bank_reconciliation order by 1');
  const compare = (rail: Iso20022Rail) => rail.chores.find(({ name }) => name === 'bank-reconciliation-bank-a')!.run();

  it('is stored by a chore that then waits a minute, whatever it found', async () => {
    const rail = railOf();
    await world.owner.query(
      `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, booked_on, received_at)
       values ('bank-a', '12345678', 'e1', 'credit', 5, 'USD', 'booked', current_date, now() - interval '1 hour')`,
    );

    expect(await compare(rail)).toBe(0);

    expect(rail.chores.find(({ name }) => name === 'bank-reconciliation-bank-a')).toMatchObject({ idleMs: 60_000 });
    expect((await comparisons()).rows).toEqual([
      { bank_account: '0099887', difference_count: 0 },
      { bank_account: '12345678', difference_count: 1 },
      { bank_account: '7700', difference_count: 0 },
      { bank_account: 'DE89370400440532013000', difference_count: 0 },
    ]);
    await asRestored('delete from bank_entry');
  });

  it('has the number of refused files until an operator has taken them away', async () => {
    const refused = join(config.folder, 'refused');
    const rail = railOf();
    const count = async () => {
      await compare(rail);
      return (await world.database.as(WORKER_ROLE).read({}, bind(COUNT_BANK_DIFFERENCES)))?.refused;
    };

    for (const name of ['a.xml', 'b.xml', 'x.reason.txt'].flatMap((name) => [name, `${name}.reason.txt`]))
      writeFileSync(join(refused, name), '');
    expect(await count()).toBe(3);

    rmSync(join(refused, 'a.xml'));
    rmSync(join(refused, 'x.reason.txt'));
    rmSync(join(refused, 'x.reason.txt.reason.txt'));
    expect(await count()).toBe(1);

    rmSync(join(refused, 'b.xml'));
    expect(await count()).toBe(0);
  });

  it('is stored by several workers at once', async () => {
    await asRestored('delete from bank_reconciliation');
    const workers = Array.from({ length: 6 }, () => railOf());

    expect(await Promise.all(workers.map(compare))).toEqual([0, 0, 0, 0, 0, 0]);

    expect((await comparisons()).rows).toHaveLength(4);
  });
});
