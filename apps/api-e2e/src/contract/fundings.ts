import { BankingClient } from '@banking/client';
import type { Account, ProductId, Transfer, TransferAmount, WorkspaceId } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { faultsIn } from './shapes.js';

/** Fundings with demo money, in a sandbox. */
export function fundingsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Ada personal');
  const client = () => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });
  const view = () => client().workspace(workspace() as WorkspaceId);
  const send = (account: Account, body: unknown, headers: Record<string, string> = {}) =>
    sendRequest(service, `/sandbox/accounts/${account.id}/fundings`, {
      as: ADA,
      workspace: workspace(),
      body,
      headers,
    });
  let account: Account;

  describe('fundings', () => {
    beforeAll(async () => {
      const [product] = await client().products.list();
      account = (await view().accounts.open({ productID: product?.id as ProductId, alias: 'Funded' })).resource;
    });
    const balance = async () => (await view().accounts.get(account.id)).edges.balances[0]?.amount;

    it('credits the balance and returns the transfer at its Location', async () => {
      const { status, headers, body } = await send(account, { amount: '1000000' });

      const transfer = body as Transfer;
      expect(status).toBe(201);
      expect(faultsIn(transfer, 'Transfer')).toEqual([]);
      expect(transfer).toMatchObject({ amount: '1000000', direction: 'credit', type: 'funding' });
      expect(transfer).not.toHaveProperty('feeAmount');
      expect(headers.get('location')).toBe(`/transfers/${transfer.id}`);
      expect(await view().transfers.get(transfer.id)).toEqual(transfer);
      expect(await balance()).toBe(1_000_000);
    });

    it('credits once for a repeated idempotency key', async () => {
      const key = { 'Idempotency-Key': `funding-${account.id}` };
      const before = await balance();
      const first = await send(account, { amount: '250' }, key);

      const again = await send(account, ' {"amount" : "250"} ', key);

      expect(again.text).toBe(first.text);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await balance()).toBe(Number(before) + 250);
      expect(await send(account, { amount: '251' }, key)).toMatchObject({
        status: 422,
        body: { reason: 'idempotency_key_reused' },
      });
      const input = { accountId: account.id, amount: '250' as TransferAmount };
      expect(await view().sandbox.fund(input, { idempotencyKey: key['Idempotency-Key'] })).toMatchObject({
        resource: first.body,
        isReplay: true,
      });
    });

    it.each<[string, unknown, number, string, readonly string[]]>([
      ['no amount', {}, 400, 'amount_malformed', ['/amount']],
      ['a number', { amount: 100 }, 400, 'amount_malformed', ['/amount']],
      ['null', { amount: null }, 400, 'amount_malformed', ['/amount']],
      ['a list', { amount: ['100'] }, 400, 'amount_malformed', ['/amount']],
      ['nothing', { amount: '' }, 400, 'amount_malformed', ['/amount']],
      ['zero', { amount: '0' }, 400, 'amount_malformed', ['/amount']],
      ['a sign', { amount: '-100' }, 400, 'amount_malformed', ['/amount']],
      ['a plus', { amount: '+100' }, 400, 'amount_malformed', ['/amount']],
      ['a point', { amount: '1.00' }, 400, 'amount_malformed', ['/amount']],
      ['a comma', { amount: '1,000' }, 400, 'amount_malformed', ['/amount']],
      ['a leading zero', { amount: '0100' }, 400, 'amount_malformed', ['/amount']],
      ['a space', { amount: ' 100' }, 400, 'amount_malformed', ['/amount']],
      ['a line break', { amount: '100\n' }, 400, 'amount_malformed', ['/amount']],
      ['an exponent', { amount: '1e3' }, 400, 'amount_malformed', ['/amount']],
      ['hexadecimal', { amount: '0x10' }, 400, 'amount_malformed', ['/amount']],
      ['other digits', { amount: '１００' }, 400, 'amount_malformed', ['/amount']],
      ['twenty digits', { amount: '10000000000000000000' }, 400, 'amount_malformed', ['/amount']],
      ['more than the books hold', { amount: '9223372036854775808' }, 400, 'amount_out_of_range', ['/amount']],
      ['more than an account holds', { amount: '9007199254740992' }, 422, 'balance_limit_exceeded', []],
      ['a fee of its own', { amount: '100', feeAmount: '1' }, 400, 'field_unknown', ['/feeAmount']],
      ['a type of its own', { amount: '100', type: 'payout' }, 400, 'field_unknown', ['/type']],
    ])('refuses the amount %s, names the field and moves no money', async (_, body, status, reason, paths) => {
      const before = await balance();

      const response = await send(account, body);

      expect(response).toMatchObject({ status, body: { reason } });
      const { details } = response.body as { details?: { path: string }[] };
      expect((details ?? []).map(({ path }) => path)).toEqual(paths);
      expect(await balance()).toBe(before);
    });

    it('refuses to fund a disabled account', async () => {
      await view().accounts.change(account.id, { status: 'disabled' });

      expect(await send(account, { amount: '1' })).toMatchObject({ status: 422, body: { reason: 'account_disabled' } });
    });
  });
}
