import {
  approvable,
  type ApprovableOperationName,
  APPROVABLE_OPERATIONS,
  type Approval,
  ApprovalPending,
  type ApprovalRequirement,
  approvedKey,
  type BankingOperations,
  type Created,
  isReservedKey,
  type OperationName,
  OPERATIONS,
  parametersOf,
  Refusal,
  type RequestOptions,
  type Scope,
  type ApprovalRules,
} from '@banking/domain';
import { bind, DatabaseError, type DbTransaction, RULE_VIOLATION, sqlStatement } from '@banking/postgres';
import { ExpiringCache } from '@banking/process';
import { type AuditedCall, acting } from '../audit/audited-call.js';
import { createOnce, findReplay, NotCreatedBefore } from '../idempotency/create-once.js';
import type { CreationRequest } from '../idempotency/idempotency-key.js';
import type { Reading } from '../resources/reading.js';
import { approvalId, approvalRequest, canonicalInput, nextApproval, requestApproval } from './approval-request.js';
import { requirementsOf } from './approval-requirements.js';
import { writeOutcome } from './carry-out.js';
import { getApprovalRules } from './approval-rules.js';
import { approvalQuery } from './read-approvals.js';

/** Rules are read once a second for a workspace. A change within it is refused by the database, and the rules are read again. */
const RULES_TTL_MS = 1_000;
const WORKSPACES_MAX = 4_000;

/** How often an operation is begun again because the rules changed meanwhile. */
const TRIES_MAX = 5;

type Method = (scope: Scope, input?: object, options?: RequestOptions) => Promise<unknown>;

/** The operations of an approved request, by the id of its approval. */
type CarriedOut = (approvalId: number) => BankingOperations;

/** What operations refuse of an input by itself: a request of them is refused before it is stored. */
export type InputChecks = {
  readonly [Name in ApprovableOperationName]?: (input: Required<Parameters<BankingOperations[Name]>>[1]) => void;
};

/** What is asked for: an operation, its input, and the key of the caller. */
interface Asked {
  readonly name: ApprovableOperationName;
  readonly caller: AuditedCall;
  readonly input: object;
  readonly options: RequestOptions;
}

/**
 * The operations, of which those that rules may name are asked for here: without a rule they are carried out, and otherwise they are stored
 * as the request that they are, and throw `ApprovalPending`. An order stores its request with itself.
 *
 * @param trials the operations, whose creations are only tried
 */
export function withApprovals(
  operations: BankingOperations,
  trials: BankingOperations,
  checks: InputChecks,
  reading: Reading,
  carryingOut: CarriedOut,
): BankingOperations {
  const gate = new ApprovalGate(operations, trials, checks, reading, carryingOut);
  const names = Object.keys(APPROVABLE_OPERATIONS) as ApprovableOperationName[];
  const gated = names.filter((name) => APPROVABLE_OPERATIONS[name].group !== 'orders');
  return { ...operations, ...Object.fromEntries(gated.map((name) => [name, gate.methodOf(name)])) };
}

class ApprovalGate {
  private readonly rules = new ExpiringCache<ApprovalRules>({ ttlMs: RULES_TTL_MS, entriesMax: WORKSPACES_MAX });

  constructor(
    private readonly operations: BankingOperations,
    private readonly trials: BankingOperations,
    private readonly checks: InputChecks,
    private readonly reading: Reading,
    private readonly carryingOut: CarriedOut,
  ) {}

  methodOf(name: ApprovableOperationName): Method {
    const { group } = APPROVABLE_OPERATIONS[name];
    const carryOut = this.operations[name] as Method;
    const check = this.checks[name] as ((input: object) => void) | undefined;
    return async (scope, input = {}, options = {}) => {
      refuseReservedKey(options);
      check?.(input);
      const caller = acting(scope);
      const asked: Asked = { name, caller, input, options };
      const known = String(caller.workspaceId);
      const read = () => getApprovalRules(this.reading.database, caller.workspaceId);
      let { version, rules } = await this.rules.get(known, read);
      for (let tried = 1; ; tried += 1) {
        try {
          const approved = version > 0 ? await this.approvedEarlier(scope, asked) : undefined;
          if (approved) return await this.carryOutForMaker(scope, asked, approved);
          const requirements = requirementsOf(rules, group);
          if (requirements.length === 0) return await carryOut(scope, input, options);
          const created = await this.createdEarlier(scope, asked);
          if (created) return created;
          throw await this.request(scope, asked, requirements);
        } catch (error) {
          if (!isUnapproved(error)) throw error;
          if (tried === TRIES_MAX) throw new Refusal('unavailable', undefined, { cause: error });
          ({ version, rules } = await this.rules.refresh(known, read));
        }
      }
    };
  }

  /**
   * The approval of a request that was stored with this key before, if the maker may carry it out.
   *
   * @throws ApprovalPending for any other request that was stored with the key
   */
  private async approvedEarlier(scope: Scope, asked: Asked): Promise<Approval | undefined> {
    const { replay } = await findReplay<Approval>(this.reading.database, requestOf(asked), asked.options);
    if (!replay) return undefined;
    if (!isCarriedOutByMaker(asked)) throw new ApprovalPending(replay.resource, true);
    const approval = await this.operations.getApproval(scope, { approvalId: replay.resource.id });
    if (approval.status !== 'approved' || approval.makerID !== asked.caller.actor) {
      throw new ApprovalPending(replay.resource, true);
    }
    return approval;
  }

