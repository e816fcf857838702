import {
  type Approval,
  APPROVAL_GROUPS,
  APPROVAL_RULES_MAX,
  APPROVAL_STEPS,
  type ApprovalBound,
  type ApprovalDecision,
  type ApprovalDecisionInput,
  type ApprovalOutcome,
  type ApprovalQuery,
  type ApprovalRequirement,
  type ApprovalRule,
  type ApprovalRules,
  type ApprovalRulesChange,
  APPROVALS_MAX,
  APPROVER_ROLES,
} from '@banking/domain';
import {
  Field,
  OwnAmountField,
  OwnEdgeField,
  OwnIdField,
  OwnTextField,
  OwnTimeField,
} from '../http/field.decorator.js';
import {
  AmountBodyField,
  CurrencyBodyField,
  LineField,
  ListBodyField,
  OptionalIdBodyField,
  OptionalListBodyField,
  RequiredChoiceField,
  RequiredChoicesField,
  RequiredWholeNumberField,
  WholeNumberField,
} from '../input/body-field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import { ChoiceParameter } from '../input/parameter.decorator.js';

const INTEGER = { type: 'integer', format: 'int32' } as const;

const DAYS_MAX = 3_650;
const BOUNDS_MAX = 50;

const GROUP = 'The group of operations';
const COUNT = 'How many people must approve.';
const ROLES = 'The roles that may approve';
const CURRENCY = 'The currency, ISO 4217.';
const AMOUNT = 'The largest amount that needs no approval, in minor units of the currency.';
const AMOUNT_ABOVE =
  'Orders above the amount of the currency of their account, and all orders in currencies that are not listed.';
const ACCOUNT = 'Orders of this account.';
const NEWER_THAN_DAYS = 'Orders to a recipient that was added less than so many days ago.';

