import { add, type MinorUnits, minorUnits } from '@banking/domain';
import { checkApprovals, EXCEEDED_LIMITS, outcomesOf, type AcceptedRequest, type Decision } from '../approvals.js';
import { injectFaults, type PlannedKind } from '../faults.js';
import { type Answer, callUntilDone, type Endpoint, parsedOf, sendUntilDone } from '../orders.js';
import type { Random } from '../random.js';
import { type RunContext, type Scenario, violationsOf } from '../scenario.js';
import type { Server } from '../servers.js';
import { wait } from '../wait.js';
import { type LoadAccount, PAYOUT_AMOUNT, Preparation } from '../world.js';
import { whileConnected } from './load.js';

const APP = 'Northwind Treasury';
/** Of the demo data; places all orders. */
const MAKER = 'ada@northwind.example';
/** Both must approve. The second one is added. */
const APPROVERS = ['dana@northwind.example', 'fay@northwind.example'] as const;

/** Minor units of EUR. Orders above need approvals. */
const BOUND = 1_000;
/** An order below the bound. Each round, 16 of them meet a limit that is raised by 6. */
const AMOUNT = '100';
const ROUND = { orders: 16, allowed: 6, amount: minorUnits(600n) };
const MAKERS = 3;
/** Of 10 requests, so many are payouts, and so many add a recipient. The others are orders between accounts. */
const SHARES = { payout: 2, recipient: 3 };
/** One of so many requests is withdrawn by its maker, and one of so many decisions is a rejection. */
const WITHDRAWN_OF = 8;
const REJECTED_OF = 12;
const PAUSE_MS = [50, 300] as const;

const FAULTS: readonly PlannedKind[] = [
  'kill-api',
  'kill-worker',
  'kill-api-at-commit',
  'kill-api-at-decision',
  'kill-worker-at-run',
  'kill-worker-at-outcome',
  'kill-worker-at-submission',
  'kill-postmaster',
];

/**
 * A workspace with limits and approval rules. Clients place more orders than a limit allows, which is raised each round; makers send
 * orders and recipients that two people must approve, and some that exceed a limit when they are carried out. Services and database are
 * killed, also at a decision, at the payment of an approved order and at the outcome of a request.
 */
export const limitsAndApprovals: Scenario = {
  ...{ name: 'limits-and-approvals', faults: FAULTS, phase: 'other', minutesMax: 6 },
  async run(context) {
    const { cluster, signal, tally } = context;
    const world = await prepare(context);
    const { workspaceId } = world;
    const people = new People(context, world);
    const [rounds] = await Promise.all([
      exceedLimits(context, world),
      injectFaults(context, FAULTS, { afterMs: [200, 1_500], lastsMs: [500, 2_000] }),
      whileConnected(cluster.database, signal, async (client) => {
        const { rows } = await client.query<Exceeded>(EXCEEDED_LIMITS, [workspaceId]);
        tally.violate('limits', ...rows.map(({ fault }) => fault));
      }),
      people.run(),
    ]);
    const check = async () => {
      const exceeded = await cluster.database.query<Exceeded>(EXCEEDED_LIMITS, [workspaceId]);
      const details = [...exceeded.map(({ fault }) => fault), ...(await checkUse(cluster.database, world, rounds))];
      const faults = await checkApprovals(
        cluster.database,
        { ...world, prefix: context.prefix, approvals: APPROVERS.length },
        people,
      );
      tally.notes.push(await outcomesOf(cluster.database, workspaceId));
      return [...violationsOf('limits', details), ...violationsOf('approvals', faults)];
    };
    return { owned: [world.limited], check };
  },
};

interface Exceeded {
  readonly fault: string;
}

interface World {
  readonly workspaceId: number;
  /** Pays small orders up to its limit. */
  readonly limited: LoadAccount;
  /** Pays what was approved, a number of orders at most. */
  readonly reviewed: LoadAccount;
  readonly recipientId: number;
  readonly abroadId: number;
}

async function prepare({ cluster, prefix }: RunContext): Promise<World> {
  const add = ['workspace', 'add', prefix, '--app', APP, '--time-zone', noonZone(), '--json'];
  const { id: workspaceId } = JSON.parse(await cluster.require(add)) as { readonly id: number };
  await cluster.require(['user', 'add', APPROVERS[1], '--app', APP]);
  const grant = (email: string, ...roles: string[]) =>
    cluster.require(['grant', 'add', email, '--workspace', String(workspaceId), '--role', ...roles]);
  await grant(MAKER, 'admin', 'member');
  for (const approver of APPROVERS) await grant(approver, 'approver');
  const preparation = new Preparation(cluster.endpoint, workspaceId);
  const [limited, reviewed, payee] = [
    await preparation.openAccount(),
    await preparation.openAccount(),
    await preparation.openAccount(),
  ];
  const recipientId = await preparation.addRecipient(workspaceId, payee);
  const abroadId = await preparation.addPayoutRecipient(workspaceId);
  const rules = [
    {
      operations: 'orders',
      approvals: APPROVERS.length,
      roles: ['approver'],
      amountAbove: [{ currencyCode: 'EUR', amount: `${BOUND}` }],
    },
    { operations: 'recipients', approvals: APPROVERS.length, roles: ['approver'] },
  ];
  await expectOk(
    callUntilDone(cluster.endpoint, {
      ...{ api: 0, method: 'PUT', path: '/approval-rules', workspaceId, body: { version: 0, rules } },
    }),
  );
  return { workspaceId, limited, reviewed, recipientId, abroadId };
}

