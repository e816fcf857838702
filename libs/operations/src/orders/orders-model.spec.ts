import type { AccountId, RecipientId, TransferAmount } from '@banking/domain';
import { recordEvent } from '@banking/payouts';
import * as fc from 'fast-check';
import { verifyEvents } from '../testing/event-world.js';
import { expectBooksInOrder } from '../testing/order-world.js';
import { reasonOf, testOrProve } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';

const RUNS = testOrProve(60, 300);
const COMMANDS_MAX = testOrProve(14, 40);
const ABROAD = 100_000n;
const seed = Date.now() & 0x7fffffff;
let { world, service, ada } = {} as OrderWorld;
let far: RecipientId;
let fee: bigint;

beforeAll(async () => {
  ({ world, service, ada } = await orderWorld());
  far = world.demo.recipients['international'] as RecipientId;
  const payer = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  const { resource } = await service.createQuote(ada, { accountID: payer, recipientID: far, amount: digits(ABROAD) });
  fee = BigInt(resource.feeAmount ?? '');
  expect(fee).toBeGreaterThan(0n);
});
afterAll(() => world.close());

const digits = (amount: bigint) => amount.toString() as TransferAmount;

/** A model of the books: three accounts and their payouts. */
class Model {
  readonly holds = [0n, 0n, 0n];
  readonly isOff = [false, false, false];
  readonly underWay: { readonly from: number; readonly transactionId: number }[] = [];

  fund(to: number, amount: bigint): string | undefined {
    if (this.isOff[to]) return 'account_disabled';
    this.holds[to]! += amount;
    return undefined;
  }

  pay(from: number, to: number, amount: bigint): string | undefined {
    if (this.isOff[from]) return 'account_disabled';
    if (to === from) return 'recipient_invalid';
    if (this.holds[from]! < amount) return 'insufficient_funds';
    if (this.isOff[to]) return 'recipient_invalid';
    this.holds[from]! -= amount;
    this.holds[to]! += amount;
    return undefined;
  }

  send(from: number): string | undefined {
    if (this.isOff[from]) return 'account_disabled';
    if (this.holds[from]! < ABROAD + fee) return 'insufficient_funds';
    this.holds[from]! -= ABROAD + fee;
    return undefined;
  }
}

interface Real {
  readonly accounts: readonly AccountId[];
  readonly recipients: readonly RecipientId[];
}
type Command = fc.AsyncCommand<Model, Real>;

/** A command that runs on the service and on the model, and compares both. */
const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const place = fc.nat(2);
const fund = fc.tuple(place, fc.integer({ min: 1, max: 300_000 })).map(([to, amount]) =>
  command(`fund(${to}, ${amount})`, async (model, { accounts }) => {
    const reason = await reasonOf(
      service.fundAccount(ada, { accountId: accounts[to]!, amount: digits(BigInt(amount)) }),
    );
    expect(reason).toBe(model.fund(to, BigInt(amount)));
  }),
);
const pay = fc.tuple(place, place, fc.integer({ min: 1, max: 200_000 })).map(([from, to, amount]) =>
  command(`pay(${from}, ${to}, ${amount})`, async (model, { accounts, recipients }) => {
    const input = {
      accountId: accounts[from]!,
      recipientID: recipients[to]!,
      amount: digits(BigInt(amount)),
      type: 'instant',
    } as const;
    expect(await reasonOf(service.placeOrder(ada, input))).toBe(model.pay(from, to, BigInt(amount)));
  }),
);
const send = place.map((from) =>
  command(`send(${from})`, async (model, { accounts }) => {
    const input = {
      accountId: accounts[from]!,
      recipientID: far,
      amount: digits(ABROAD),
      type: 'instant',
      purposeCode: 'IR001',
    } as const;
    const placing = service.placeOrder(ada, input);
    const reason = await reasonOf(placing);
    expect(reason).toBe(model.send(from));
    if (reason !== undefined) return;
    const transactionId = (await placing).resource.edges.executions?.[0]?.edges.transaction?.id ?? 0;
    model.underWay.push({ from, transactionId });
  }),
);
const receive = fc.tuple(fc.boolean(), fc.nat()).map(([isCredited, which]) =>
  command(`receive(${isCredited ? 'ACCC' : 'RJCT'}, ${which})`, async (model) => {
    const { underWay } = model;
    if (underWay.length === 0) return;
    const [{ from, transactionId } = { from: 0, transactionId: 0 }] = underWay.splice(which % underWay.length, 1);
    const event = { providerEvent: `event-${transactionId}`, reasonCode: 'AC04' };
    const { workspaceId } = ada;
    if (isCredited) await recordEvent(world.books, workspaceId, transactionId, { ...event, status: 'ACCC' });
    else {
      await recordEvent(world.books, workspaceId, transactionId, { ...event, status: 'RJCT' });
      model.holds[from]! += ABROAD;
    }
  }),
);
const turn = place.map((which) =>
  command(`turn(${which})`, async (model, { accounts }) => {
    model.isOff[which] = !model.isOff[which];
    const status = model.isOff[which] ? 'disabled' : 'enabled';
    await service.changeAccount(ada, { accountId: accounts[which]!, status });
  }),
);

async function open(): Promise<{ model: Model; real: Real }> {
  const opened = await Promise.all([0, 1, 2].map(() => service.openAccount(ada, { productID: 1 as never })));
  const codes = opened.map(({ resource }) => resource.code ?? '');
  const kept = await Promise.all(codes.map((accountCode) => service.addInternalRecipient(ada, { accountCode })));
  return {
    model: new Model(),
    real: {
      accounts: opened.map(({ resource }) => resource.id),
      recipients: kept.map(({ resource }) => resource.id),
    },
  };
}

describe(`orders and a model of the books (seed ${seed})`, () => {
  it(`agree after each command of ${RUNS} random runs`, async () => {
    // The default size would leave nearly all runs below 10 commands.
    const doings = fc.commands([fund, pay, pay, send, receive, turn], { maxCommands: COMMANDS_MAX, size: 'max' });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(doings, async (commands) => {
        const { model, real } = await open();
        count += [...commands].length;
        await fc.asyncModelRun(() => ({ model, real }), commands);
        const held = await Promise.all(real.accounts.map((accountId) => service.getAccount(ada, { accountId })));
        expect(held.map(({ edges }) => BigInt(edges.balances[0]?.amount as unknown as number))).toEqual(model.holds);
      }),
      { numRuns: RUNS, seed },
    );
    expect(count).toBeGreaterThan((RUNS * COMMANDS_MAX) / 4);
    const all = Object.values(world.demo.workspaces);
    await expectBooksInOrder(world.database, all);
    expect(await verifyEvents(world)).toEqual([]);
  }, 600_000);
});