  /**
   * What was created with the key before a rule required approvals of it. Otherwise what refuses the operation now refuses its request, so
   * that no one approves what cannot be carried out.
   *
   * @throws Refusal `idempotency_key_reused`, `idempotency_in_progress`, and those of the operation
   */
  private async createdEarlier(scope: Scope, { name, input, options }: Asked): Promise<unknown> {
    if (OPERATIONS[name].result !== 'created') return undefined;
    try {
      return await (this.trials[name] as Method)(scope, input, options);
    } catch (error) {
      if (error instanceof NotCreatedBefore) return undefined;
      throw error;
    }
  }

  /** Once: a repeated request finds what it made by the key of the approval, without the secret. */
  private async carryOutForMaker(scope: Scope, asked: Asked, { id, digest }: Approval): Promise<unknown> {
    const { name, caller, input } = asked;
    const carryOut = this.carryingOut(id)[name] as Method;
    const made = (await carryOut(scope, input, { idempotencyKey: approvedKey(digest) })) as Created<{ id: number }>;
    const approval = { workspaceId: caller.workspaceId, approvalId: id, operation: name };
    await writeOutcome(this.reading.database, approval, { kind: 'carried_out', resourceId: made.resource.id });
    return made;
  }

  /** Stores a request. A change that waits already is not stored twice, also without a key. */
  private async request(
    scope: Scope,
    asked: Asked,
    requirements: readonly ApprovalRequirement[],
  ): Promise<ApprovalPending> {
    const { name, caller, input, options } = asked;
    const { workspaceId, actor } = caller;
    if (isCarriedOutByMaker(asked) && options.idempotencyKey === undefined) {
      const message =
        'The operation needs approvals. Send an Idempotency-Key, and repeat the request with it after they are given.';
      throw new Refusal('idempotency_key_invalid', message);
    }
    const shown = await this.shownOf(scope, asked);
    const isChange = OPERATIONS[name].result !== 'created';
    let waiting: number | undefined;
    const { resource, isReplay } = await createOnce(this.reading, requestOf(asked), options, caller, async (tx) => {
      waiting = isChange ? await findSameRequest(tx, asked) : undefined;
      if (waiting !== undefined) return { writes: [], resource: approvalQuery(workspaceId, waiting) };
      const [[next]] = await tx.pipeline([nextApproval(workspaceId, requirements, actor)] as const);
      const id = approvalId(next);
      const { group } = APPROVABLE_OPERATIONS[name];
      const content = { id, workspaceId, maker: actor, operation: name, group, input, shown, requirements };
      return {
        writes: [requestApproval(approvalRequest(content))],
        audited: { type: 'approval', id },
        resource: approvalQuery(workspaceId, id),
      };
    });
    return new ApprovalPending(resource, isReplay || waiting !== undefined);
  }

  /** What is changed, as the maker sees it. @throws Refusal if it is not there */
  private async shownOf(scope: Scope, { name, input }: Asked): Promise<object> {
    const row = APPROVABLE_OPERATIONS[name];
    if (!('shows' in row)) return {};
    const show = this.operations[row.shows] as Method;
    const named = parametersOf(OPERATIONS[row.shows as OperationName].path);
    const query = Object.fromEntries(named.map((parameter) => [parameter, input[parameter as keyof typeof input]]));
    return (await show(scope, query)) as object;
  }
}

/** @throws Refusal `idempotency_key_invalid` for a key of the worker */
export function refuseReservedKey({ idempotencyKey }: RequestOptions): void {
  if (idempotencyKey !== undefined && isReservedKey(idempotencyKey)) throw new Refusal('idempotency_key_invalid');
}

const isCarriedOutByMaker = ({ name }: Asked): boolean => approvable(name)?.isCarriedOutByMaker === true;

/** The request to store an approval, for the key of the caller. */
const requestOf = ({ name, caller: { workspaceId }, input }: Asked): CreationRequest => ({
  workspaceId,
  operation: `requestApproval/${name}`,
  content: JSON.parse(JSON.stringify(input)) as object,
});

/** Whether the database rejected a change because rules require approvals of it, or others than were stated. */
const isUnapproved = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === RULE_VIOLATION.notApproved;

/** Until the request is stored, so that of equal requests at the same moment the later one finds the earlier one. */
const LOCK_SAME = sqlStatement(
  'lock_same_request',
  `select pg_advisory_xact_lock(
     hashtextextended(jsonb_build_array('approval', $1::bigint, $2::text, $3::bigint, $4::jsonb)::text, 0))`,
);

/** A version in the input makes a request one that is done once, so that a carried out one counts too. */
const FIND_SAME = sqlStatement<{ id: bigint }>(
  'find_same_request',
  `select a.id from approval a
   where a.workspace_id = $1 and a.operation = $2 and a.maker is not distinct from $3 and a.request::jsonb -> 'input' = $4::jsonb
     and (a.status = 'required' or $4::jsonb ? 'version' and a.status = 'approved' and a.outcome is distinct from 'refused')
     and a.expires_at > clock_timestamp()
   order by a.id desc limit 1`,
);

async function findSameRequest(tx: DbTransaction, { name, caller, input }: Asked): Promise<number | undefined> {
  const { workspaceId, actor } = caller;
  const values = [workspaceId, name, actor ?? null, canonicalInput(input)] as const;
  const [, [same]] = await tx.pipeline([bind(LOCK_SAME, ...values), bind(FIND_SAME, ...values)] as const);
  return same && Number(same.id);
}
