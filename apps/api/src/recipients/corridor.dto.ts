import type { Corridor } from '@banking/domain';
import { AmountField, EdgeField, Field, IdField, KnownValues, TextField, TimeField } from '../http/field.decorator.js';
import { CurrencyDto } from '../products/currency.dto.js';

class CorridorEdgesDto {
  @EdgeField(() => CurrencyDto, 'What arrives.', false)
  readonly destinationCurrency?: CurrencyDto;

  @EdgeField(() => CurrencyDto, 'What the limits are written in.', false)
  readonly limitCurrency?: CurrencyDto;
}

export class CorridorDto implements Corridor {
  @IdField('The corridor.', 1)
  readonly id!: Corridor['id'];

  @TextField('ISO 3166-1 alpha-2 code of the destination.', 'IN', false)
  readonly destinationCountry?: string;

  @IdField('Id of the currency that arrives.', 356, false)
  readonly destinationCurrencyID?: NonNullable<Corridor['destinationCurrencyID']>;

  @IdField('Id of the currency the limits are written in.', 840, false)
  readonly limitCurrencyID?: NonNullable<Corridor['limitCurrencyID']>;

  @KnownValues()
  @TextField('`LOCAL`: the network of the country. `SWIFT`: correspondent banks.', 'LOCAL', false)
  readonly payoutMethod?: NonNullable<Corridor['payoutMethod']>;

  @KnownValues()
  @TextField('Who the beneficiary is: `Individual` or `Corporate`.', 'Individual', false)
  readonly beneficiaryAccountType?: NonNullable<Corridor['beneficiaryAccountType']>;

  @KnownValues()
  @TextField(
    'The code that leads to the bank: `SWIFT`, `IFSC`, `SORT CODE`, `ACH CODE`, `BRANCH CODE`, `BSB CODE`, `BANK CODE`; more may come.',
    'IFSC',
    false,
  )
  readonly routingCodeType?: NonNullable<Corridor['routingCodeType']>;

  @TextField('How long delivery takes, as text. "(demo)" marks a figure no bank has promised.', 'T+1 (demo)', false)
  readonly deliveryTAT?: string;

  @AmountField('Smallest amount, inclusive, in minor units of `edges.limitCurrency`. Demo figures in the demo data.', '1000', false) // prettier-ignore
  readonly minimumAmount?: NonNullable<Corridor['minimumAmount']>;

  @AmountField('Largest amount, inclusive, in minor units of `edges.limitCurrency`. Demo figures in the demo data.', '5000000', false) // prettier-ignore
  readonly maximumAmount?: NonNullable<Corridor['maximumAmount']>;

  @Field('stated', { type: 'boolean', description: 'Whether it can be used now.', example: true, required: false })
  readonly enabled?: boolean;

  @TimeField('When the record was made.')
  readonly createdAt?: NonNullable<Corridor['createdAt']>;

  @TimeField('When the record last changed.')
  readonly updatedAt?: NonNullable<Corridor['updatedAt']>;

  @EdgeField(() => CorridorEdgesDto, 'Related records.')
  readonly edges!: CorridorEdgesDto;
}
