import type { AddInternationalRecipientInput, PayoutMethod, RecipientId, TransferAmount } from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { type Database, OPERATOR_ROLE, SCHEMA } from '@banking/postgres';
import { openDatabase, reasonOf } from '@banking/postgres/testing';
import { DEMO_RATES, demoReference, type RateSource, type ReferenceContent } from '@banking/reference';
import type { Claim } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { recordReference } from '../reference/reference-changes.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { runOrder } from './run-order.js';

const DEMO = demoReference();

let given: OrderWorld;
let operator: Database;

beforeAll(async () => {
  given = await orderWorld();
  const { connection } = given.world;
  operator = await openDatabase({ connection, role: OPERATOR_ROLE, schema: SCHEMA, poolSize: 1 });
});
afterAll(async () => {
  await operator.end();
  await given.world.close();
});
afterEach(() => apply(DEMO));

/** Applies a document, and lets the service read it. */
async function apply(content: ReferenceContent): Promise<number> {
  const { id } = await recordReference(operator, { content, origin: 'operator' });
  const { reference } = given.service.orders.reading;
  Object.assign(reference, { comparedAtMs: -Infinity });
  await reference.current();
  return id;
}

const PERSON = {
  beneficiaryName: 'Asha Rao',
  beneficiaryAccountType: 'Individual',
  beneficiaryAddress: '1 Road, Town',
};
const DETAILS = {
  IN: { beneficiaryAccountNumber: '00601234567890', routingCodeType1: 'IFSC', routingCodeValue1: 'ICIC0000001' },
  DE: { beneficiaryAccountNumber: 'DE89370400440532013000', routingCodeType1: 'SWIFT', routingCodeValue1: 'COBADEFF' },
} as const;

async function recipientIn(
  country: keyof typeof DETAILS,
  currencyCode: string,
  payoutMethod: PayoutMethod,
): Promise<RecipientId> {
  const data = { ...PERSON, ...DETAILS[country], destinationCountry: country, beneficiaryCountryCode: country };
  const input: AddInternationalRecipientInput = { countryCode: country, currencyCode, payoutMethod, data };
  return (await given.service.addInternationalRecipient(given.ada, input)).resource.id;
}

const AMOUNT = '100000' as TransferAmount;
const [DOLLARS, EUROS] = [1, 2];

describe('the fee of a payment', () => {
  const fixed = (fixedAmount: string) => ({
    corridors: DEMO.corridors!.map((corridor) =>
      corridor.id === 1 ? { ...corridor, fee: { fixedAmount, partsPerMillion: 0, minimumAmount: '0' } } : corridor,
    ),
  });

  it('is that of the document in force, and a quote keeps that of its time', async () => {
    const { service, ada, world } = given;
    const accountID = await given.account(DOLLARS, '1000000');
    const recipientID = await recipientIn('IN', 'INR', 'LOCAL');
    const change = await apply(fixed('111'));
    const { resource: quote } = await service.createQuote(ada, { accountID, recipientID, amount: AMOUNT });
    const feeOf = async (quoteID?: typeof quote.id) => {
      const input = given.order(accountID, recipientID, {
        amount: AMOUNT,
        purposeCode: 'IR001',
        ...(quoteID && { quoteID }),
      });
      const { resource } = await service.placeOrder(ada, input);
      return resource.edges.executions![0]!.edges.transaction!.edges.transfers![0]!.feeAmount;
    };
    expect([quote.feeAmount, await feeOf()]).toEqual(['111', '111']);

    const later = await apply(fixed('222'));

    expect([await feeOf(quote.id), await feeOf()]).toEqual(['111', '222']);
    const { rows } = await world.owner.query('select terms_change_id::int as change from quote where id = $1', [
      quote.id,
    ]);
    expect(rows).toEqual([{ change }]);
    const payouts = await world.owner.query(
      'select terms_change_id::int as change from payout order by transaction_id desc limit 3',
    );
    expect(payouts.rows).toEqual([{ change: later }, { change }, { change }]);
  });
});

