import { LRUCache } from 'lru-cache';
import {
  type ApprovalRule,
  type CurrencyCode,
  type MinorUnits,
  minorUnits,
  Refusal,
  type Rounding,
  type Timestamp,
} from '@banking/domain';
import type { PaymentContent, PayoutDestination, RailRouting } from '@banking/payouts';
import { bind, type BoundStatement, type Database, lookup, sqlStatement } from '@banking/postgres';
import type { FeeSchedule } from '@banking/reference';
import { refusedField } from './field-refusal.js';
import { BENEFICIARY_COLUMNS, RECIPIENT_COLUMNS, type RecipientFacts } from '../resources/compose-parties.js';
import { selectedOf } from '../resources/reading.js';

/** The ids that a payment refers to. */
export interface NamedPayment {
  readonly workspaceId: number;
  readonly accountId: number;
  /** Undefined for a quote that names only a target currency. */
  readonly recipientId?: number | undefined;
  readonly quoteId?: number | undefined;
  readonly externalReference?: string | undefined;
}

/** The facts of a payment. What other orders may change is read again under the locks. */
export interface PaymentFacts extends RecipientFacts {
  /** The clock of the database in RFC 3339; in a sandbox that of the workspace if it is ahead. Only runs of orders depend on it. */
  readonly now: string;
  readonly payer_currency_id: number | null;
  readonly payer_currency: CurrencyCode | null;
  readonly payer_status: string | null;
  readonly recipient_kind: 'internal' | 'international' | null;
  readonly recipient_currency_id: number;
  readonly recipient_currency: CurrencyCode;
  /** What the payment covers of its name and account, in hex. */
  readonly recipient_person_digest: string;
  /** As it is shown to those who approve. */
  readonly recipient_name: string;
  readonly recipient_account_code: string;
  /** The bank of an international recipient. */
  readonly routing_code_type: string | null;
  readonly routing_code: string | null;
  /** Whether its address has a town of its own. Null for an internal recipient. */
  readonly has_town: boolean | null;
  readonly corridor_id: bigint | null;
  readonly corridor_enabled: boolean;
  readonly payout_method: string;
  readonly destination_country: string;
  readonly limit_currency: CurrencyCode;
  readonly minimum_amount: bigint;
  readonly maximum_amount: bigint;
  /** Null without a fee, as the next two. */
  readonly fee_fixed_amount: bigint | null;
  readonly fee_parts_per_million: number | null;
  readonly fee_minimum_amount: bigint | null;
  readonly fee_maximum_amount: bigint | null;
  /** The document that stated the terms of the corridor. */
  readonly terms_change_id: bigint | null;
  readonly swift_minimum: bigint | null;
  /** The workspace and account of an internal recipient. */
  readonly payee_workspace_id: bigint | null;
  readonly payee_account_id: bigint | null;
  /** Whether no workspace that this database serves has the account of an internal recipient, and there are other databases. */
  readonly payee_is_elsewhere: boolean;
  /** The currencies of the limits of the workspace. Null if it has no limits. */
  readonly limit_currency_ids: readonly number[] | null;
  /** Since when the workspace has the recipient, in seconds. */
  readonly recipient_age_s: number;
  /** The approval rules in force. Null for a workspace that never had rules. */
  readonly approval_rules: readonly ApprovalRule[] | null;
  readonly quote: QuoteFacts | null;
  readonly reference_is_taken: boolean;
}

/** A quote. Digits are text. */
export interface QuoteFacts {
  readonly accountId: number;
  readonly recipientId: number | null;
  readonly amount: string;
  readonly feeAmount: string | null;
  readonly targetCurrencyId: number;
  readonly targetAmount: string;
  readonly rate: string;
  readonly rateSource: string | null;
  readonly rateAsOf: Timestamp | null;
  readonly remainderNumerator: string;
  readonly remainderDenominator: string;
  /** The amount that the caller chose. */
  readonly fixedSide: FixedAmount['side'];
  /** The document that stated the terms of the corridor. */
  readonly termsChangeId: number | null;
  readonly isExpired: boolean;
  readonly isUsed: boolean;
}

