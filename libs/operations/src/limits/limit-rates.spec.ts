import {
  type CurrencyCode,
  type LimitTerms,
  Refusal,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { DEMO_RATES, NO_RATES, noRate } from '@banking/reference';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { addGrants, addWorkspace } from '../provisioning/index.js';
import { type Member, orderWorld, type OrderWorld } from '../testing/order-world.js';

let at: OrderWorld;
let places = 0;

beforeAll(async () => {
  at = await orderWorld();
});
afterAll(() => at.world.close());
afterEach(() => jest.restoreAllMocks());

const ADA = 'ada@northwind.example';
const DOLLARS = 1;
const EUROS = 2;
const limitIn = (currency: string): LimitTerms => ({
  ...{ scope: 'workspace', metric: 'amount', per: 'day', value: '1000000' },
  currency,
});

/** A workspace with an administrator. */
async function place(): Promise<Member> {
  const named = { app: 'Northwind Treasury', name: `Rated ${(places += 1)}` };
  const workspaceId = (await addWorkspace(at.world.provisioning, 'ops', named)) as WorkspaceId;
  await addGrants(at.world.provisioning, 'ops', { workspaceId, email: ADA, roles: ['admin', 'member'] });
  return { workspaceId, actor: at.world.demo.users[ADA] as UserId };
}

/** The refusal of a list of limits, if it is refused. */
async function refusalOf(of: Member, limits: readonly LimitTerms[], service = at.service) {
  const { version } = await service.getLimits(of);
  return service.replaceLimits(of, { version, limits }).then(
    () => undefined,
    (error: Refusal) => error,
  );
}

describe('a limit in a currency without a rate', () => {
  it('is refused with its field, because it would refuse every order', async () => {
    const ada = await place();
    await at.account(DOLLARS, '0', ada);

    expect(await refusalOf(ada, [limitIn('USD'), limitIn('CLF'), limitIn('EUR')])).toMatchObject({
      reason: 'payment_limit_invalid',
      details: [
        {
          path: '/limits/1/currency',
          message:
            'There is no rate to CLF from the currency of any account, so every order would be refused. Choose another currency.',
        },
      ],
    });
    expect((await at.service.getLimits(ada)).limits).toEqual([]);
  });

  it('is allowed in a currency of the accounts, and of some of them', async () => {
    const ada = await place();
    await at.account(DOLLARS, '0', ada);
    await at.account(EUROS, '0', ada);
    const withoutRates = new LedgerBankingService(at.world.database, at.world.books, { rates: NO_RATES });

    expect(await refusalOf(ada, [limitIn('USD'), limitIn('EUR')], withoutRates)).toBeUndefined();
    expect(await refusalOf(ada, [limitIn('GBP')], withoutRates)).toMatchObject({ reason: 'payment_limit_invalid' });
  });

  it('is allowed if it is not known: without an account, or while the source fails', async () => {
    const [empty, ada] = [await place(), await place()];
    await at.account(DOLLARS, '0', ada);

    expect(await refusalOf(empty, [limitIn('CLF')])).toBeUndefined();
    failsWith(() => new Refusal('rate_unavailable', 'The source of rates gives none at the moment.'));
    expect(await refusalOf(ada, [limitIn('EUR')])).toBeUndefined();
  });
});

describe('an order that a limit cannot count without a rate', () => {
  it.each([
    ['has none', noRate, 'Ask an administrator to set the limit in another currency.'],
    [
      'fails',
      () => new Refusal('rate_unavailable', 'The source of rates gives none at the moment.'),
      'Try again later, or ask an administrator to set the limit in another currency.',
    ],
  ])('is refused with a message about the limit if the source %s', async (_, fault, advice) => {
    const ada = await place();
    const from = await at.account(DOLLARS, '100000', ada);
    const to = await at.near(await at.account(DOLLARS, '0', ada), ada, ada);
    expect(await refusalOf(ada, [limitIn('GBP')])).toBeUndefined();
    failsWith(fault);

    await expect(
      at.service.placeOrder(ada, at.order(from, to, { amount: '100' as TransferAmount })),
    ).rejects.toMatchObject({
      reason: 'rate_unavailable',
      message: `A limit of the workspace is in GBP, and the order cannot be counted without a rate from USD to GBP. ${advice}`,
    });
  });
});

/** The source of rates fails until the end of the test. */
function failsWith(fault: (from: CurrencyCode, to: CurrencyCode) => Refusal): void {
  jest.spyOn(DEMO_RATES, 'rateOf').mockImplementation((from, to) => Promise.reject(fault(from, to)));
}