async function expectOk(answered: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answered;
  if (status >= 300) throw new Error(`new limits or rules got ${status} ${String(body['reason'])}`);
  return body;
}

/** A time zone whose midnight is about half a day away, so that the day of a limit does not end during the run. */
function noonZone(): string {
  const hours = 12 - new Date().getUTCHours();
  // POSIX: west of Greenwich is positive.
  return hours === 0 ? 'Etc/GMT' : `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`;
}

interface Rounds {
  readonly count: number;
  /** Whether the last one has used all of the limit: it refused an order. */
  readonly isFull: boolean;
}

const PAID = `
  select count(distinct transaction_id)::int as count from transfer
  where workspace_id = $1 and account_id = $2 and direction = 'debit' and type <> 'fee'`;

/** What was paid is what all rounds allow, also of the orders whose outcome their clients do not know. */
async function checkUse(
  database: Server,
  { workspaceId, limited }: World,
  { count, isFull }: Rounds,
): Promise<readonly string[]> {
  const paid = await database.count(PAID, [workspaceId, limited.id]);
  const allowed = count * ROUND.allowed;
  return paid === allowed || (paid < allowed && !isFull)
    ? []
    : [`${paid} orders were paid in ${count} rounds, and ${allowed} are allowed`];
}

/** Raises the limits, and places more orders than the limit of their account allows, until the signal. */
async function exceedLimits(context: RunContext, world: World): Promise<Rounds> {
  const { cluster, log, prefix, signal, tally } = context;
  const { workspaceId, limited, recipientId } = world;
  const sender = { endpoint: cluster.endpoint, log };
  let [version, limit] = [0, minorUnits(0n)];
  let [placed, unknown, rounds, isFull] = [0, 0, 0, false];
  for (let round = 1; !signal.aborted; round += 1) {
    limit = add(limit, ROUND.amount);
    version = await replaceLimits(context, world, { version, limit, count: round });
    const orders = Array.from({ length: ROUND.orders }, (_, client) => {
      const payment = { workspaceId, accountId: limited.id, recipientId, isPayout: false };
      return { ...payment, key: `${prefix}-limit-${round}-${client}`, amount: AMOUNT };
    });
    const sent = await Promise.all(
      orders.map((order, client) => sendUntilDone(sender, order, (attempt) => client + attempt)),
    );
    placed += sent.filter(({ outcome }) => outcome === 'ok').length;
    // A machine that is busy may refuse an order to the end.
    unknown += sent.filter(({ outcome, status }) => outcome === 'unknown' || status === 503).length;
    const refused = sent.filter(({ outcome, status }) => outcome === 'refused' && status !== 503);
    const others = refused.filter(({ reason }) => reason !== 'limit_exceeded');
    tally.violate('outcome', ...others.map(({ key, reason }) => `${key} was refused with ${reason}`));
    const allowed = round * ROUND.allowed;
    // An order whose outcome is unknown may have used a part of the limit.
    const isExact = placed <= allowed && placed + unknown >= allowed;
    if (!isExact) tally.violate('limits', `${placed} orders were paid in ${round} rounds, and ${allowed} are allowed`);
    tally.countOperation(isExact);
    tally.count('rounds');
    [rounds, isFull] = [round, refused.length > 0];
  }
  return { count: rounds, isFull };
}

/** @returns the version of the limits */
async function replaceLimits(
  { cluster }: RunContext,
  { workspaceId, limited, reviewed }: World,
  { version, limit, count }: { readonly version: number; readonly limit: MinorUnits; readonly count: number },
): Promise<number> {
  const amount = { metric: 'amount', per: 'day', currency: 'EUR' };
  const limits = [
    { ...amount, scope: 'account', accountID: limited.id, value: String(limit) },
    // Fewer than are approved, so that some are refused when they are carried out.
    { metric: 'count', per: 'day', scope: 'account', accountID: reviewed.id, value: String(count) },
    { ...amount, scope: 'role', role: 'member', value: '1000000000' },
    { metric: 'count', per: 'month', scope: 'workspace', value: '1000000' },
  ];
  const body = { version, limits };
  const options = { api: version, method: 'PUT', path: '/limits', workspaceId, body } as const;
  return (await expectOk(callUntilDone(cluster.endpoint, options)))['version'] as number;
}

interface Waiting {
  readonly id: number;
  readonly version: number;
}

/** Makers and approvers, and what the service has acknowledged to them. */
class People {
  readonly requests: AcceptedRequest[] = [];
  readonly decisions: Decision[] = [];

  constructor(
    private readonly context: RunContext,
    private readonly world: World,
  ) {}