const factsBy = (clock: string): string =>
  `select rfc3339(${clock}) as now,
          a.currency_id as payer_currency_id, ac.code as payer_currency, a.status as payer_status,
          ${selectedOf([RECIPIENT_COLUMNS, 'r'], [BENEFICIARY_COLUMNS, 'n'])},
          r.kind as recipient_kind, r.currency_id as recipient_currency_id, rc.code as recipient_currency,
          encode(r.person_digest, 'hex') as recipient_person_digest, r.name as recipient_name, r.account_code as recipient_account_code,
          n.data ->> 'routingCodeType1' as routing_code_type, n.data ->> 'routingCodeValue1' as routing_code,
          n.data ? 'beneficiaryTownName' as has_town,
          r.corridor_id, k.enabled as corridor_enabled, k.payout_method, l.code as limit_currency, k.minimum_amount, k.maximum_amount,
          k.fee_fixed_amount, k.fee_parts_per_million, k.fee_minimum_amount, k.fee_maximum_amount, k.change_id as terms_change_id,
          k.destination_country,
          rc.swift_minimum_withdrawal_amount as swift_minimum,
          o.workspace_id as payee_workspace_id, o.account_id as payee_account_id,
          case when r.kind is distinct from 'internal' then false
               when o.code is null then exists (select from cell_identity)
               else exists (select from cell_workspace c where c.workspace_id = o.workspace_id and c.state = 'gone') end as payee_is_elsewhere,
          (select m.currency_ids from limit_list m where m.workspace_id = u.w and m.limit_count > 0 limit 1) as limit_currency_ids,
          coalesce(extract(epoch from statement_timestamp() - r.created_at), 0)::float8 as recipient_age_s,
          approval_rules_in_force(u.w) as approval_rules,
          case when q.id is not null then json_build_object(
            'accountId', q.account_id, 'recipientId', q.recipient_id, 'amount', q.amount::text, 'feeAmount', q.fee_amount::text,
            'targetCurrencyId', q.target_currency_id, 'targetAmount', q.target_amount::text, 'rate', q.rate,
            'rateSource', q.rate_source, 'rateAsOf', rfc3339(q.rate_as_of),
            'remainderNumerator', q.remainder_numerator::text, 'remainderDenominator', q.remainder_denominator::text,
            'fixedSide', q.fixed_side, 'termsChangeId', q.terms_change_id,
            'isExpired', q.expires_at <= statement_timestamp(),
            'isUsed', exists (select from quote_use s where s.workspace_id = q.workspace_id and s.quote_id = q.id)) end as quote,
          exists (select from order_of_reference(u.w, u.reference)) as reference_is_taken
   from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) with ordinality u(w, a, r, q, reference, n)
   left join ${lookup(`select * from account p where p.workspace_id = u.w and p.id = u.a and p.kind = 'customer'`)} a on true
   left join currency ac on ac.id = a.currency_id
   left join ${lookup('select * from recipient l where l.workspace_id = u.w and l.id = u.r and l.forgotten_at is null')} r on true
   left join lateral beneficiary_of(r.workspace_id, case r.kind when 'international' then r.id end) n on true
   left join currency rc on rc.id = r.currency_id
   left join corridor k on k.id = r.corridor_id
   left join currency l on l.id = k.limit_currency_id
   left join account_code o on r.kind = 'internal' and o.code = r.account_code
   left join ${lookup('select * from quote l where l.workspace_id = u.w and l.id = u.q')} q on true
   order by u.n`;

/** The rounding of the arriving amount. A conversion never pays out more than it takes in, whatever amount the caller chooses. */
export const CONVERSION_ROUNDING = 'down' satisfies Rounding;

const READ_FACTS = sqlStatement<PaymentFacts>('read_payment_facts', factsBy('statement_timestamp()'));

const READ_SANDBOX_FACTS = sqlStatement<PaymentFacts>(
  'read_sandbox_payment_facts',
  factsBy('greatest(statement_timestamp(), (select c.now from sandbox_clock c where c.workspace_id = u.w))'),
);

/** The facts of payments, in their order. */
export const factsOf = (payments: readonly NamedPayment[], isSandbox = false): BoundStatement<PaymentFacts> =>
  bind(
    isSandbox ? READ_SANDBOX_FACTS : READ_FACTS,
    payments.map(({ workspaceId }) => workspaceId),
    payments.map(({ accountId }) => accountId),
    payments.map(({ recipientId }) => recipientId ?? null),
    payments.map(({ quoteId }) => quoteId ?? null),
    payments.map(({ externalReference }) => externalReference ?? null),
  );

/** Facts with a text that changes with them, but for those of the account, the quote, the reference and the clock. */
export interface VersionedFacts extends PaymentFacts {
  readonly versions: string;
}

const READ_VERSIONS = sqlStatement<{ readonly place: number; readonly versions: string }>(
  'read_payment_versions',
  'select place, versions from payment_versions($1, $2)',
);

