import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import * as fc from 'fast-check';
import { minorUnits } from '@banking/domain';
import { type Payment, uetrOf } from '@banking/payouts';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { OutageError, WorkError } from '@banking/work-queue';
import { HttpRail } from './http-rail.js';
import { type Served, sandboxServed, servedBy, TOKEN } from './testing/adapters.js';

let world: FreshDatabase;
const open: Served[] = [];

beforeAll(async () => {
  world = await freshDatabase();
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await world.owner.query('delete from rail_event; delete from rail_cursor');
});
afterAll(() => world.close());

const signal = new AbortController().signal;

const PAYMENT: Payment = {
  ...{ key: 'payout-1-2-0123456789ab', amount: minorUnits(12_345n), currency: 'EUR' },
  creditor: {
    ...{ name: 'Ravi Menon', account: 'DE89370400440532013000', routing: { type: 'SWIFT', code: 'COBADEFF' } },
    ...{ address: 'Uferstrasse 4, 13357 Berlin', country: 'DE' },
  },
  ...{ description: 'Invoice 2107', purpose: 'IR001' },
};

const ACCEPTED = {
  ...{ key: PAYMENT.key, amount: '12345', currency: 'EUR', acceptedAt: '2026-11-26T10:00:00Z' },
  events: [{ id: 'e1', status: 'ACSP', reasonCode: 'G000' }],
};

async function railBy(listener: RequestListener, timeoutMs?: number): Promise<HttpRail> {
  const served = await servedBy(listener);
  open.push(served);
  return new HttpRail({ ...served.config, ...(timeoutMs !== undefined && { timeoutMs }) }, world.database);
}

const answering =
  (status: number, body: unknown, headers = {}): RequestListener =>
  (request, response) => {
    request.resume();
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };

