import type { AccountId, Order, PlaceOrderInput, RecipientId, TransferAmount } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { SANDBOX_ROUTING, sandboxRails, SANDBOX_RAIL } from '@banking/payouts';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { openDatabase, reasonOf, until } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { claimWork, type FreshWork, Worker } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { expectWellFormed, orderWorld, type OrderWorld } from '../testing/order-world.js';
import { handOverTo, workOf } from '../worker/start-banking-worker.js';
import { OrderService } from './order-service.js';
import { placeOrder } from './place-order.js';
import { runOrder } from './run-order.js';

let given: OrderWorld;
let { world, service, ada, eve, account, near, key, balanceOf, order: orderOf } = {} as OrderWorld;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, service, ada, eve, account, near, key, balanceOf, order: orderOf } = given);
});

afterAll(() => given.expectInOrder().finally(() => given.world.close()));

const range = (length: number) => Array.from({ length }, (_, index) => index);

describe('an order between two accounts of a workspace', () => {
  it('has moved the money when it returns', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const { resource } = await service.placeOrder(ada, orderOf(from, await near(to), { description: 'Rent' }), key());

    expectWellFormed(resource);
    expect(resource).toMatchObject({
      status: 'completed',
      edges: { executions: [{ sequence: 1, status: 'completed', edges: { transaction: { status: 'completed' } } }] },
    });
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([900, 100]);
    expect(await service.getOrder(ada, { accountId: from, orderId: resource.id })).toEqual(resource);
  });

  it('changes nothing if the account holds too little', async () => {
    const [from, to] = [await account(1, '50'), await account(1, '0')];

    expect(await reasonOf(service.placeOrder(ada, orderOf(from, await near(to)), key()))).toBe('insufficient_funds');
    expect((await service.listOrders(ada, { accountId: from })).items).toEqual([]);
  });

  it('is placed once for twenty concurrent requests with one key', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);
    const options = key();
    const answers = await Promise.all(range(20).map(() => service.placeOrder(ada, orderOf(from, recipient), options)));

    expect(new Set(answers.map(({ resource }) => JSON.stringify(resource))).size).toBe(1);
    expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1);
    expect(await balanceOf(from)).toBe(900);
    expect(await reasonOf(service.placeOrder(ada, orderOf(from, recipient, { description: 'Other' }), options))).toBe(
      'idempotency_key_reused',
    );
  });

  it('is carried out ten times if thirty concurrent orders spend the balance of ten', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);

    const words = await Promise.all(
      range(30).map(() => reasonOf(service.placeOrder(ada, orderOf(from, recipient), key()))),
    );

    expect(words.filter((word) => word === undefined)).toHaveLength(10);
    expect(words.filter((word) => word === 'insufficient_funds')).toHaveLength(20);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([0, 1000]);
  });
});

describe('an order to an account of another workspace', () => {
  it('moves the money in both books', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0', eve)];
    const { resource } = await service.placeOrder(ada, orderOf(from, await near(to, ada, eve)), key());

    expect(resource.status).toBe('completed');
    expect([await balanceOf(from), await balanceOf(to, eve)]).toEqual([900, 100]);
  });
});