  async run(): Promise<void> {
    const makers = Array.from({ length: MAKERS }, (_, index) => this.make(index));
    await Promise.all([...makers, ...APPROVERS.map((email) => this.approve(email))]);
  }

  /** Sends requests that need approvals, and withdraws some, until the signal. */
  private async make(index: number): Promise<void> {
    const { cluster, prefix, random: all, signal } = this.context;
    const random = all.fork(`maker ${index}`);
    for (let number = 1; !signal.aborted; number += 1) {
      const key = `${prefix}-${index}-${number}`;
      const kind = random.below(10);
      const isRecipient = kind < SHARES.recipient;
      const approvalId = isRecipient
        ? await this.requestRecipient(key, number)
        : await this.placeOrder(key, { isPayout: kind < SHARES.recipient + SHARES.payout, random });
      if (approvalId !== undefined) this.requests.push({ key, approvalId });
      if (approvalId !== undefined && random.below(WITHDRAWN_OF) === 0) {
        const isWithdrawn = await this.send(cluster.endpoint, number, `/approvals/${approvalId}/withdrawal`);
        if (isWithdrawn) this.decisions.push({ approvalId, decision: 'withdraw' });
      }
      await wait(random.between(...PAUSE_MS), signal);
    }
  }

  /** @returns the approval that the order waits for; undefined if none is known */
  private async placeOrder(
    key: string,
    { isPayout, random }: { readonly isPayout: boolean; readonly random: Random },
  ): Promise<number | undefined> {
    const { cluster, log, tally } = this.context;
    const { workspaceId, reviewed, recipientId, abroadId } = this.world;
    const order = {
      ...{ key, workspaceId, accountId: reviewed.id, isPayout, needsApproval: true },
      recipientId: isPayout ? abroadId : recipientId,
      amount: String(isPayout ? PAYOUT_AMOUNT : random.between(BOUND + 1, 2 * BOUND)),
    };
    const sent = await sendUntilDone({ endpoint: cluster.endpoint, log }, order, () => random.below(2));
    tally.countOperation(sent.outcome === 'ok');
    if (sent.outcome === 'refused') tally.violate('outcome', `${key} was refused with ${sent.reason}`);
    if (sent.outcome !== 'ok') return undefined;
    const approvalId = parsedOf(sent.body)?.['approvalID'];
    if (typeof approvalId === 'number') return approvalId;
    tally.violate('approvals', `${key} was accepted without approvals`);
    return undefined;
  }

  private async requestRecipient(name: string, api: number): Promise<number | undefined> {
    const { cluster, tally } = this.context;
    const { workspaceId, reviewed } = this.world;
    const body = { accountCode: reviewed.code, name, saved: false };
    const path = '/recipients/internal';
    const options = { api, method: 'POST', path, workspaceId, key: name, body } as const;
    const answer = await callUntilDone(cluster.endpoint, options);
    tally.countOperation(answer.status === 202);
    if (answer.status === 202) return (answer.body['approval'] as { readonly id: number }).id;
    tally.violate('approvals', `the recipient ${name} got ${answer.status} and not 202`);
    return undefined;
  }

  /** Decides every request that waits, in random order, until the signal. */
  private async approve(email: string): Promise<void> {
    const { cluster, random: all, signal, tally } = this.context;
    const random = all.fork(email);
    const endpoint = { ...cluster.endpoint, token: await cluster.newToken({ caller: email }) };
    const decided = new Set<number>();
    const { workspaceId } = this.world;
    for (let api = 0; !signal.aborted; api += 1) {
      const path = '/approvals?status=required&limit=100';
      const answer = await callUntilDone(endpoint, { api, method: 'GET', path, workspaceId });
      if (answer.status !== 200) tally.violate('outcome', `the list of approvals got ${answer.status}`);
      const waiting = (answer.status === 200 ? answer.body : []) as readonly Waiting[];
      const open = waiting.filter(({ id }) => !decided.has(id));
      if (open.length === 0) {
        await wait(PAUSE_MS[0], signal);
        continue;
      }
      const { id: approvalId, version } = random.pick(open);
      const decision = random.below(REJECTED_OF) === 0 ? 'reject' : 'approve';
      const isDecided = await this.send(endpoint, api, `/approvals/${approvalId}/decision`, { decision, version });
      // Otherwise another decision or a withdrawal came first.
      if (isDecided) {
        this.decisions.push({ approvalId, decision, email });
        decided.add(approvalId);
        tally.count('decisions');
      }
    }
  }

  /** @returns whether a decision or withdrawal was accepted; not if another one came first */
  private async send(endpoint: Endpoint, api: number, path: string, body: unknown = {}): Promise<boolean> {
    const { workspaceId } = this.world;
    const { status, body: answer } = await callUntilDone(endpoint, { api, method: 'POST', path, workspaceId, body });
    if (status === 200) return true;
    const reason = String(answer['reason']);
    if (!['approval_closed', 'approval_changed'].includes(reason)) {
      this.context.tally.violate('outcome', `${path.split('/').at(-1)} got ${status} ${reason}`);
    }
    return false;
  }
}
