import { CANARY } from '../log-lines.js';
import { AttackedGateway } from './gateway-under-attack.js';
import { json, type Behaviour } from './hostile-upstream.js';

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
  edges: {
    account: {
      id: 1,
      name: 'N',
      code: 'C1',
      edges: { currency: { id: 1, code: 'EUR', name: 'Euro', ...currency } },
      ...account,
    },
  },
  ...more,
});

describe('gateway with invalid lists and statements', () => {
  let attacked: AttackedGateway;
  beforeAll(async () => {
    attacked = await AttackedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  });
  afterAll(() => attacked?.stop());
  afterEach(async () => {
    attacked.upstream.behaviour = json([]);
    expect(await attacked.sendRequest('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(attacked.wrongLines()).toEqual([]);
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
  ])('links to itself with the unchanged cursor if the next link of the upstream %s', async (_, link, cursor) => {
    attacked.upstream.behaviour = json([], 200, { link });

    const response = await attacked.sendRequest('/transfers?limit=2&cursor=before');

    expect(response.status).toBe(200);
    const [, target = '', rest] = /^<([^<>]*)>(.*)$/.exec(nextOf(response) ?? '') ?? [];
    expect(rest).toBe('; rel="next"');
    expect(target).toMatch(/^\/transfers\?/);
    expect([...new URL(target, 'http://us').searchParams]).toEqual([
      ['limit', '2'],
      ['cursor', cursor],
    ]);
    expect(response.headers.has('set-cookie')).toBe(false);

    await attacked.sendRequest(target);
    expect(new URL(attacked.upstream.received.at(-1)?.path ?? '', 'http://them').searchParams.get('cursor')).toBe(
      cursor,
    );
  });

  it.each<[string, Behaviour]>([
    ['names a next page without a cursor', json([], 200, { link: '</transfers?page=2>; rel="next"' })],
    ['is an object', json({ items: [] })],
    ['holds what is no transfer', json([{ id: 1, amount: 1 }])],
    ['holds null', json([null])],
    ['is followed by 16 MiB of blanks', json([{ id: 1, amount: '1', description: ' '.repeat(17 * 1024 * 1024) }])],
  ])('rejects a list that %s', async (_, behaviour) => {
    attacked.upstream.behaviour = behaviour;

    expect(await attacked.sendRequest('/transfers')).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
  });

  it.each([
    ['has an unknown currency', statement({}, {}, { code: 'XQX' })],
    ['counts in a currency without a smallest unit', statement({}, {}, { code: 'XAU' })],
    ['has decimals without end', statement({}, {}, { decimals: 1_000_000_000 })],
    ['has an amount that no account holds', statement({ movements: [movement({ amount: '9999999999999999999' })] })],
    [
      'has members where a column takes a text',
      statement({ movements: [movement({ line: { a: 1 }, currency: [1], accountCode: {} })] }),
    ],
    [
      'has members that are columns',
      statement({ movements: [movement({ feeAmountMinorUnits: { a: 1 }, balance: null })] }),
    ],
    ['has an unknown direction', statement({ movements: [movement({ direction: 'sideways' })] })],
    ['has a code of many letters', statement({}, { code: `"\r\nSet-Cookie: a=b;${'ü'.repeat(20_000)}` })],
    ['has days that are none', statement({ from: '"\r\nX: y', to: '../../etc/passwd' })],
    [
      'has a formula in every text',
      statement({ movements: [movement({ description: '=cmd()', type: '@x', valueDate: '+1', createdAt: '-1' })] }),
    ],
  ])('converts to CSV or rejects a statement that %s', async (_, value) => {
    attacked.upstream.behaviour = json(value);
    for (const accept of ['text/csv', 'application/json']) {
      const { status, headers, text } = await attacked.sendRequest(STATEMENT, { headers: { accept } });

      expect([200, 502]).toContain(status);
      expect(headers.has('set-cookie')).toBe(false);
      expect((headers.get('content-disposition') ?? '').length).toBeLessThan(1_000);
      if (status === 200 && accept === 'text/csv') expect(text).not.toMatch(/(^|,)[=@+](?!\d)/m);
    }
  });

  const NEXT = `<https://evil.example/steal?cursor=a%3E%3B%20rel%3Dx%0d%0aX:y>; rel="next"`;

  it('links to the next page of a statement with the unchanged cursor', async () => {
    attacked.upstream.behaviour = json(statement({ next: 'theirs' }), 200, { link: NEXT });

    const response = await attacked.sendRequest(`${STATEMENT}&limit=1`);

    expect([response.status, response.headers.has('x')]).toEqual([200, false]);
    expect(response.text).not.toContain('theirs');
    const [, target = ''] = /^<([^<>]*)>; rel="next"$/.exec(nextOf(response) ?? '') ?? [];
    expect(target).toMatch(/^\/accounts\/1\/statement\?/);
    expect(new URL(target, 'http://us').searchParams.get('cursor')).toBe('a>; rel=x\r\nX:y');
  });

  it('ends a table whose next page is the same page again', async () => {
    attacked.upstream.behaviour = json(statement(), 200, { link: NEXT });

    await expect(attacked.sendRequest(STATEMENT, { headers: { accept: 'text/csv' } })).rejects.toThrow();
  });

  it('rejects a statement with a next link without a cursor', async () => {
    attacked.upstream.behaviour = json(statement(), 200, { link: '</accounts/1/statement?page=2>; rel="next"' });

    expect(await attacked.sendRequest(STATEMENT)).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
  });
});