describe('an order to a recipient abroad', () => {
  const ABROAD = {
    countryCode: 'IN',
    currencyCode: 'INR',
    payoutMethod: 'LOCAL',
    data: {
      beneficiaryName: 'Asha Rao',
      destinationCountry: 'IN',
      beneficiaryAccountType: 'Individual',
      beneficiaryCountryCode: 'IN',
      beneficiaryAccountNumber: '00601234567890',
      routingCodeType1: 'IFSC',
      routingCodeValue1: 'ICIC0000001',
    },
  } as const;
  const far = async () => (await service.addInternationalRecipient(ada, ABROAD)).resource.id;
  const abroad = { amount: '100000' as TransferAmount, purposeCode: 'IR002' };

  it('stores rate, fee and remainder, and balances every currency', async () => {
    const from = await account(1, '1000000');
    const { resource } = await service.placeOrder(ada, orderOf(from, await far(), abroad), key());

    expectWellFormed(resource);
    const [execution] = resource.edges.executions ?? [];
    expect(execution).toMatchObject({ status: 'pending', edges: { transaction: { status: 'pending' } } });
    const transfers = execution?.edges.transaction?.edges.transfers ?? [];
    expect(transfers.map(({ type, direction }) => [type, direction])).toEqual([
      ['spot', 'debit'],
      ['fee', 'debit'],
    ]);
    const [spot, fee] = transfers;
    expect(spot?.feeAmount).toBe(fee?.amount);
    expect(BigInt((await balanceOf(from)) as number)).toBe(900_000n - BigInt(fee?.amount ?? ''));
    const { rows } = await world.owner.query(
      `select source_amount, target_amount, rate, (source_amount::numeric * rate::numeric * 1 - target_amount) * remainder_denominator = remainder_numerator as adds_up
       from conversion where transaction_id = $1`,
      [execution?.edges.transaction?.id],
    );
    expect(rows).toMatchObject([{ adds_up: true }]);
  });

  it.each(['instant', 'scheduled', 'recurring'] as const)(
    'shows each field of the request, if it is %s',
    async (type) => {
      const from = await account(1, '1000000');
      const recipientID = await far();
      const { resource: quote } = await service.createQuote(ada, {
        accountID: from,
        recipientID,
        amount: abroad.amount,
      });
      // The compiler asks for a new field here.
      const { accountId, ...every }: Required<PlaceOrderInput> = {
        ...{ accountId: from, recipientID, amount: abroad.amount, type, quoteID: quote.id, purposeCode: 'IR001' },
        ...{ description: 'A year of rent', externalReference: `every field ${type}`, metadata: { invoice: '2107' } },
        ...{ repeatUnit: 'monthly', repeatValue: 1, startAt: '2098-01-31T09:00:00.000000Z' },
        stopAt: '2099-01-31T09:00:00.000000Z',
      };
      const { repeatUnit, repeatValue, startAt, stopAt, quoteID, ...both } = every;
      const schedule = type === 'scheduled' ? { startAt } : { repeatUnit, repeatValue, startAt, stopAt };
      const shown = { ...both, ...(type === 'instant' ? { quoteID } : schedule) };

      const { resource: placed } = await service.placeOrder(ada, { ...shown, accountId }, key());

      const { recipientID: recipient, ...fields } = shown;
      const { items } = await service.listOrders(ada, { accountId: from });
      for (const order of [placed, await service.getOrderById(ada, { orderId: placed.id }), items[0]]) {
        expect(order).toMatchObject({ ...fields, edges: { account: { id: from }, recipient: { id: recipient } } });
      }
    },
  );

  it('is priced by its quote, once', async () => {
    const from = await account(1, '1000000');
    const recipientID = await far();
    const { resource: quote } = await service.createQuote(ada, { accountID: from, recipientID, amount: abroad.amount });
    const asQuoted = orderOf(from, recipientID, { ...abroad, quoteID: quote.id });
    const words = await Promise.all(range(5).map(() => reasonOf(service.placeOrder(ada, asQuoted, key()))));

    expect(words.sort()).toEqual(['quote_used', 'quote_used', 'quote_used', 'quote_used', undefined]);
    const { rows } = await world.owner.query('select target_amount from conversion where quote_id = $1', [quote.id]);
    expect(rows).toEqual([{ target_amount: BigInt(quote.targetAmount) }]);
    expect(await reasonOf(service.placeOrder(ada, { ...asQuoted, amount: '100001' as TransferAmount }, key()))).toBe(
      'quote_unusable',
    );
  });

  it.each<[string, Partial<PlaceOrderInput>, string]>([
    ['no purpose', { purposeCode: undefined }, 'purpose_code_required'],
    ['a purpose that is none', { purposeCode: 'XX' }, 'purpose_code_invalid'],
    ['a cent', { amount: '1' as TransferAmount }, 'amount_below_minimum'],
    ['more than the corridor takes', { amount: '900000000000' as TransferAmount }, 'amount_above_maximum'],
    ['a quote that is not there', { quoteID: 999_999 as never }, 'quote_unusable'],
    ['a start', { startAt: '2999-01-01T00:00:00Z' }, 'schedule_invalid'],
    ['another’s recipient', { recipientID: 999_999 as never }, 'recipient_invalid'],
    ['an amount of nothing', { amount: '0' as TransferAmount }, 'amount_malformed'],
  ])('is refused without any write for %s', async (_, more, word) => {
    const from = await account(1, '1000000');
    const recipientID = await far();

    expect(await reasonOf(service.placeOrder(ada, orderOf(from, recipientID, { ...abroad, ...more }), key()))).toBe(
      word,
    );
    expect(await balanceOf(from)).toBe(1_000_000);
  });
});