const openList = (meaning: string, values: readonly string[]) =>
  `${meaning}: ${values.map((value) => `\`${value}\``).join(', ')}. New values may be added.`;

const RolesField = () =>
  Field('ours', {
    type: 'array',
    items: { type: 'string' },
    description: openList(ROLES, APPROVER_ROLES),
    example: ['approver'],
  });

const VersionField = (description: string) => Field('ours', { ...INTEGER, minimum: 0, description, example: 1 });

export class ApprovalRequirementDto implements ApprovalRequirement {
  @Field('ours', {
    ...{ ...INTEGER, minimum: 1, maximum: APPROVALS_MAX, example: 1 },
    description: COUNT,
  })
  readonly approvals!: number;

  @RolesField()
  readonly roles!: ApprovalRequirement['roles'];
}

class ApprovalBoundDto implements ApprovalBound {
  @OwnTextField(CURRENCY, 'EUR')
  readonly currencyCode!: ApprovalBound['currencyCode'];

  @OwnAmountField(AMOUNT, '1000000')
  readonly amount!: string;
}

export class ApprovalRuleDto extends ApprovalRequirementDto implements ApprovalRule {
  @OwnTextField(openList(GROUP, APPROVAL_GROUPS), 'orders')
  readonly operations!: ApprovalRule['operations'];

  @OwnEdgeField(() => [ApprovalBoundDto], AMOUNT_ABOVE, false)
  readonly amountAbove?: readonly ApprovalBoundDto[];

  @OwnIdField(ACCOUNT, 1, false)
  readonly accountID?: NonNullable<ApprovalRule['accountID']>;

  @Field('ours', {
    ...{ ...INTEGER, minimum: 1, maximum: DAYS_MAX, example: 30, required: false },
    description: NEWER_THAN_DAYS,
  })
  readonly recipientNewerThanDays?: number;
}

export class ApprovalRulesDto implements ApprovalRules {
  @VersionField('Raised by each change. 0 for a workspace that never had rules.')
  readonly version!: number;

  @OwnEdgeField(() => [ApprovalRuleDto], 'The rules in force.')
  readonly rules!: readonly ApprovalRuleDto[];

  @OwnIdField('The user who made them.', 1, false)
  readonly changedBy?: NonNullable<ApprovalRules['changedBy']>;

  @OwnTimeField('Since when they are in force.')
  readonly changedAt?: NonNullable<ApprovalRules['changedAt']>;
}

class ApprovalBoundTermsDto implements ApprovalBound {
  @CurrencyBodyField('ours', CURRENCY, 'EUR')
  readonly currencyCode!: string;

  @AmountBodyField('ours', AMOUNT, '1000000')
  readonly amount!: string;
}

class ApprovalRuleTermsDto implements ApprovalRule {
  @RequiredChoiceField('ours', APPROVAL_GROUPS, `${GROUP}.`)
  readonly operations!: ApprovalRule['operations'];

  @RequiredWholeNumberField('ours', { minimum: 1, maximum: APPROVALS_MAX }, COUNT, 1)
  readonly approvals!: number;

  @RequiredChoicesField('ours', APPROVER_ROLES, `${ROLES}.`)
  readonly roles!: ApprovalRule['roles'];

  @OptionalListBodyField('ours', () => ApprovalBoundTermsDto, { minItems: 1, maxItems: BOUNDS_MAX }, AMOUNT_ABOVE)
  readonly amountAbove?: readonly ApprovalBoundTermsDto[];

  @OptionalIdBodyField('ours', ACCOUNT, 1)
  readonly accountID?: NonNullable<ApprovalRule['accountID']>;

  @WholeNumberField('ours', { minimum: 1, maximum: DAYS_MAX }, NEWER_THAN_DAYS, 30)
  readonly recipientNewerThanDays?: number;
}

export class ApprovalRulesChangeDto implements ApprovalRulesChange {
  @RequiredWholeNumberField(
    'ours',
    { minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    'The version of the present rules, 0 if there are none yet.',
    0,
  )
  readonly version!: number;

  @ListBodyField(
    'ours',
    () => ApprovalRuleTermsDto,
    { maxItems: APPROVAL_RULES_MAX },
    'All rules, in place of the present ones. An operation needs the approvals of each rule that applies to it.',
    [{ operations: 'orders', approvals: 2, roles: ['approver'] }],
  )
  readonly rules!: readonly ApprovalRuleTermsDto[];
}

class ApprovalDecisionDto implements ApprovalDecision {
  @OwnIdField('The person who decided.', 1)
  readonly userID!: ApprovalDecision['userID'];

  @OwnTextField('`approve` or `reject`.', 'approve')
  readonly decision!: ApprovalDecision['decision'];

  @OwnTextField('What the person wrote.', 'Agreed with purchasing', false)
  readonly comment?: string;

  @Field('ours', {
    type: 'array',
    items: { type: 'string' },
    description: 'The roles of the person at that time.',
    example: ['approver'],
  })
  readonly roles!: readonly string[];

  @OwnTimeField('Time of the decision.', true)
  readonly decidedAt!: ApprovalDecision['decidedAt'];
}

class ApprovedResourceDto {
  @OwnTextField('The type of the resource, as events name it.', 'order')
  readonly type!: string;

  @OwnIdField('The resource.', 1)
  readonly id!: number;
}

class ApprovalOutcomeDto implements ApprovalOutcome {
  @OwnTextField('`carried_out`, or `refused` with the state of that moment.', 'carried_out')
  readonly status!: ApprovalOutcome['status'];

  @OwnTextField('A `reason` of the table of errors, or `order_cancelled`.', 'insufficient_funds', false)
  readonly reason?: string;

  @OwnTextField('The reason for people.', 'The account does not hold the amount.', false)
  readonly message?: string;

  @OwnEdgeField(() => ApprovedResourceDto, 'What was made or changed.', false)
  readonly resource?: ApprovedResourceDto;

  @OwnTimeField('When it ended.', true)
  readonly at!: ApprovalOutcome['at'];
}

/** Its fields depend on the operation. */
const ObjectOfAny = (description: string) =>
  Field('ours', { type: 'object', properties: {}, additionalProperties: true, description } as never);

export class ApprovalDto implements Approval {
  @OwnIdField('The approval.', 1)
  readonly id!: Approval['id'];

  @VersionField('Raised by each decision and each change of the status. A decision names it.')
  readonly version!: number;

  @OwnTextField(
    '`required`, then finally `approved`, `rejected`, `withdrawn` or `expired`. New values may be added.',
    'required',
  )
  readonly status!: Approval['status'];

  @OwnTextField('The operation, as this document names it.', 'placeOrder')
  readonly operation!: string;

  @OwnTextField('The group of the operation, as rules name it.', 'orders')
  readonly operations!: Approval['operations'];

  @ObjectOfAny('The parameters of the path and the query, and the fields of the body. Names of ids end in `ID`.')
  readonly input!: Approval['input'];

  @ObjectOfAny('What the maker saw: the account, the recipient and the price of an order, or the resource as it was.')
  readonly shown!: Approval['shown'];

  @Field('ours', {
    ...{ type: 'string', pattern: '^[0-9a-f]{64}$' },
    example: '83d6d3628c21e908561da83484b2fd7d66b0bb4e1a5dc13345bd5a2ad59dda5f',
    description:
      'SHA-256 of the request in canonical JSON, 64 hex digits. The hash of the transaction of an order covers it.',
  })
  readonly digest!: string;

  @OwnEdgeField(() => [ApprovalRequirementDto], 'One for each rule that applied. All must be met.')
  readonly requirements!: readonly ApprovalRequirementDto[];

  @OwnIdField('The user who asked.', 2, false)
  readonly makerID?: NonNullable<Approval['makerID']>;

  @OwnIdField('The order that waits, or waited.', 257, false)
  readonly orderID?: NonNullable<Approval['orderID']>;

  @OwnEdgeField(() => [ApprovalDecisionDto], 'The decisions, oldest first.')
  readonly decisions!: readonly ApprovalDecisionDto[];

  @OwnEdgeField(() => ApprovalOutcomeDto, 'How an approved request ended.', false)
  readonly outcome?: ApprovalOutcomeDto;

  @OwnTimeField('Time of the request.', true)
  readonly createdAt!: Approval['createdAt'];

  @OwnTimeField('Time of the last change.', true)
  readonly updatedAt!: Approval['updatedAt'];

  @OwnTimeField('Until when it can be approved.', true)
  readonly expiresAt!: Approval['expiresAt'];
}

/** The response to an operation that waits for approvals. */
export class PendingApprovalDto {
  @OwnEdgeField(() => ApprovalDto, 'What the operation waits for.')
  readonly approval!: ApprovalDto;
}

const COMMENT_MAX = 512;

export class ApprovalDecisionInputDto implements Omit<ApprovalDecisionInput, 'approvalId'> {
  @RequiredChoiceField('ours', ['approve', 'reject'], 'A rejection ends the request.')
  readonly decision!: ApprovalDecisionInput['decision'];

  @LineField('ours', COMMENT_MAX, 'Why, for the maker and other approvers.', 'Agreed with purchasing')
  readonly comment?: string;

  @RequiredWholeNumberField(
    'ours',
    { minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    'The `version` of the approval that you have read.',
    1,
  )
  readonly version!: number;
}

export class ApprovalQueryDto extends PageQueryDto implements ApprovalQuery {
  @ChoiceParameter('ours', Object.keys(APPROVAL_STEPS), 'Approvals with this status.')
  readonly status?: NonNullable<ApprovalQuery['status']>;
}