describe('a payment that is submitted', () => {
  it('is sent with its key, its amount as text, and the account of its currency', async () => {
    const seen: unknown[] = [];
    const rail = await railBy((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        seen.push({
          method: request.method,
          url: request.url,
          headers: request.headers,
          body: JSON.parse(body) as unknown,
        });
        answering(202, ACCEPTED)(request, response);
      });
    });

    expect(await rail.submit(PAYMENT, signal)).toMatchObject([
      { providerEvent: 'e1', status: 'ACSP', reasonCode: 'G000' },
    ]);

    expect(seen).toMatchObject([
      {
        ...{ method: 'POST', url: '/payments' },
        headers: {
          authorization: `Bearer ${TOKEN}`,
          'idempotency-key': PAYMENT.key,
          'content-type': 'application/json',
        },
        body: {
          ...{ uetr: uetrOf(PAYMENT.key), amount: '12345', currency: 'EUR' },
          debtor: { name: 'Harbour Ltd', account: 'DE89370400440532013000', bic: 'COBADEFFXXX' },
          creditor: {
            ...{ name: 'Ravi Menon', account: 'DE89370400440532013000' },
            ...{ routing: { type: 'SWIFT', code: 'COBADEFF' } },
            ...{ address: { text: 'Uferstrasse 4, 13357 Berlin', country: 'DE' } },
          },
          ...{ remittanceInformation: 'Invoice 2107', purpose: 'IR001' },
        },
      },
    ]);
  });

  it.each<[string, Partial<Payment['creditor']>, unknown]>([
    [
      'beside its text',
      { postalAddress: { streetName: 'Uferstrasse', buildingNumber: '4', postCode: '13357', townName: 'Berlin' } },
      {
        ...{ text: 'Uferstrasse 4, 13357 Berlin', country: 'DE', streetName: 'Uferstrasse', buildingNumber: '4' },
        ...{ postCode: '13357', townName: 'Berlin' },
      },
    ],
    [
      'and as a text made of them',
      { address: undefined, postalAddress: { buildingNumber: '4', postCode: '13357', townName: 'Berlin' } },
      { text: '4, 13357 Berlin', country: 'DE', buildingNumber: '4', postCode: '13357', townName: 'Berlin' },
    ],
    [
      'and as the name of its town',
      { address: undefined, postalAddress: { townName: 'Berlin' } },
      { text: 'Berlin', country: 'DE', townName: 'Berlin' },
    ],
    ['or not at all', { address: undefined }, undefined],
  ])('sends the elements of an address %s', async (_, creditor, address) => {
    const seen: { readonly creditor: { readonly address?: unknown } }[] = [];
    const rail = await railBy((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        seen.push(JSON.parse(body) as (typeof seen)[0]);
        answering(202, ACCEPTED)(request, response);
      });
    });

    await rail.submit({ ...PAYMENT, creditor: { ...PAYMENT.creditor, ...creditor } }, signal);

    expect(seen.map((body) => body.creditor.address)).toEqual([address]);
  });

  it('is rejected for good by a status and a reason code only', async () => {
    const rejected = await railBy(answering(422, { status: 'RJCT', reasonCode: 'AC01', message: 'No such account.' }));
    const unclear = await railBy(answering(422, { error: 'RJCT' }));

    expect(await rejected.submit(PAYMENT, signal)).toEqual([
      { providerEvent: 'submission', status: 'RJCT', reasonCode: 'AC01', message: 'No such account.' },
    ]);
    await expect(unclear.submit(PAYMENT, signal)).rejects.toThrow(/without a status and a reason code/);
  });

  it('is not rejected by a report of a duplicate: the bank has it', async () => {
    const rail = await railBy(answering(422, { status: 'RJCT', reasonCode: 'AM05' }));

    const error = await rail.submit(PAYMENT, signal).catch((found: unknown) => found);
    expect(error).toBeInstanceOf(WorkError);
    expect(error).toMatchObject({ message: expect.stringMatching(/the bank may have the payment/) });
  });

  it.each([
    ['another amount', { ...ACCEPTED, amount: '12346' }],
    ['another currency', { ...ACCEPTED, currency: 'USD' }],
  ])('is for an operator if the adapter has %s', async (_what, body) => {
    const rail = await railBy(answering(202, body));

    const error = await rail.submit(PAYMENT, signal).catch((found: unknown) => found);
    expect(error).toBeInstanceOf(WorkError);
    expect(error).not.toBeInstanceOf(OutageError);
    expect(error).toMatchObject({ message: expect.stringContaining('another amount or currency') });
  });

  it('is not sent without an account in its currency', async () => {
    const rail = await railBy(() => {
      throw new Error('not called here');
    });

    await expect(rail.submit({ ...PAYMENT, currency: 'JPY' }, signal)).rejects.toThrow(/no account in the currency/);
  });
});