/** The versions of what payments depend on besides their accounts. `place` is the index of the payment. */
export const versionsOf = (
  payments: readonly Pick<NamedPayment, 'workspaceId' | 'recipientId'>[],
): BoundStatement<{ readonly place: number; readonly versions: string }> =>
  bind(
    READ_VERSIONS,
    payments.map(({ workspaceId }) => workspaceId),
    payments.map(({ recipientId }) => recipientId ?? null),
  );

/**
 * Reads the facts of payments in one round trip, in their order. The versions are read before: a change between the two is seen as one
 * that came later.
 */
export async function readPaymentFacts(
  database: Database,
  payments: readonly NamedPayment[],
  isSandbox: boolean,
): Promise<readonly VersionedFacts[]> {
  const workspaces = [...new Set(payments.map(({ workspaceId }) => workspaceId))];
  const reads = [versionsOf(payments), factsOf(payments, isSandbox)] as const;
  const [versions, facts] = await database.pipeline({ workspaces }, reads);
  const versionAt = new Map(versions.map((row) => [row.place, row.versions]));
  return facts.map((row, index) => ({ ...row, versions: versionAt.get(index) ?? '' }));
}

/** The amount of a payment that the caller chose. The other amount follows from it. */
export interface FixedAmount {
  /** `source`: the amount that leaves the account, without the fee. `target`: the amount that arrives. */
  readonly side: 'source' | 'target';
  /** At least 1, in minor units of the currency of its side. */
  readonly value: MinorUnits;
  /** The field of the request that a refusal refers to. */
  readonly field: 'amount' | 'targetAmount';
}

/** Each step of a fee is rounded up. The fee is never below its schedule. */
export const FEE_ROUNDING: Rounding = 'up';

/** The terms of a corridor. Its limits are inclusive, in minor units of `limitCurrency`. */
export interface PaidCorridor {
  readonly id: number;
  readonly enabled: boolean;
  readonly payoutMethod: string;
  readonly limitCurrency: CurrencyCode;
  readonly minimum: MinorUnits;
  readonly maximum: MinorUnits;
  /** Undefined if payments are free. */
  readonly fee?: FeeSchedule;
  /** The minimum of the correspondent banks, in minor units of the recipient's currency. */
  readonly swiftMinimum?: MinorUnits;
}

/** The currencies and the corridor of a payment. A payment to an internal account has no corridor. */
export interface PaymentParties {
  readonly from: CurrencyCode;
  readonly to: CurrencyCode;
  readonly recipient?: { readonly corridor?: PaidCorridor };
}

/** The internal account that is paid: in this database, or in another one of the deployment. */
export type Payee = PayeeHere | PayeeElsewhere;

export interface PayeeHere {
  readonly workspaceId: number;
  readonly accountId: number;
}

/** It is paid by a crossing. */
interface PayeeElsewhere {
  readonly accountCode: string;
}

export const isElsewhere = (payee: Payee): payee is PayeeElsewhere => 'accountCode' in payee;

/** A payout is pending until the network reports its final status, and a crossing until it has arrived. */
export const statusOfPayment = (payee: Payee | undefined): 'completed' | 'pending' =>
  payee && !isElsewhere(payee) ? 'completed' : 'pending';

/** @throws Refusal `account_not_found`, `account_disabled` */
export function payerOf(facts: PaymentFacts): { readonly from: CurrencyCode; readonly currencyId: number } {
  const { payer_currency: from, payer_currency_id: currencyId } = facts;
  if (from === null || currencyId === null) throw new Refusal('account_not_found');
  if (facts.payer_status !== 'enabled') throw new Refusal('account_disabled');
  return { from, currencyId };
}

/**
 * The parties of a payment, for quotes and orders. Without a payee it is a payout, which needs a payment network that serves its corridor:
 * without one it would be debited and never leave.
 *
 * @throws Refusal `account_not_found`, `account_disabled`, `recipient_invalid`, `payouts_unavailable`
 */
export function partiesOf(
  facts: PaymentFacts,
  accountId: number,
  rails: RailRouting,
): PaymentParties & { readonly payee?: Payee; readonly rail?: string } {
  const { from } = payerOf(facts);
  const payee = payeeOf(facts, accountId);
  const rail = payee ? undefined : railOf(facts, rails);
  const corridor = corridorOf(facts);
  return {
    from,
    to: facts.recipient_currency,
    recipient: { ...(corridor && { corridor }) },
    ...(payee && { payee }),
    ...(rail !== undefined && { rail }),
  };
}

