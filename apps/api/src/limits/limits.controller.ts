import { Body, Controller, Get, Module, Put } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import {
  BankingService,
  type Limit,
  LIMIT_METRICS,
  LIMIT_PERIODS,
  LIMIT_SCOPES,
  type LimitList,
  type LimitReplacement,
  LIMITS_MAX,
  type LimitTerms,
  ROLE_NAMES,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { bodyPipe } from '../input/input.pipe.js';
import { Field, OwnEdgeField, OwnIdField, OwnTextField, OwnTimeField } from '../http/field.decorator.js';
import {
  ChoiceField,
  DigitsBodyField,
  ListBodyField,
  OptionalCurrencyBodyField,
  OptionalIdBodyField,
  RequiredChoiceField,
  RequiredWholeNumberField,
} from '../input/body-field.decorator.js';

const SCOPE =
  'The orders that it counts: `workspace` (all), `account` (from `accountID`), `role` (those that holders of `role` place, together), ' +
  '`person` or `serviceAccount` (those that `userID` places).';
const METRIC = '`amount`: the amounts of the orders, without fees. `count`: their number.';
const PER = '`order`, or a `day` or `month` in the time zone of the workspace. A `count` is per day or month.';
const VALUE =
  'The most that is allowed, in digits: minor units of `currency`, or a number of orders. `"1000000"` in GBP is 10000.00.';
const CURRENCY = 'The currency of an `amount`. Orders in other currencies are converted, and rounded up.';

class LimitDto implements Limit {
  @OwnTextField(`${SCOPE} New values may be added.`, 'account')
  readonly scope!: Limit['scope'];

  @OwnIdField('The account.', 1, false)
  readonly accountID?: NonNullable<Limit['accountID']>;

  @OwnTextField('The role.', 'member', false)
  readonly role?: NonNullable<Limit['role']>;

  @OwnIdField('The user.', 1, false)
  readonly userID?: NonNullable<Limit['userID']>;

  @OwnTextField(`${METRIC} New values may be added.`, 'amount')
  readonly metric!: Limit['metric'];

  @OwnTextField(`${PER} New values may be added.`, 'day')
  readonly per!: Limit['per'];

  @OwnTextField(VALUE, '1000000')
  readonly value!: string;

  @OwnTextField('The currency of an `amount`: ISO 4217 alpha-3.', 'EUR', false)
  readonly currency?: string;

  @OwnTextField(
    'How much is used in the current day or month, in the units of `value`. Missing for a limit on each order.',
    '250000',
    false,
  )
  readonly used?: string;

  @OwnTimeField('When the next day or month begins. Missing for a limit on each order.')
  readonly resetsAt?: NonNullable<Limit['resetsAt']>;
}

class LimitListDto implements LimitList {
  @Field('ours', {
    type: 'integer',
    format: 'int64',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'It rises with each change. 0 before the first.',
    example: 1,
  })
  readonly version!: number;

  @OwnTextField('The time zone of days and months: a name of the IANA database.', 'UTC')
  readonly timeZone!: string;

  @OwnEdgeField(() => [LimitDto], 'All limits, in the order of their creation.')
  readonly limits!: LimitDto[];
}

class LimitTermsDto implements LimitTerms {
  @RequiredChoiceField('ours', LIMIT_SCOPES, SCOPE)
  readonly scope!: LimitTerms['scope'];

  @OptionalIdBodyField('ours', 'An account of the workspace, of the scope `account`.', 1)
  readonly accountID?: NonNullable<LimitTerms['accountID']>;

  @ChoiceField('ours', ROLE_NAMES, 'A role, of the scope `role`.')
  readonly role?: NonNullable<LimitTerms['role']>;

  @OptionalIdBodyField('ours', 'A user of the workspace, of the scopes `person` and `serviceAccount`.', 1)
  readonly userID?: NonNullable<LimitTerms['userID']>;

  @RequiredChoiceField('ours', LIMIT_METRICS, METRIC)
  readonly metric!: LimitTerms['metric'];

  @RequiredChoiceField('ours', LIMIT_PERIODS, PER)
  readonly per!: LimitTerms['per'];

  @DigitsBodyField('ours', BigInt(Number.MAX_SAFE_INTEGER), VALUE, '1000000')
  readonly value!: string;

  @OptionalCurrencyBodyField('ours', CURRENCY, 'EUR')
  readonly currency?: string;
}

class LimitReplacementDto implements LimitReplacement {
  @RequiredWholeNumberField(
    'ours',
    { minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    'The `version` of the list that you have read.',
    0,
  )
  readonly version!: number;

  @ListBodyField(
    'ours',
    () => LimitTermsDto,
    { maxItems: LIMITS_MAX },
    'All limits, one of each measure. Empty for none.',
  )
  readonly limits!: LimitTermsDto[];
}

@ApiTags('Limits')
@Controller('limits')
class LimitsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('getLimits', {
    summary: 'Retrieve the limits',
    description: paragraphs(
      'Returns the limits on the orders of the workspace, with what is used of each in the current day or month. A workspace has none at first.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'All limits of the workspace.', type: LimitListDto })
  get(@CalledBy() caller: Caller): Promise<LimitList> {
    return this.banking.getLimits(caller);
  }

  @Put()
  @Operation('replaceLimits', {
    summary: 'Replace the limits',
    description: paragraphs(
      'Replaces all limits of the workspace. Send the `version` of the list that you have read: 409 `version_conflict` says that it was',
      'changed since. A list that is as requested already stays, so the request can be sent again after a lost response.',
      '',
      'A limit counts what was paid in its day or month before it was set, too. An order that would exceed a limit is refused with 422',
      '`limit_exceeded`; `details` names the limit, its use and when it resets. A run of a later order fails with the same code.',
      'Money that comes back does not lower what is used.',
      '',
      'The first limit of a day or month in a workspace with very many payments may need several requests: after a 503 or 504, send the same',
      'request again, which goes on where the former one ended.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'All limits of the workspace.', type: LimitListDto })
  replace(@CalledBy() caller: Caller, @Body(bodyPipe) replacement: LimitReplacementDto): Promise<LimitList> {
    return this.banking.replaceLimits(caller, replacement);
  }
}

@Module({ controllers: [LimitsController] })
export class LimitsModule {}