describe('an account that another session has locked', () => {
  it('delays its own orders only, which are carried out when it is free', async () => {
    const [held, free, to] = [await account(1, '1000'), await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);
    const outsider = world.owner;
    await outsider.query('begin');
    await outsider.query('select from account where id = $1 for update', [held]);

    const waiting = service.placeOrder(ada, orderOf(held, recipient), key());
    const behind = service.placeOrder(ada, orderOf(held, recipient), key());
    const others = range(5).map(() => service.placeOrder(ada, orderOf(free, recipient), key()));
    expect((await Promise.all(others)).map(({ resource }) => resource.status)).toEqual(range(5).map(() => 'completed'));
    expect(await balanceOf(held)).toBe(1_000);

    await outsider.query('rollback');
    await Promise.all([waiting, behind]);
    expect(await balanceOf(held)).toBe(800);
  });
});

describe('two processes', () => {
  let other: LedgerBankingService;
  let theirs: Database;

  beforeAll(async () => {
    theirs = await openDatabase({ connection: world.connection, role: API_ROLE, schema: SCHEMA });
    other = new LedgerBankingService(theirs, openBooks(theirs), { rates: DEMO_RATES, rails: SANDBOX_ROUTING });
  });
  afterAll(() => theirs.end());
  const at = (index: number) => (index % 2 ? service : other);

  it('carry out as many orders as one account can pay, without a failure', async () => {
    const [from, to] = [await account(1, '2000'), await account(1, '0')];
    const recipient = await near(to);

    const words = await Promise.all(
      range(60).map((index) => reasonOf(at(index).placeOrder(ada, orderOf(from, recipient), key()))),
    );

    expect(words.filter((word) => word === undefined)).toHaveLength(20);
    expect(words.filter((word) => word === 'insufficient_funds')).toHaveLength(40);
    expect(await balanceOf(to)).toBe(2_000);
  });

  it('serve a third account while two others are busy in both', async () => {
    const busy = await Promise.all(range(2).map(() => account(1, '1000000')));
    const [third, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);
    const pay = (from: AccountId, index: number) =>
      at(index).placeOrder(ada, { ...orderOf(from, recipient), amount: '1' as TransferAmount }, key());
    let isOver = false;
    const streams = range(32).map(async (index) => {
      while (!isOver) await pay(busy[(index >> 1) % 2]!, index);
    });

    for (let round = 0; round < 5; round += 1) await Promise.all(range(4).map((index) => pay(third, index)));
    isOver = true;
    await Promise.all(streams);

    expect(await balanceOf(third)).toBe(980);
  });

  it('place one order for one key, and return it to all', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);

    for (let round = 0; round < 10; round += 1) {
      const options = key();
      const answers = await Promise.all(
        range(6).map((index) => at(index).placeOrder(ada, orderOf(from, recipient), options)),
      );
      expect(new Set(answers.map(({ resource }) => resource.id)).size).toBe(1);
    }
    expect(await balanceOf(to)).toBe(1_000);
  });

  it('place one order for one external reference', async () => {
    const [one, two, to] = [await account(1, '1000'), await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);

    for (let round = 0; round < 5; round += 1) {
      const named = { externalReference: `reference-${round}` };
      const words = await Promise.all(
        [one, two, one, two].map((from, index) =>
          reasonOf(at(index).placeOrder(ada, orderOf(from, recipient, named), key())),
        ),
      );
      expect(words.sort()).toEqual([...range(3).map(() => 'external_reference_reused'), undefined]);
    }
  });

  it('finish payments in a ring', async () => {
    const ring = await Promise.all(range(5).map(() => account(1, '1000')));
    const recipients = await Promise.all(ring.map((of) => near(of)));

    const words = await Promise.all(
      range(60).map((index) =>
        reasonOf(at(index).placeOrder(ada, orderOf(ring[index % 5]!, recipients[(index * 3 + 1) % 5]!), key())),
      ),
    );

    expect(words.filter((word) => word !== undefined && word !== 'recipient_invalid')).toEqual([]);
    const held = await Promise.all(ring.map((of) => balanceOf(of)));
    expect((held as number[]).reduce((sum, one) => sum + one, 0)).toBe(5_000);
  });

  /** Waits until this number of sessions waits for a lock. */
  async function waiting(count: number): Promise<void> {
    const read = async () => {
      const { rows } = await world.owner.query<{ count: bigint }>(
        `select pg_stat_clear_snapshot(), count(*) as count from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return Number(rows[0]?.count);
    };
    await until(read, (found) => found >= count);
  }
  const deadlocks = async () => {
    const { rows } = await world.owner.query<{ deadlocks: bigint }>(
      'select pg_stat_clear_snapshot(), deadlocks from pg_stat_database where datname = current_database()',
    );
    return rows[0]?.deadlocks;
  };

  it('place one order for each reference of batches in opposite order, without a deadlock', async () => {
    const services = [
      new OrderService(world.books, DEMO_RATES, { rails: SANDBOX_ROUTING }),
      new OrderService(openBooks(theirs), DEMO_RATES),
    ];
    const payers = [await account(1, '1000'), await account(1, '1000')];
    const recipient = await near(await account(1, '0'));
    const references = Array.from({ length: 9 }, (_, index) => `RACE-${index}`);
    const before = await deadlocks();
    // Another session has locked the middle account, so that both batches stop half-way.
    await world.owner.query('begin');
    await world.owner.query(`select set_config('app.workspaces', '{${ada.workspaceId}}', true)`);
    await world.owner.query(
      `insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status, external_reference)
       values ($1, $2, $3, 1, 'instant', 'completed', 'RACE-4')`,
      [ada.workspaceId, payers[0], recipient],
    );

    const placing = Promise.all(
      [references, [...references].reverse()].flatMap((list, at) =>
        list.map((externalReference) =>
          reasonOf(
            placeOrder(
              services[at]!,
              ada,
              orderOf(payers[at]!, recipient, { externalReference, amount: '1' as TransferAmount }),
              {},
            ),
          ),
        ),
      ),
    );
    await waiting(2);
    await world.owner.query('rollback');
    const words = await placing;

    expect(words.filter((word) => word === undefined)).toHaveLength(9);
    expect(words.filter((word) => word === 'external_reference_reused')).toHaveLength(9);
    expect(await deadlocks()).toBe(before);
  });
});

describe('a process with a worker', () => {
  it('tells it of orders when they are written, and not before', async () => {
    const from = await account(1, '10000000');
    const written: (number | null)[] = [];
    const read: Promise<void>[] = [];
    const service = new LedgerBankingService(world.database, world.books, {
      rates: DEMO_RATES,
      rails: SANDBOX_ROUTING,
      onPlaced: () => {
        const work = world.owner.query(`select from work where kind = 'payout' and due_at > now() - interval '1 hour'`);
        read.push(work.then(({ rowCount }) => void written.push(rowCount)));
      },
    });
    const before = (
      await world.owner.query(`select from work where kind = 'payout' and due_at > now() - interval '1 hour'`)
    ).rowCount!;

    const abroad = world.demo.recipients['international'] as RecipientId;
    await service.placeOrder(
      ada,
      given.order(from, abroad, { amount: '250000' as TransferAmount, purposeCode: 'IR001' }),
    );

    await Promise.all(read);
    expect(written).toEqual([before + 1]);
  });

  it('has its payouts carried out by the worker, which takes them without a claim', async () => {
    const from = await account(1, '10000000');
    const abroad = world.demo.recipients['international'] as RecipientId;
    const workers: Worker[] = [];
    const service = new LedgerBankingService(world.database, world.books, {
      rates: DEMO_RATES,
      rails: SANDBOX_ROUTING,
      ...handOverTo(() => workers[0]),
    });
    const payouts = async () => {
      const { resource } = await service.placeOrder(
        ada,
        given.order(from, abroad, { amount: '250000' as TransferAmount, purposeCode: 'IR001' }),
      );
      const id = resource.edges.executions![0]!.edges.transaction!.id;
      const { rows } = await world.owner.query<{ status: string; fence: bigint }>(
        `select p.status, w.fence from payout p join work w on w.subject_id = p.transaction_id where p.transaction_id = $1`,
        [id],
      );
      return { id, ...rows[0]! };
    };
    expect(await payouts()).toMatchObject({ status: 'due', fence: 0n });

    const worker = new Worker(workOf(world, { orders: service.orders, rails: sandboxRails }));
    workers.push(worker);
    const { id, ...handed } = await payouts();
    expect(handed).toEqual({ status: 'submitting', fence: 1n });
    await worker.step();
    await worker.stop();
    const { rows } = await world.owner.query('select status, tries from payout where transaction_id = $1', [id]);
    expect(rows).toEqual([{ status: 'submitted', tries: 1 }]);
  });

  it('hands payouts over where the worker has space, and releases that space', async () => {
    const from = await account(1, '600000');
    const abroad = world.demo.recipients['international'] as RecipientId;
    const [taken, queued, asked]: [FreshWork[], boolean[], [string, number][]] = [[], [], []];
    let space = 1;
    let released = 0;
    const service = new LedgerBankingService(world.database, world.books, {
      rates: DEMO_RATES,
      rails: SANDBOX_ROUTING,
      onPlaced: (isQueued) => queued.push(isQueued),
      reservePayouts(rail, count) {
        asked.push([rail, count]);
        if (space === 0) return undefined;
        return { space, take: (work) => taken.push(...work), release: () => (released += 1) };
      },
    });
    const place = (amount: string) =>
      service.placeOrder(ada, given.order(from, abroad, { amount: amount as TransferAmount, purposeCode: 'IR001' }));
    const newest = async () =>
      (
        await world.owner.query<{ id: bigint; status: string; nonce: string; fence: bigint }>(
          `select p.transaction_id as id, p.status, p.key_nonce as nonce, w.fence
           from payout p join work w on w.subject_id = p.transaction_id order by p.transaction_id desc limit 1`,
        )
      ).rows[0]!;

    await place('250000');
    const handed = await newest();
    expect(handed).toMatchObject({ status: 'submitting', fence: 1n });
    expect(taken).toEqual([
      { workspaceId: ada.workspaceId, subjectId: Number(handed.id), rail: SANDBOX_RAIL, note: handed.nonce },
    ]);
    await expect(place('500000')).rejects.toMatchObject({ reason: 'insufficient_funds' });
    expect([taken.length, released]).toEqual([1, 2]);

    space = 0;
    await place('250000');
    expect(await newest()).toMatchObject({ status: 'due', fence: 0n });
    expect([asked, queued.at(0), queued.at(-1), taken.length]).toEqual([
      Array.from({ length: 3 }, () => [SANDBOX_RAIL, 1]),
      false,
      true,
      1,
    ]);
  });
});

describe('a payment network that requires the town of the beneficiary', () => {
  const rails = { ...SANDBOX_ROUTING, needsPostalAddress: () => true };
  let demanding: LedgerBankingService;
  let from: AccountId;

  beforeAll(async () => {
    demanding = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails });
    from = await account(1, '10000000');
  });

  const payment = (recipient: RecipientId, more: Partial<PlaceOrderInput> = {}): PlaceOrderInput =>
    given.order(from, recipient, { amount: '250000' as TransferAmount, purposeCode: 'IR001', ...more });
  const MISSING = {
    reason: 'recipient_invalid',
    details: [
      {
        path: '/recipientID',
        message: expect.stringMatching(/Add the recipient again with beneficiaryTownName/) as string,
      },
    ],
  };

  it('gets no payment to a recipient of an earlier time, and nothing is debited', async () => {
    const abroad = world.demo.recipients['international'] as RecipientId;
    const quoted = { accountID: from, recipientID: abroad, amount: '250000' as TransferAmount };
    const { resource: quote } = await service.createQuote(ada, quoted);

    await expect(demanding.placeOrder(ada, payment(abroad))).rejects.toMatchObject(MISSING);
    await expect(demanding.placeOrder(ada, payment(abroad, { quoteID: quote.id }))).rejects.toMatchObject(MISSING);
    await expect(demanding.createQuote(ada, quoted)).rejects.toMatchObject(MISSING);

    expect(await balanceOf(from)).toBe(10_000_000);
  });

  it('gets a payment to a recipient with a town', async () => {
    const { rows } = await world.owner.query<{ id: bigint }>(
      `select recipient_id as id from beneficiary where workspace_id = $1 and data ? 'beneficiaryTownName' limit 1`,
      [ada.workspaceId],
    );

    const { resource } = await demanding.placeOrder(ada, payment(Number(rows[0]!.id) as RecipientId));

    expect(resource.edges.executions).toMatchObject([{ status: 'pending' }]);
  });

  it('pays an account of the service', async () => {
    const to = await account(1, '0');

    await demanding.placeOrder(ada, given.order(from, await near(to)));

    expect(await balanceOf(to)).toBe(100);
  });
});

describe('a payment network that cannot carry a payment to the beneficiary', () => {
  it('gets no payment, and nothing is debited', async () => {
    const fault = 'The name of the recipient cannot be written in Latin letters. Write it so.';
    const rails = { ...SANDBOX_ROUTING, faultOf: jest.fn().mockReturnValue(fault) };
    const demanding = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails });
    const from = await account(1, '10000000');
    const abroad = world.demo.recipients['international'] as RecipientId;
    const more = { amount: '250000' as TransferAmount, purposeCode: 'IR001' };
    const refusal = {
      reason: 'recipient_invalid',
      message: `${fault} Add the recipient again with other details.`,
      details: [{ path: '/recipientID' }],
    };

    await expect(demanding.placeOrder(ada, given.order(from, abroad, more))).rejects.toMatchObject(refusal);
    const quoted = { accountID: from, recipientID: abroad, amount: more.amount };
    await expect(demanding.createQuote(ada, quoted)).rejects.toMatchObject(refusal);

    const { rows } = await world.owner.query<{ data: Record<string, string> }>(
      'select data from beneficiary where workspace_id = $1 and recipient_id = $2',
      [ada.workspaceId, abroad],
    );
    const { data = {} } = rows[0] ?? {};
    expect(rails.faultOf).toHaveBeenCalledWith(expect.objectContaining({ country: data['destinationCountry'] }), {
      ...{ name: data['beneficiaryName'], account: data['beneficiaryAccountNumber'] },
      bankCountry: data['destinationCountry'],
      routing: { type: data['routingCodeType1'], code: data['routingCodeValue1'] },
    });
    expect(await balanceOf(from)).toBe(10_000_000);
  });
});

describe('a deployment without a payment network', () => {
  /** The service of a deployment without a payment network, on the same books. */
  let without: LedgerBankingService;
  let from: AccountId;
  let abroad: RecipientId;

  beforeAll(async () => {
    without = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES });
    from = await account(1, '10000000');
    abroad = world.demo.recipients['international'] as RecipientId;
  });

  const LATER = { type: 'scheduled', startAt: '2099-01-01T00:00:00Z' } as const;

  const abroadOf = (more: Partial<PlaceOrderInput> = {}): PlaceOrderInput =>
    given.order(from, abroad, { amount: '250000' as TransferAmount, purposeCode: 'IR001', ...more });

  const written = async () =>
    (
      await world.owner
        .query(`select (select count(*) from customer_order) as orders, (select count(*) from transfer) as transfers,
                             (select count(*) from work) as work, (select count(*) from quote) as quotes`)
    ).rows[0];

  it.each<[string, () => Promise<unknown>]>([
    ['an order that pays abroad', () => without.placeOrder(ada, abroadOf())],
    ['a scheduled order that pays abroad', () => without.placeOrder(ada, abroadOf(LATER))],
    [
      'a quote for a recipient abroad',
      () => without.createQuote(ada, { accountID: from, recipientID: abroad, amount: '250000' as TransferAmount }),
    ],
  ])('refuses %s before it debits or writes', async (_what, act) => {
    const before = await written();

    expect(await reasonOf(act())).toBe('payouts_unavailable');

    expect([await balanceOf(from), await written()]).toEqual([10_000_000, before]);
  });

  it('refuses an order by a quote of the time when there was a network', async () => {
    const quoted = { accountID: from, recipientID: abroad, amount: '250000' as TransferAmount };
    const { resource: quote } = await service.createQuote(ada, quoted);

    expect(await reasonOf(without.placeOrder(ada, abroadOf({ quoteID: quote.id })))).toBe('payouts_unavailable');
    expect(await balanceOf(from)).toBe(10_000_000);
  });

  it('pays an account of the service', async () => {
    const to = await account(1, '0');

    await without.placeOrder(ada, given.order(from, await near(to)));

    expect(await balanceOf(to)).toBe(100);
  });

  it('fails the run of an order that was scheduled before, without a debit', async () => {
    const before = await balanceOf(from);
    const { resource } = await service.placeOrder(ada, abroadOf(LATER));
    await world.owner.query(`update work set due_at = '2000-01-01' where kind = 'execution' and subject_id = $1`, [
      resource.edges.executions![0]!.id,
    ]);
    const [claim] = await claimWork(world.database, ['execution'], 1);

    await runOrder(new OrderService(world.books, DEMO_RATES), claim!);

    const order: Order = await service.getOrder(ada, { accountId: from, orderId: resource.id });
    expect(order).toMatchObject({
      status: 'failed',
      edges: {
        executions: [
          {
            status: 'failed',
            failureCode: 'payouts_unavailable',
            failureMessage: 'No payment network serves the corridor. Nothing was debited.',
          },
        ],
      },
    });
    expect(await balanceOf(from)).toBe(before);
  });

  it('replays the response to an order that it placed while it had a network', async () => {
    const key = given.key();
    const first = await service.placeOrder(ada, abroadOf(), key);

    expect(await without.placeOrder(ada, abroadOf(), key)).toEqual({ resource: first.resource, isReplay: true });
  });

  it('shows no corridor as enabled', async () => {
    const [open, closed] = await Promise.all([service, without].map((one) => one.listCorridors({}, { country: 'IN' })));

    expect(open!.some(({ enabled }) => enabled)).toBe(true);
    expect(closed).toEqual(open!.map((corridor) => ({ ...corridor, enabled: false })));
  });
});