describe('a payment whose corridor is closed while it is priced', () => {
  /** A source that changes the reference data before it answers, once. */
  const closing = (content: ReferenceContent): RateSource => {
    let isClosed = false;
    return {
      async rateOf(from, to) {
        if (!isClosed) await apply(content);
        isClosed = true;
        return DEMO_RATES.rateOf(from, to);
      },
    };
  };
  const CLOSED = { corridors: DEMO.corridors!.filter(({ id }) => id !== 1) };

  it('is refused, whether it is placed or due', async () => {
    const { ada, world } = given;
    const accountId = await given.account(DOLLARS, '1000000');
    const recipientID = await recipientIn('IN', 'INR', 'LOCAL');
    const serviceWith = (rates: RateSource) =>
      new LedgerBankingService(world.database, world.books, { rates, rails: SANDBOX_ROUTING });
    const order = given.order(accountId, recipientID, { amount: AMOUNT, purposeCode: 'IR001' });

    expect(await reasonOf(serviceWith(closing(CLOSED)).placeOrder(ada, order))).toBe('corridor_disabled');
    expect(await given.balanceOf(accountId)).toBe(1_000_000);

    await apply(DEMO);
    const later = { ...order, type: 'scheduled', startAt: '2090-01-01T00:00:00Z' } as const;
    const { resource } = await given.service.placeOrder(ada, later);
    const executionId = resource.edges.executions![0]!.id;
    await world.owner.query(
      `update work set due_at = now(), leased_until = now() + interval '1 min', fence = fence + 1
       where kind = 'execution' and subject_id = $1`,
      [executionId],
    );
    const claim = {
      workspaceId: ada.workspaceId,
      kind: 'execution',
      subjectId: executionId,
      fence: 1n,
    } as unknown as Claim;
    await runOrder(serviceWith(closing(CLOSED)).orders, claim);

    const { edges } = await given.service.getOrder(ada, { accountId, orderId: resource.id });
    expect(edges.executions).toMatchObject([{ status: 'failed', failureCode: 'corridor_disabled' }]);
    expect(await given.balanceOf(accountId)).toBe(1_000_000);
  });
});

describe('the purpose of a payment', () => {
  const reasonFor = async (product: number, recipientID: RecipientId, purposeCode?: string) => {
    const accountId = await given.account(product, '10000000');
    return reasonOf(
      given.service.placeOrder(given.ada, given.order(accountId, recipientID, { amount: AMOUNT, purposeCode })),
    );
  };

  it('is not needed within SEPA, where any code of the list is taken', async () => {
    const inGermany = await recipientIn('DE', 'EUR', 'LOCAL');

    expect(await reasonFor(EUROS, inGermany)).toBeUndefined();
    expect(await reasonFor(EUROS, inGermany, 'SALA')).toBeUndefined();
    expect(await reasonFor(EUROS, inGermany, 'NONE')).toBe('purpose_code_invalid');
  });

  it('is needed over SWIFT, and from another currency', async () => {
    expect(await reasonFor(EUROS, await recipientIn('DE', 'EUR', 'SWIFT'))).toBe('purpose_code_required');
    expect(await reasonFor(DOLLARS, await recipientIn('DE', 'EUR', 'LOCAL'))).toBe('purpose_code_required');
    expect(await reasonFor(DOLLARS, await recipientIn('IN', 'INR', 'LOCAL'))).toBe('purpose_code_required');
  });

  it('is needed where the country has a list of its own, and is on that list', async () => {
    const inGermany = await recipientIn('DE', 'EUR', 'LOCAL');
    await apply({
      purposes: [
        { code: 'SALA', text: 'Salary' },
        { code: 'D1', text: 'Rent', countries: ['DE'] },
      ],
    });

    expect(await reasonFor(EUROS, inGermany)).toBe('purpose_code_required');
    expect(await reasonFor(EUROS, inGermany, 'SALA')).toBe('purpose_code_invalid');
    expect(await reasonFor(EUROS, inGermany, 'D1')).toBeUndefined();
    expect(await reasonFor(DOLLARS, await recipientIn('IN', 'INR', 'LOCAL'), 'SALA')).toBeUndefined();
  });

  it('is not asked for where no code exists', async () => {
    await apply({ purposes: [] });

    expect(await reasonFor(DOLLARS, await recipientIn('IN', 'INR', 'LOCAL'))).toBeUndefined();
  });
});