/** The network of a payout, which can carry it. */
function railOf(facts: PaymentFacts, rails: RailRouting): string {
  const destination = destinationOf(facts);
  const rail = rails.railFor(destination);
  if (rail === undefined) throw new Refusal('payouts_unavailable');
  if (facts.has_town !== true && rails.needsPostalAddress(destination)) throw TOWN_MISSING();
  const fault = rails.faultOf(destination, creditorOf(facts));
  if (fault !== undefined) throw invalidRecipient(`${fault} Add the recipient again with other details.`);
  return rail;
}

const destinationOf = (facts: PaymentFacts): PayoutDestination => ({
  country: facts.destination_country,
  currency: facts.recipient_currency,
  payoutMethod: facts.payout_method,
});

function creditorOf(facts: PaymentFacts): PaymentContent['creditor'] {
  const { routing_code_type: type, routing_code: code } = facts;
  return {
    name: facts.recipient_name,
    account: facts.recipient_account_code,
    bankCountry: facts.destination_country,
    routing: type !== null && code !== null ? { type, code } : undefined,
  };
}

function payeeOf(facts: PaymentFacts, accountId: number): Payee | undefined {
  if (facts.recipient_kind === null) throw invalidRecipient('The workspace has no recipient with this id.');
  if (facts.recipient_kind === 'international') return undefined;
  if (facts.payee_is_elsewhere) return { accountCode: facts.recipient_account_code };
  if (facts.payee_account_id === null) throw invalidRecipient('The account of the recipient does not exist any more.');
  const payee = { workspaceId: Number(facts.payee_workspace_id), accountId: Number(facts.payee_account_id) };
  if (payee.accountId === accountId)
    throw invalidRecipient('The recipient is the paying account itself. Name another recipient.');
  return payee;
}

/** For a recipient of a time when its corridor had another payment network. */
const TOWN_MISSING = () =>
  invalidRecipient(
    'The payment network of the corridor requires the town of the beneficiary. Add the recipient again with beneficiaryTownName.',
  );

/** The refusal for a recipient that cannot be paid. */
export const invalidRecipient = (message: string): Refusal => refusedField('recipientID', 'recipient_invalid', message);

function corridorOf(facts: PaymentFacts): PaidCorridor | undefined {
  if (facts.corridor_id === null) return undefined;
  return {
    id: Number(facts.corridor_id),
    enabled: facts.corridor_enabled,
    payoutMethod: facts.payout_method,
    limitCurrency: facts.limit_currency,
    minimum: minorUnits(facts.minimum_amount),
    maximum: minorUnits(facts.maximum_amount),
    ...feeOf(facts),
    ...(facts.swift_minimum !== null && { swiftMinimum: minorUnits(facts.swift_minimum) }),
  };
}

function feeOf(facts: PaymentFacts): Pick<PaidCorridor, 'fee'> {
  const { fee_fixed_amount: fixed, fee_parts_per_million: parts, fee_minimum_amount: minimum } = facts;
  if (fixed === null || parts === null || minimum === null) return {};
  const fee = {
    currency: facts.limit_currency,
    fixed: minorUnits(fixed),
    partsPerMillion: BigInt(parts),
    minimum: minorUnits(minimum),
  };
  return {
    fee: { ...fee, ...(facts.fee_maximum_amount !== null && { maximum: minorUnits(facts.fee_maximum_amount) }) },
  };
}

/** Whether a payment stays within a country or within SEPA: it leaves over the clearing of its destination, in the account's currency. */
export const isDomestic = ({ payout_method, payer_currency_id, recipient_currency_id }: PaymentFacts): boolean =>
  payout_method === 'LOCAL' && payer_currency_id === recipient_currency_id;

/** About 2 kB each. */
const REMEMBERED_MAX = 4_000;

/**
 * The facts of recent payments, so that an order is prepared without a round trip of its own. They may be out of date: compare their
 * versions behind the locks.
 */
export class RememberedFacts {
  private readonly facts = new LRUCache<string, VersionedFacts>({ max: REMEMBERED_MAX });

  /** The facts of an earlier payment of the same account to the same recipient. */
  recall(payment: NamedPayment): VersionedFacts | undefined {
    return this.facts.get(nameOf(payment));
  }

  /** @param facts of a payment without a quote */
  remember(payment: NamedPayment, facts: VersionedFacts): void {
    this.facts.set(nameOf(payment), { ...facts, reference_is_taken: false });
  }
}

const nameOf = ({ workspaceId, accountId, recipientId }: NamedPayment) =>
  `${workspaceId}/${accountId}/${recipientId ?? ''}`;