describe('a failure', () => {
  /** What a call of the adapter ends with. */
  const failureOf = async (listener: RequestListener, timeoutMs?: number): Promise<never> => {
    await (await railBy(listener, timeoutMs)).find(PAYMENT.key, signal);
    throw new Error('there was no failure');
  };
  const endless: RequestListener = (request, response) => {
    request.resume();
    response.writeHead(200);
    const write = () => {
      if (response.destroyed) return;
      response.write(' '.repeat(65_536));
      setImmediate(write);
    };
    write();
  };

  it.each<[string, RequestListener, RegExp]>([
    ['is down for maintenance', answering(503, 'maintenance'), /answered 503/],
    ['is overloaded', answering(429, {}), /answered 429/],
    ['redirects', answering(307, '', { location: 'http://127.0.0.1:1/' }), /redirects, which is refused/],
    ['refuses our token', answering(401, {}), /refused our token/],
    ['sends more than the books hold', answering(200, { ...ACCEPTED, amount: '9'.repeat(19) }), /amount is more than/],
    ['sends broken JSON', answering(200, '{"key": '), /not JSON/],
    ['sends no UTF-8', (_, response) => response.writeHead(200).end(Buffer.from([0xff, 0xfe])), /not JSON/],
    ['sends 10 MB', answering(200, ' '.repeat(10 * 1024 * 1024)), /more than 2097152 bytes/],
    ['sends without an end', endless, /more than 2097152 bytes/],
    ['closes the connection', (request) => void request.socket.destroy(), /UND_ERR_SOCKET|ECONNRESET/],
    ['sends a list', answering(200, []), /payment is not an object/],
    ['sends an amount as a number', answering(200, { ...ACCEPTED, amount: 12345 }), /payment\.amount is missing/],
    [
      'sends a status as an object',
      answering(200, { ...ACCEPTED, events: [{ id: 'a', status: {} }] }),
      /events\[0\]\.status/,
    ],
    [
      'sends a long id',
      answering(200, { ...ACCEPTED, events: [{ id: 'a'.repeat(101), status: 'A' }] }),
      /events\[0\]\.id/,
    ],
    ['sends a time of another form', answering(200, { ...ACCEPTED, acceptedAt: 'yesterday' }), /acceptedAt/],
    ['shows another payment', answering(200, { ...ACCEPTED, key: 'payout-1-3-0123456789ab' }), /another payment/],
  ])('of an adapter that %s is an outage, and says nothing of its content', async (_what, listener, message) => {
    const error = await failureOf(listener).catch((found: unknown) => found as Error);

    expect(error).toBeInstanceOf(OutageError);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect(error).not.toMatchObject({ message: expect.stringContaining('yesterday') });
  });

  it('of an adapter that sends nothing is an outage after the time for a call', async () => {
    const error = await failureOf((request) => void request.resume(), 100).catch((found: unknown) => found as Error);

    expect(error).toBeInstanceOf(OutageError);
    expect(error).toMatchObject({ message: expect.stringContaining('did not answer in time') });
  });

  it.each<[string, RequestListener, RegExp]>([
    [
      'refuses the request',
      answering(400, {}),
      /refused the request \(400\): see the log of its adapter for the reason, and correct the adapter$/,
    ],
  ])('of an adapter that %s is for an operator', async (_what, listener, message) => {
    const error = await failureOf(listener).catch((found: unknown) => found as Error);

    expect(error).toBeInstanceOf(WorkError);
    expect(error).not.toBeInstanceOf(OutageError);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
  });

  it('of a token uses no try, and a new token needs no restart', async () => {
    const served = await sandboxServed();
    open.push(served);
    const rail = new HttpRail(served.config, world.database);
    writeFileSync(served.config.tokenFile, '\n');
    await expect(rail.find(PAYMENT.key, signal)).rejects.toThrow(OutageError);
    await expect(rail.find(PAYMENT.key, signal)).rejects.toThrow(
      /the rail bank does not serve: its tokenFile is empty/,
    );
    writeFileSync(served.config.tokenFile, `${TOKEN}\n`);

    expect(await rail.find(PAYMENT.key, signal)).toBeUndefined();
  });

  it('is never a payment, whatever JSON the adapter sends', async () => {
    let body = '';
    const rail = await railBy((request, response) => answering(200, body)(request, response));

    await fc.assert(
      fc.asyncProperty(fc.json(), async (json) => {
        body = json;
        await expect(rail.find(PAYMENT.key, signal)).rejects.toBeInstanceOf(OutageError);
      }),
      { numRuns: 50 },
    );
  });
});

describe('the payments of an adapter', () => {
  it('are listed after a key, and a page out of order is refused', async () => {
    const seen: (string | undefined)[] = [];
    const second = { ...ACCEPTED, key: 'payout-1-3-0123456789ab' };
    const rail = await railBy((request, response) => {
      seen.push(request.url);
      answering(200, { payments: [second] })(request, response);
    });

    expect(await rail.listSubmitted('2026-11-26T10:00:00Z', ACCEPTED.key, signal)).toMatchObject([{ key: second.key }]);
    await expect(rail.listSubmitted('2026-11-26T10:00:00Z', second.key, signal)).rejects.toThrow(/not after the key/);
    expect(seen[0]).toBe(`/payments?acceptedSince=2026-11-26T10%3A00%3A00Z&after=${ACCEPTED.key}`);
  });
});

