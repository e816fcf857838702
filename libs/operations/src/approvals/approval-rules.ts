import {
  APPROVAL_RULES_MAX,
  type ApprovalRequirement,
  type ApprovalRule,
  type ApprovalRules,
  type ApprovalRulesChange,
  APPROVALS_MAX,
  PAYING_GROUPS,
  Refusal,
  type RefusalDetail,
  type UserId,
  type WorkspaceId,
  isAmountCurrency,
} from '@banking/domain';
import { bind, type Database, DatabaseError, sqlStatement } from '@banking/postgres';
import { type AuditedCall, auditEntry, callerOf, noteAudit } from '../audit/audited-call.js';
import { IN_DOUBT_POLICIES, retryInDoubt } from '../idempotency/create-once.js';
import { timestampOf, withoutNulls } from '../resources/columns.js';
import { canonicalInput } from './approval-request.js';

interface RulesRow {
  readonly version: bigint;
  readonly rules: readonly ApprovalRule[];
  readonly changed_by_id: bigint | null;
  readonly created_at: string;
}

const GET_RULES = sqlStatement<RulesRow>(
  'get_approval_rules',
  `select version, rules, changed_by as changed_by_id, created_at from approval_rules where workspace_id = $1 order by version desc limit 1`,
);

/** The rules in force. Version 0 for a workspace that never had any. */
export async function getApprovalRules(database: Database, workspaceId: WorkspaceId): Promise<ApprovalRules> {
  const row = await database.read({ workspaces: [workspaceId] }, bind(GET_RULES, workspaceId));
  return row ? composeRules(row) : { version: 0, rules: [] };
}

const composeRules = ({ version, rules, changed_by_id, created_at }: RulesRow): ApprovalRules =>
  withoutNulls<ApprovalRules>({
    version: Number(version),
    rules,
    changedBy: changed_by_id === null ? null : (Number(changed_by_id) as UserId),
    changedAt: timestampOf(created_at),
  });

const INSERT_RULES = sqlStatement<RulesRow>(
  'insert_approval_rules',
  `insert into approval_rules (workspace_id, version, rules, changed_by) values ($1, $2, $3::jsonb, $4)
   returning version, rules, changed_by as changed_by_id, created_at`,
);

interface Known {
  readonly is_known: boolean;
}

const FIND_ACCOUNTS = sqlStatement<Known>(
  'find_accounts_of_rules',
  `select not exists (
     select from unnest($2::bigint[]) n (id)
     where not exists (select from account a where a.workspace_id = $1 and a.id = n.id and a.kind = 'customer')) as is_known`,
);

const IS_APPROVABLE = sqlStatement<{ is_approvable: boolean }>(
  'are_rules_approvable',
  `select is_approvable($1, $2::jsonb, '{}') as is_approvable`,
);

/**
 * Replaces all rules of a workspace. A repeated request with the version before finds its own rules, and is answered as done.
 *
 * @throws Refusal `body_malformed`, `account_not_found`, `approval_impossible`, `approval_changed`
 */
export async function replaceApprovalRules(
  database: Database,
  caller: AuditedCall,
  { version, rules }: ApprovalRulesChange,
): Promise<ApprovalRules> {
  const { workspaceId, actor } = caller;
  checkRules({ rules });
  const scope = { workspaces: [workspaceId], user: actor };
  const accounts = rules.flatMap(({ accountID }) => accountID ?? []);
  const requirements = rules.map(({ approvals, roles }): ApprovalRequirement => ({ approvals, roles }));
  const replace = () =>
    database.transaction(scope, async (tx) => {
      const [[current], [account], [people]] = await tx.pipeline([
        bind(GET_RULES, workspaceId),
        bind(FIND_ACCOUNTS, workspaceId, accounts),
        bind(IS_APPROVABLE, workspaceId, JSON.stringify(requirements)),
      ] as const);
      const present = current ? composeRules(current) : { version: 0, rules: [] };
      if (present.version === version + 1 && isSame(present.rules, rules)) return present;
      if (present.version !== version) throw new Refusal('approval_changed');
      if (account?.is_known !== true) throw new Refusal('account_not_found');
      if (people?.is_approvable !== true) throw new Refusal('approval_impossible');
      const audited = { operation: 'replaceApprovalRules' };
      const [[made]] = await tx.commit([
        bind(INSERT_RULES, workspaceId, version + 1, JSON.stringify(rules), actor ?? null),
        noteAudit([auditEntry(workspaceId, audited, callerOf(caller))]),
      ] as const);
      return composeRules(made!);
    });
  return retryInDoubt(replace, IN_DOUBT_POLICIES.change).catch((error: unknown) => {
    const isOvertaken = error instanceof DatabaseError && error.constraint === 'approval_rules_pkey';
    throw isOvertaken ? new Refusal('approval_changed', undefined, { cause: error }) : error;
  });
}

const isSame = (some: readonly ApprovalRule[], others: readonly ApprovalRule[]): boolean =>
  canonicalInput(some) === canonicalInput(others);

/** What the shape of the request does not say. @throws Refusal `body_malformed` */
export function checkRules({ rules }: Pick<ApprovalRulesChange, 'rules'>): void {
  const faults = [
    ...(rules.length > APPROVAL_RULES_MAX
      ? [fault('/rules', `A workspace has ${APPROVAL_RULES_MAX} rules at most.`)]
      : []),
    ...rules.flatMap((rule, index) =>
      faultsOf(rule).map(([field, message]) => fault(`/rules/${index}/${field}`, message)),
    ),
  ];
  const [first] = faults;
  if (first) throw new Refusal('body_malformed', faults.length === 1 ? first.message : undefined, { details: faults });
}

const fault = (path: string, message: string): RefusalDetail => ({ path, reason: 'rule_invalid', message });

function faultsOf(rule: ApprovalRule): (readonly [field: string, message: string])[] {
  const { operations, approvals, roles, amountAbove, accountID, recipientNewerThanDays } = rule;
  const isPaying = PAYING_GROUPS.some((group) => group === operations);
  const faults: (readonly [string, string])[] = [];
  if (operations !== 'orders') {
    const given = { amountAbove, accountID, recipientNewerThanDays };
    const [field] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
    if (field !== undefined) faults.push([field, 'Conditions are for orders only.']);
  }
  if (approvals < 1 || approvals > APPROVALS_MAX) {
    faults.push(['approvals', `A rule requires 1 to ${APPROVALS_MAX} approvals.`]);
  }
  if (roles.length === 0 || (isPaying && roles.some((role) => role !== 'approver'))) {
    faults.push(['roles', 'Approvers approve orders and recipients; approvers and administrators all else.']);
  }
  if (amountAbove && new Set(amountAbove.map(({ currencyCode }) => currencyCode)).size < amountAbove.length) {
    faults.push(['amountAbove', 'A currency has one amount.']);
  }
  if (amountAbove?.some(({ currencyCode }) => !isAmountCurrency(currencyCode))) {
    faults.push(['amountAbove', 'A currency is a current code of ISO 4217, with a smallest unit.']);
  }
  return faults;
}
