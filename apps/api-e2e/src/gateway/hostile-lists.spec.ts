import { CANARY } from '../log-lines.js';
import { BesiegedGateway } from './besieged-gateway.js';
import { json, type Trick } from './hostile-upstream.js';

const DAYS = 'from=2026-01-01&to=2026-02-01';
const STATEMENT = `/accounts/1/statement?${DAYS}`;

const movement = (more: object = {}) => ({
  id: 1,
  transactionID: 1,
  direction: 'credit',
  amount: '1',
  type: 'funding',
  valueDate: '2026-01-02',
  createdAt: '2026-01-02T00:00:00.000Z',
  balanceAfter: 1,
  ...more,
});
const statement = (more: object = {}, account: object = {}, currency: object = {}) => ({
  from: '2026-01-01',
  to: '2026-02-01',
  basis: 'valueDate',
  openingBalance: 0,
  closingBalance: 1,
  movements: [movement()],
  edges: { account: { id: 1, name: 'N', code: 'C1', edges: { currency: { id: 1, code: 'EUR', name: 'Euro', ...currency } }, ...account } }, // prettier-ignore
  ...more,
});

describe('Given a gateway whose upstream lies about lists and statements', () => {
  let besieged: BesiegedGateway;
  beforeAll(async () => {
    besieged = await BesiegedGateway.start();
  }, 60_000);
  afterAll(() => besieged?.stop());
  afterEach(async () => {
    besieged.upstream.trick = json([]);
    expect(await besieged.ask('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(besieged.wrongLines()).toEqual([]);
  });

  const nextOf = ({ headers }: { readonly headers: Headers }) => headers.get('link');

  it.each([
    ['leads elsewhere', '<https://evil.example/steal?cursor=abc>; rel="next"', 'abc'],
    ['is of another path', '</apps/1/users?cursor=abc&limit=1>; rel=next', 'abc'],
    ['leads to the page itself', '</transfers?limit=2&cursor=before>; rel="next"', 'before'],
    ['holds a line break', '</transfers?cursor=a%0d%0aSet-Cookie:%20a=b>; rel="next"', 'a\r\nSet-Cookie: a=b'],
    ['holds what closes a link', '</transfers?cursor=a%3E%3B%20rel%3Dx>; rel="next"', 'a>; rel=x'],
    [
      'is the second of two',
      `<https://evil.example/${CANARY}>; rel="prev", </transfers?cursor=abc>; rel="next"`,
      'abc',
    ],
  ])('When a next page %s Then ours leads to us, with the cursor as it is', async (_, link, cursor) => {
    besieged.upstream.trick = json([], 200, { link });

    const answer = await besieged.ask('/transfers?limit=2&cursor=before');

    expect(answer.status).toBe(200);
    const [, target = '', rest] = /^<([^<>]*)>(.*)$/.exec(nextOf(answer) ?? '') ?? [];
    expect(rest).toBe('; rel="next"');
    expect(target).toMatch(/^\/transfers\?/);
    expect([...new URL(target, 'http://us').searchParams]).toEqual([['limit', '2'], ['cursor', cursor]]); // prettier-ignore
    expect(answer.headers.has('set-cookie')).toBe(false);

    await besieged.ask(target);
    expect(new URL(besieged.upstream.asked.at(-1)?.path ?? '', 'http://them').searchParams.get('cursor')).toBe(cursor);
  });

  it.each<[string, Trick]>([
    ['names a next page without a cursor', json([], 200, { link: '</transfers?page=2>; rel="next"' })],
    ['is an object', json({ items: [] })],
    ['holds what is no transfer', json([{ id: 1, amount: 1 }])],
    ['holds null', json([null])],
    ['is followed by 16 MiB of blanks', json([{ id: 1, amount: '1', description: ' '.repeat(17 * 1024 * 1024) }])],
  ])('When a list %s Then it is not believed', async (_, trick) => {
    besieged.upstream.trick = trick;

    expect(await besieged.ask('/transfers')).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
  });

  it.each([
    ['counts in a currency nobody knows', statement({}, {}, { code: 'XQX' })],
    ['counts in a currency without a smallest unit', statement({}, {}, { code: 'XAU' })],
    ['has decimals without end', statement({}, {}, { decimals: 1_000_000_000 })],
    ['has an amount that no account holds', statement({ movements: [movement({ amount: '9999999999999999999' })] })],
    ['has members where a column takes a text', statement({ movements: [movement({ line: { a: 1 }, currency: [1], accountCode: {} })] })], // prettier-ignore
    ['has members that are columns', statement({ movements: [movement({ feeAmountMinorUnits: { a: 1 }, balance: null })] })], // prettier-ignore
    ['has a direction nobody knows', statement({ movements: [movement({ direction: 'sideways' })] })],
    ['has a code of many letters', statement({}, { code: `"\r\nSet-Cookie: a=b;${'ü'.repeat(20_000)}` })],
    ['has days that are none', statement({ from: '"\r\nX: y', to: '../../etc/passwd' })],
    ['has a formula in every text', statement({ movements: [movement({ description: '=cmd()', type: '@x', valueDate: '+1', createdAt: '-1' })] })], // prettier-ignore
  ])('When a statement %s Then it is a table or not believed, and never our mistake', async (_, value) => {
    besieged.upstream.trick = json(value);
    for (const accept of ['text/csv', 'application/json']) {
      const { status, headers, text } = await besieged.ask(STATEMENT, { headers: { accept } });

      expect([200, 502]).toContain(status);
      expect(headers.has('set-cookie')).toBe(false);
      expect((headers.get('content-disposition') ?? '').length).toBeLessThan(1_000);
      if (status === 200 && accept === 'text/csv') expect(text).not.toMatch(/(^|,)[=@+](?!\d)/m);
    }
  });

  it('When a statement names a next page Then ours leads to us, with the cursor as it is, for a table too', async () => {
    const link = `<https://evil.example/steal?cursor=a%3E%3B%20rel%3Dx%0d%0aX:y>; rel="next"`;
    for (const accept of ['application/json', 'text/csv']) {
      besieged.upstream.trick = json(statement({ next: 'theirs' }), 200, { link });

      const answer = await besieged.ask(`${STATEMENT}&limit=1`, { headers: { accept } });

      expect([answer.status, answer.headers.has('x')]).toEqual([200, false]);
      expect(answer.text).not.toContain('theirs');
      const [, target = ''] = /^<([^<>]*)>; rel="next"$/.exec(nextOf(answer) ?? '') ?? [];
      expect(target).toMatch(/^\/accounts\/1\/statement\?/);
      expect(new URL(target, 'http://us').searchParams.get('cursor')).toBe('a>; rel=x\r\nX:y');
      expect(answer.text.includes('closing')).toBe(accept === 'application/json');
    }
  });

  it('When a statement names a next page without a cursor Then it is not believed', async () => {
    besieged.upstream.trick = json(statement(), 200, { link: '</accounts/1/statement?page=2>; rel="next"' });

    expect(await besieged.ask(STATEMENT)).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
  });
});