describe('the events of an adapter', () => {
  const EVENTS = ['1', '2', '3'].map((position) => ({
    ...{ position, key: `payout-1-${position}-0123456789ab`, id: `e${position}`, status: 'ACSP', unknown: true },
    ...{ amount: '12345', currency: 'EUR' },
  }));

  /** An adapter with a list of events, which notes after which positions it was asked. */
  async function listing(events: readonly { readonly position: string }[] = EVENTS) {
    const asked: (string | null)[] = [];
    const served = await servedBy((request, response) => {
      const after = new URL(request.url ?? '', 'http://adapter').searchParams.get('after');
      asked.push(after);
      answering(200, { events: events.slice(events.findIndex(({ position }) => position === after) + 1) })(
        request,
        response,
      );
    });
    open.push(served);
    return { asked, rail: () => new HttpRail(served.config, world.database) };
  }

  const idsOf = (events: readonly { readonly event: { readonly providerEvent: string } }[]) =>
    events.map(({ event }) => event.providerEvent);

  it('are stored before they are acknowledged by asking after them, so a killed worker loses none', async () => {
    const { asked, rail } = await listing();

    expect(idsOf(await rail().receive(100))).toEqual(['e1', 'e2', 'e3']);
    // That worker ends here. Another one asks for what is new, and finds what was stored.
    expect(idsOf(await rail().receive(100))).toEqual([]);
    expect(asked).toEqual([null, '3']);
    await world.owner.query(`update rail_event set handed_until = handed_until - interval '1 minute'`);

    const again = await rail().receive(100);
    expect(idsOf(again)).toEqual(['e1', 'e2', 'e3']);
    await rail().acknowledge(again);
    expect((await world.owner.query('select from rail_event')).rowCount).toBe(0);
  });

  it('are kept one by one until each is acknowledged: one that stays keeps no other back', async () => {
    const { rail } = await listing();
    const [first, ...others] = await rail().receive(100);
    await rail().acknowledge(others);
    await world.owner.query(`update rail_event set handed_until = handed_until - interval '1 minute'`);

    expect(await rail().receive(100)).toEqual([first]);
  });

  it('are read by one worker at a time, and by another after the lease of one that ended', async () => {
    const { asked, rail } = await listing();
    await world.owner.query(
      `insert into rail_cursor (rail, leased_until, fence) values ('bank', now() + interval '30 s', 1)`,
    );

    expect(await rail().receive(100)).toEqual([]);
    expect(asked).toEqual([]);
    await world.owner.query(`update rail_cursor set leased_until = now() - interval '1 s'`);
    expect(await rail().receive(100)).toHaveLength(3);
  });

  it('move no cursor for a worker that was stopped past its lease', async () => {
    let overtake: () => Promise<unknown> = () => Promise.resolve();
    const rail = await railBy((request, response) => {
      void overtake().then(() => answering(200, { events: EVENTS })(request, response));
    });
    overtake = () => world.owner.query(`update rail_cursor set fence = fence + 1, position = '9'`);

    expect(await rail.receive(100)).toEqual([]);
    const { rows } = await world.owner.query('select position from rail_cursor');
    expect(rows).toEqual([{ position: '9' }]);
  });

  it('end their wait when the process ends, and free the cursor', async () => {
    const control = new AbortController();
    const rail = await railBy((request) => {
      request.resume();
      control.abort();
    });

    expect(await rail.receive(100, control.signal)).toEqual([]);
    const { rows } = await world.owner.query('select leased_until from rail_cursor');
    expect(rows).toEqual([{ leased_until: null }]);
  });

  it('are not stored if one of them has no position', async () => {
    const { rail } = await listing([...EVENTS, { position: '' }]);

    await expect(rail().receive(100)).rejects.toThrow(/events\[3\]\.position is not of the form/);
    expect((await world.owner.query('select from rail_event')).rowCount).toBe(0);
  });

  it('are stored without one that cannot be read, which is reported once', async () => {
    const { asked, rail } = await listing([{ ...EVENTS[0]!, status: 'acsp' }, ...EVENTS.slice(1)]);

    await expect(rail().receive(100)).rejects.toThrow(/an event is not of the contract: events\[0\]\.status/);
    expect(idsOf(await rail().receive(100))).toEqual(['e2', 'e3']);
    await rail().receive(100);
    expect(asked).toEqual([null, '3']);
  });

  it('of a workspace that another database serves are passed over', async () => {
    await world.owner.query(`
      insert into app (id, name) values (1, 'Harbour');
      insert into workspace (id, app_id, name) values (1, 1, 'North');
      insert into workspace (id, app_id, name) values (2, 1, 'South');
      insert into cell_identity (number, name) values (1, 'one');
      insert into cell_workspace (workspace_id, state) values (2, 'open')`);
    const other = (position: string, key: string) => ({ ...EVENTS[0]!, position, key });
    const ours = ['payout-2-1-0123456789ab', 'of-another-service'];
    const { rail } = await listing([...EVENTS, ...ours.map((key, index) => other(`${index + 4}`, key))]);

    expect((await rail().receive(100)).map(({ key }) => key)).toEqual(ours);
    await world.owner.query(
      'set session_replication_role = replica; delete from cell_workspace; delete from cell_identity; reset session_replication_role',
    );
    const { rows } = await world.owner.query('select position from rail_cursor');
    expect(rows).toEqual([{ position: '5' }]);
  });
});

