import { Controller, Get, Module } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { type BankDifference, BankingService, type BankReconciliation } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { CurrencyDto } from '../products/product.dto.js';
import { Field, OwnAmountField, OwnEdgeField, OwnTextField, OwnTimeField } from '../http/field.decorator.js';

const OwnDayField = (description: string, example: string, required = true): PropertyDecorator =>
  Field('ours', { type: 'string', format: 'date', description, example, required });

/** An account of a bank may be overdrawn. */
const OwnSignedField = (description: string, example: string, required = true): PropertyDecorator =>
  Field('ours', { type: 'string', pattern: '^(0|-?[1-9][0-9]{0,18})$', description, example, required });

class BankDifferenceDto implements BankDifference {
  @OwnTextField(
    '`statement_missing`: a statement does not continue the one before it. `statement_sum`: its entries do not add up to its balances. ' +
      '`statement_late`: the last statement is old. `entry_unknown`: the books do not have a booked entry. `entry_pending`: an entry is ' +
      'not booked for long. `entry_unlisted`: a booked entry is on no statement. `payment_missing`: a payment that was handed to the ' +
      'bank has no entry. `payment_debited`: the bank has debited a payment that the books have returned. `payment_returned`: the bank has ' +
      'returned a payment that the books have not. New values may be added.',
    'entry_unknown',
  )
  readonly kind!: BankDifference['kind'];

  @OwnDayField('The day of the entry, the statement or the payment.', '2026-11-26')
  readonly day!: string;

  @OwnAmountField(
    'Digits in minor units of `edges.currency`: of the entry or the payment, or by how much balances differ.',
    '1250',
    false,
  )
  readonly amount?: NonNullable<BankDifference['amount']>;

  @Field('ours', {
    type: 'string',
    enum: ['debit', 'credit'],
    description: 'As the bank sees it: a credit adds to the bank account.',
    example: 'credit',
    required: false,
  })
  readonly direction?: NonNullable<BankDifference['direction']>;

  @OwnTextField(
    'The reference of the bank, the name of the statement, or the key of the payment.',
    '2026112600017',
    false,
  )
  readonly reference?: string;
}

class BankReconciliationEdgesDto {
  @OwnEdgeField(() => CurrencyDto, 'The currency of the bank account.')
  readonly currency!: CurrencyDto;
}

class BankReconciliationDto implements BankReconciliation {
  @OwnTextField('The payment network whose bank has the account.', 'bank-a')
  readonly rail!: string;

  @OwnTextField('The IBAN, or the number of the bank.', 'DE89370400440532013000')
  readonly bankAccount!: string;

  @OwnTimeField('Time of the comparison.', true)
  readonly comparedAt!: BankReconciliation['comparedAt'];

  @OwnDayField('Day of the first statement that was compared. Missing before the first one.', '2026-10-23', false)
  readonly from?: string;

  @OwnDayField('Day of the last statement. Missing before the first one.', '2026-11-26', false)
  readonly to?: string;

  @OwnSignedField(
    'Balance at the beginning of the first statement, in minor units of `edges.currency`.',
    '100000000',
    false,
  )
  readonly openingBalance?: string;

  @OwnSignedField('Balance at the end of the last statement, in minor units of `edges.currency`.', '100125000', false)
  readonly closingBalance?: string;

  @OwnSignedField(
    'What the booked entries that the books do not have, or contradict, sum to: credits less debits, in minor units of `edges.currency`.',
    '1250',
  )
  readonly unknownAmount!: string;

  @Field('ours', {
    type: 'integer',
    minimum: 0,
    description: 'The number of differences, also of those that are not listed. At most 1000 of a kind are counted.',
    example: 1,
  })
  readonly differenceCount!: number;

  @Field('ours', { type: () => [BankDifferenceDto], description: 'The first hundred differences, by day.' })
  readonly differences!: readonly BankDifferenceDto[];

  @OwnEdgeField(() => BankReconciliationEdgesDto, 'Related records.')
  readonly edges!: BankReconciliationEdgesDto;
}

@ApiTags('Reconciliations')
@Controller('reconciliations')
class ReconciliationsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listReconciliations', {
    summary: 'List reconciliations',
    description: paragraphs(
      'Returns how each bank account of the service compares with the books: the statements of the last 35 days, and what the bank has and',
      'the books do not, or the other way round. A worker compares about once a minute.',
      '',
      'The workspace of the suspense account of a bank account is the one of its operator. The list of other workspaces is empty.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'The bank accounts, by payment network.', type: [BankReconciliationDto] })
  list(@CalledBy() caller: Caller): Promise<readonly BankReconciliation[]> {
    return this.banking.listReconciliations(caller);
  }
}

@Module({ controllers: [ReconciliationsController] })
export class ReconciliationsModule {}
