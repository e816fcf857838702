import type { RecipientId } from '@banking/domain';
import { type Payee, SANDBOX_ROUTING, SandboxRail, type VerifyPayee } from '@banking/payouts';
import { reasonOf } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { VERIFIED_PER_HOUR } from './verify-recipient.js';

let given: OrderWorld;
let service: LedgerBankingService;
/** The payees that the network was asked about. */
const asked: unknown[] = [];
let answer: VerifyPayee;

beforeAll(async () => {
  given = await orderWorld();
  const rail = new SandboxRail(given.world.database);
  const bySandbox: VerifyPayee = (_to, payee, signal) => rail.verifyPayee(payee, signal);
  const verifyPayee: VerifyPayee = (to, payee, signal) => {
    asked.push([to, payee]);
    return answer(to, payee, signal);
  };
  service = new LedgerBankingService(given.world.database, given.world.books, { rails: SANDBOX_ROUTING, verifyPayee });
  answer = bySandbox;
  restore = () => void (answer = bySandbox);
});
let restore: () => void;
beforeEach(async () => {
  asked.length = 0;
  restore();
  await given.world.owner.query('update recipient set verification_asked_at = null where forgotten_at is null');
});
afterAll(() => given.world.close());

const add = async (account: string) => {
  const { resource } = await service.addInternationalRecipient(given.ada, {
    ...{ countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' },
    data: {
      ...{ beneficiaryName: 'Asha Rao', destinationCountry: 'IN', beneficiaryAccountType: 'Individual' },
      ...{ beneficiaryCountryCode: 'IN', beneficiaryAccountNumber: account },
      ...{ routingCodeType1: 'IFSC', routingCodeValue1: 'ICIC0000001' },
    },
  });
  return resource.id;
};
const verify = async (recipientId: RecipientId, options = {}) =>
  (await service.verifyRecipient(given.ada, { recipientId }, options)).resource;

describe('the verification of a recipient', () => {
  it.each([
    ['00601234567890', { result: 'match' }],
    ['00601234569031', { result: 'close_match', name: 'Asha Rao Jr' }],
    ['00601234569032', { result: 'no_match' }],
    ['00601234569033', { result: 'not_possible' }],
  ])('of the account %s is stored at the recipient with its time', async (account, expected) => {
    const id = await add(account);
    expect(await service.getRecipient(given.ada, { recipientId: id })).not.toHaveProperty('verification');

    const recipient = await verify(id);

    expect(recipient.verification).toEqual({ ...expected, verifiedAt: expect.any(String) });
    expect(await service.getRecipient(given.ada, { recipientId: id })).toEqual(recipient);
    expect((await service.listRecipients(given.ada, { limit: 1 })).items).toEqual([recipient]);
    const payee: Payee = {
      ...{ name: 'Asha Rao', account, routing: { type: 'IFSC', code: 'ICIC0000001' } },
      ...{ bankCountry: 'IN', currency: 'INR' },
    };
    expect(asked).toEqual([[{ country: 'IN', currency: 'INR', payoutMethod: 'LOCAL' }, payee]]);
  });

  it('is replaced by a later one', async () => {
    const id = await add('00601234569031');
    await verify(id);
    answer = async () => ({ result: 'match' });

    expect((await verify(id)).verification).toEqual({ result: 'match', verifiedAt: expect.any(String) });
  });

  it('is not possible if the network fails, cannot tell, or no network is known', async () => {
    const id = await add('00601234567891');
    for (const failing of [() => Promise.reject(new Error('away')), () => Promise.resolve(undefined)]) {
      answer = failing;
      expect((await verify(id)).verification?.result).toBe('not_possible');
    }
    const { resource } = await given.service.verifyRecipient(given.ada, { recipientId: id });
    expect(resource.verification?.result).toBe('not_possible');
  });

  it('is not possible for an account of this service, which is not told of', async () => {
    const id = await given.near(await given.account(1, '0'));

    expect((await verify(id)).verification).toEqual({ result: 'not_possible', verifiedAt: expect.any(String) });
    expect(asked).toEqual([]);
  });

  it('ends without an answer in time, also of a network that ignores its signal', async () => {
    const id = await add('00601234567892');
    const timeout = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const control = new AbortController();
      setImmediate(() => control.abort());
      return control.signal;
    });
    answer = () => new Promise(() => undefined);
    const { verification } = await verify(id).finally(() => timeout.mockRestore());

    expect(verification?.result).toBe('not_possible');
  });

  it('is made once for a key, and the replay asks no one', async () => {
    const id = await add('00601234569031');
    const key = given.key();
    const first = await verify(id, key);
    answer = async () => ({ result: 'no_match' });

    const again = await service.verifyRecipient(given.ada, { recipientId: id }, key);

    expect(again).toEqual({ resource: first, isReplay: true });
    expect(asked).toHaveLength(1);
  });

  it('is refused beyond the limit of an hour, however many are requested at the same time', async () => {
    const [before, ...ids] = await Promise.all(
      Array.from({ length: 4 }, (_, index) => add(`0060123456${String(8000 + index)}`)),
    );
    await verify(before!);
    await given.world.owner.query(
      `with copied as (
         insert into recipient (workspace_id, kind, name, account_code, currency_id, saved, verification_asked_at)
         select workspace_id, 'internal', 'Copy', 'C', currency_id, false, statement_timestamp() - interval '30 minutes'
         from recipient, generate_series(1, $2) where id = $1 returning 1)
       select count(*) from copied`,
      [before, VERIFIED_PER_HOUR - 2],
    );
    asked.length = 0;

    const results = await Promise.allSettled(ids.map((id) => verify(id)));

    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(refused).toHaveLength(2);
    for (const refusal of refused) {
      expect(refusal).toMatchObject({ reason: 'rate_limited' });
      expect((refusal as { retryAfterSeconds: number }).retryAfterSeconds).toBeGreaterThan(1_700);
    }
    expect(asked).toHaveLength(1);
    // One that is verified again counts once.
    expect((await verify(before!)).verification?.result).toBe('match');
    await given.world.owner.query(
      `update recipient set verification_asked_at = verification_asked_at - interval '31 minutes'`,
    );
    expect((await verify(ids[0]!)).verification?.result).toBe('match');
  });

  it('is refused for a recipient of another workspace, a deleted one, and one that is deleted meanwhile', async () => {
    const id = await add('00601234567893');
    expect(await reasonOf(service.verifyRecipient(given.eve, { recipientId: id }))).toBe('recipient_not_found');

    answer = async () => {
      await service.deleteRecipient(given.ada, { recipientId: id });
      return { result: 'match' };
    };
    expect(await reasonOf(verify(id))).toBe('recipient_not_found');
    expect(await reasonOf(verify(id))).toBe('recipient_not_found');
    expect(asked).toHaveLength(1);
  });
});