it('calls an adapter that is away as an outage, and again when it is back', async () => {
  const served = await sandboxServed();
  open.push(served);
  const rail = new HttpRail(served.config, world.database);
  await served.leave();
  await expect(rail.submit(PAYMENT, signal)).rejects.toBeInstanceOf(OutageError);

  await served.comeBack();

  expect(await rail.find(PAYMENT.key, signal)).toBeUndefined();
  expect((await rail.submit(PAYMENT, signal)).map(({ status }) => status)).toEqual(['ACSP', 'ACSP', 'ACCC']);
});

describe('a payee that is verified', () => {
  const PAYEE = { name: 'Ravi Menon', account: 'DE89370400440532013000', currency: 'EUR', bankCountry: 'DE' };
  const answer = async (status: number, body: unknown) =>
    (await railBy(answering(status, body))).verifyPayee(PAYEE, signal);

  it('is sent with its name and account, and the token', async () => {
    const seen: unknown[] = [];
    const rail = await railBy((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        seen.push([request.method, request.url, request.headers.authorization, JSON.parse(body)]);
        response.end('{"result":"match"}');
      });
    });

    expect(await rail.verifyPayee(PAYEE, signal)).toEqual({ result: 'match' });
    const { bankCountry: country, ...payee } = PAYEE;
    expect(seen).toEqual([['POST', '/payee-verifications', `Bearer ${TOKEN}`, { ...payee, country }]]);
  });

  it.each([
    [
      { result: 'close_match', name: 'R. Menon' },
      { result: 'close_match', name: 'R. Menon' },
    ],
    // A name that no one may see is left out.
    [{ result: 'no_match', name: 'R. Menon' }, { result: 'no_match' }],
    [{ result: 'not_possible' }, { result: 'not_possible' }],
  ])('has the answer %j', async (body, expected) => {
    expect(await answer(200, body)).toEqual(expected);
  });

  it('has no answer of an adapter without this request', async () => {
    expect(await answer(404, '')).toBeUndefined();
  });

  it.each([
    [200, {}],
    [200, 'match'],
    [200, { result: 'MTCH' }],
    [200, { result: 'close_match' }],
    [200, { result: 'close_match', name: 'x'.repeat(141) }],
    [200, { result: 'close_match', name: 'a\u202eb' }],
    [401, ''],
    [500, ''],
  ])('has no answer of another form: %d %j', async (status, body) => {
    await expect(answer(status, body)).rejects.toBeInstanceOf(OutageError);
  });
});
