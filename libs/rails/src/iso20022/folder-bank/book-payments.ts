import { outcomeFor, sandboxMessage } from '@banking/payouts';
import { decimalsOf, parseAmount } from '@banking/domain';
import type {
  AccountState,
  BankState,
  DueStep,
  Entry,
  EntryDetail,
  MessageState,
  PaymentState,
  StatusState,
} from './bank-state.js';
import { type Reason, type Verdict, withoutZeros } from './check-payments.js';
import type { Institution, Party, PaymentMessage } from './read-payment-message.js';

/** The end of a creditor's account whose payment comes back after its completion. The other ends are those of the sandbox network. */
const RETURNED = '9025';
const RETURN = { afterMs: 8_000, reason: 'AC04' };

/** What an account holds when the bank opens it, in whole units of its currency. */
export type Opening = string;

/** An account of the bank, which opens those that it does not know. @param on ISO 8601 date */
export function accountIn(
  state: BankState,
  {
    id,
    isIban,
    currency,
    holder = '',
    bic,
  }: Partial<Pick<AccountState, 'holder' | 'bic'>> & Pick<AccountState, 'id' | 'isIban' | 'currency'>,
  opening: Opening,
  on: string,
): number {
  const known = state.accounts.findIndex((account) => account.id === id && account.currency === currency);
  if (known !== -1) return known;
  const [whole = '', fraction = ''] = opening.split('.');
  const decimals = decimalsOf(currency);
  const balance = parseAmount(
    decimals === 0 ? whole : `${whole}.${fraction.slice(0, decimals).padEnd(decimals, '0')}`,
    currency,
  );
  state.accounts.push({
    ...{ id, isIban, currency, holder, bic, balance: balance.toString(), sequence: 0 },
    ...{ closing: balance.toString(), closedOn: on, unstated: [] },
  });
  moveOutside(state, currency, -balance);
  return state.accounts.length - 1;
}

function moveOutside(state: BankState, currency: string, amount: bigint): void {
  state.outside[currency] = (BigInt(state.outside[currency] ?? '0') + amount).toString();
}

/** Books an entry: what one side gets, the other gives. */
export function book(state: BankState, place: number, entry: Entry): void {
  const account = state.accounts[place]!;
  const amount = entry.direction === 'credit' ? BigInt(entry.amount) : -BigInt(entry.amount);
  account.balance = (BigInt(account.balance) + amount).toString();
  account.unstated.push(entry);
  moveOutside(state, account.currency, -amount);
}

/** A number that the bank gives once. */
export function nextReference(state: BankState): string {
  state.lastNumber += 1;
  return `${state.id}${String(state.lastNumber).padStart(7, '0')}`;
}

/** Takes a message that has no fault as a whole. Returns its payments, and what the bank will report of them and when. */
export function acceptMessage(
  state: BankState,
  message: PaymentMessage,
  verdict: Verdict,
  { now, delayMs, opening }: { readonly now: Date; readonly delayMs: number; readonly opening: Opening },
): { readonly taken: MessageState; readonly steps: readonly DueStep[] } {
  const on = now.toISOString().slice(0, 10);
  const steps = new Steps(message, now.getTime(), delayMs);
  const payments = message.groups.flatMap((group, place) => {
    const { reason, payments: reasons } = verdict.groups[place]!;
    const rejected = reasons.map((own) => reason ?? own);
    if (reason) steps.rejectGroup(group.id, reason);
    return group.payments.map((payment, index): PaymentState => {
      const fault = rejected[index];
      const { debtor, debtorBank } = group;
      const account =
        fault === undefined
          ? accountIn(
              state,
              { ...debtor.account!, currency: payment.currency, holder: debtor.name ?? '', bic: debtorBank.bic },
              opening,
              on,
            )
          : -1;
      steps.add(payment.creditor.account?.id ?? '', fault, reason !== undefined);
      return {
        ...{
          group: place,
          account,
          endToEndId: payment.endToEndId,
          instructionId: payment.instructionId,
          uetr: payment.uetr,
        },
        amount: fault === undefined ? parseAmount(withoutZeros(payment.amount), payment.currency).toString() : '0',
        isSepa: payment.serviceLevel === 'SEPA',
        creditor: sideOf(payment.creditor, payment.creditorBank),
        ...{ remittance: payment.remittance, creditorReference: payment.creditorReference },
        ...{ isDebited: false, isReturned: false },
      };
    });
  });
  const groups = message.groups.map(({ id, isBatch }) => ({ id, isBatch }));
  return { taken: { name: message.name, groups, payments }, steps: steps.list() };
}

const sideOf = ({ name, account }: Party, bank: Institution | undefined): EntryDetail['party'] => ({
  ...{ name, account: account?.id, isIban: account?.isIban ?? false, bic: bank?.bic },
});

/** Collects what is reported at the same time. */
class Steps {
  private readonly later = new Map<
    string,
    { afterMs: number; payments: DueStep['payments'][number][]; returns: DueStep['returns'][number][] }
  >();
  private readonly groups: DueStep['groups'][number][] = [];
  private readonly atOnce: (StatusState | undefined)[] = [];

  constructor(
    private readonly message: PaymentMessage,
    private readonly at: number,
    private readonly delayMs: number,
  ) {}

  rejectGroup(id: string, { code, text }: Reason): void {
    this.groups.push({ id, status: 'RJCT', reason: code, text });
  }

  /** The next payment. @param account of its creditor */
  add(account: string, fault: Reason | undefined, isOfGroup: boolean): void {
    const payment = this.atOnce.length;
    if (fault) {
      this.atOnce.push(isOfGroup ? undefined : { status: 'RJCT', reason: fault.code, text: fault.text });
      return;
    }
    const times = new Map<number, number>();
    let first: StatusState = { status: 'ACTC' };
    for (const { afterMs, status, reasonCode } of outcomeFor(account).events) {
      const reported = { ...statusOf(status, reasonCode), payment };
      if (afterMs === 0) {
        first = statusOf(status, reasonCode);
        continue;
      }
      const repeats = times.get(afterMs) ?? 0;
      times.set(afterMs, repeats + 1);
      this.stepAt(afterMs, repeats).payments.push(reported);
    }
    this.atOnce.push(first);
    if (account.endsWith(RETURNED)) this.stepAt(RETURN.afterMs, 0).returns.push({ payment, reason: RETURN.reason });
  }

  list(): readonly DueStep[] {
    const { id: messageId, name: message } = this.message;
    const rejected = this.atOnce.filter((status) => status?.status !== 'ACTC').length;
    const isWhole = rejected === 0;
    const first: DueStep = {
      ...{ at: this.at, messageId, message, groups: this.groups, returns: [] },
      group: { status: isWhole ? 'ACTC' : rejected === this.atOnce.length ? 'RJCT' : 'PART' },
      payments: isWhole ? [] : this.atOnce.flatMap((status, payment) => (status ? [{ ...status, payment }] : [])),
    };
    const inOrder = [...this.later.values()].sort((one, other) => one.afterMs - other.afterMs);
    const later = inOrder.map(({ afterMs, payments, returns }): DueStep => ({
      ...{
        at: this.at + Math.round((afterMs * this.delayMs) / 1_000),
        messageId,
        message,
        groups: [],
        payments,
        returns,
      },
    }));
    return [first, ...later];
  }

  private stepAt(afterMs: number, repeats: number) {
    const key = `${afterMs} ${repeats}`;
    const step = this.later.get(key) ?? { afterMs, payments: [], returns: [] };
    this.later.set(key, step);
    return step;
  }
}

/** A bank reports the debit of its own account (`ACSC`), and seldom the credit at the other bank (`ACCC`). */
const statusOf = (status: string, reason: string | undefined): StatusState => ({
  status: status === 'ACCC' ? 'ACSC' : status,
  reason,
  text: sandboxMessage(status, reason),
});

/** A step as it happens: an account without the money rejects what would be settled. Returns what it books, by account. */
export function carryOut(
  state: BankState,
  step: DueStep,
  on: string,
): { readonly reported: DueStep; readonly entries: ReadonlyMap<number, readonly Entry[]> } {
  const message = state.messages[step.messageId];
  if (!message) return { reported: step, entries: new Map() };
  const debits: PaymentState[] = [];
  const reserved = new Map<number, bigint>();
  const payments = step.payments.map((status) => {
    const payment = message.payments[status.payment]!;
    if (status.status !== 'ACSC' || payment.isDebited) return status;
    const total = (reserved.get(payment.account) ?? 0n) + BigInt(payment.amount);
    if (total > BigInt(state.accounts[payment.account]!.balance)) {
      return { payment: status.payment, status: 'RJCT', reason: 'AM04', text: 'The account does not hold the amount.' };
    }
    reserved.set(payment.account, total);
    payment.isDebited = true;
    debits.push(payment);
    return status;
  });
  const credits = step.returns.flatMap(({ payment: place, reason }) => {
    const payment = message.payments[place]!;
    if (!payment.isDebited || payment.isReturned) return [];
    payment.isReturned = true;
    return [{ payment, reason }];
  });

  const entries = new Map<number, Entry[]>();
  const add = (account: number, entry: Entry) => {
    book(state, account, entry);
    entries.set(account, [...(entries.get(account) ?? []), entry]);
  };
  const detailsOf = (some: readonly PaymentState[]) =>
    some.map((payment) => detailOf(payment, step.messageId, message));
  for (const together of batchesOf(debits, message)) {
    add(together[0]!.account, entryOf(state, 'debit', on, together[0]!.isSepa, detailsOf(together)));
  }
  for (const { payment, reason } of credits) {
    const details = detailsOf([payment]).map((detail) => ({ ...detail, returnReason: reason }));
    add(payment.account, entryOf(state, 'credit', on, payment.isSepa, details));
  }
  return { reported: { ...step, payments }, entries };
}

/** The payments of a group with batch booking are one entry. */
function batchesOf(payments: readonly PaymentState[], { groups }: MessageState): readonly (readonly PaymentState[])[] {
  const batches = new Map<string, PaymentState[]>();
  for (const payment of payments) {
    const { group, account, endToEndId } = payment;
    const key = groups[group]!.isBatch ? `${group} ${account}` : `${group} ${account} ${endToEndId}`;
    batches.set(key, [...(batches.get(key) ?? []), payment]);
  }
  return [...batches.values()];
}

export function entryOf(
  state: BankState,
  direction: Entry['direction'],
  on: string,
  isSepa: boolean,
  details: readonly EntryDetail[],
): Entry {
  const amount = details.reduce((total, detail) => total + BigInt(detail.amount), 0n);
  return { reference: nextReference(state), direction, amount: amount.toString(), on, isSepa, details };
}

const detailOf = (payment: PaymentState, messageId: string, message: MessageState): EntryDetail => ({
  amount: payment.amount,
  ...{ endToEndId: payment.endToEndId, instructionId: payment.instructionId, uetr: payment.uetr },
  ...{ messageId, groupId: message.groups[payment.group]!.id },
  ...{ party: payment.creditor, remittance: payment.remittance, creditorReference: payment.creditorReference },
});
