import type { Corridor, CorridorFee, CorridorQuery } from '@banking/domain';
import {
  AmountField,
  EdgeField,
  Field,
  IdField,
  KnownValues,
  OwnAmountField,
  OwnEdgeField,
  TextField,
  TimeField,
} from '../http/field.decorator.js';
import { ChoiceParameter, PatternParameter } from '../input/parameter.decorator.js';
import { CurrencyDto } from '../products/product.dto.js';

class CorridorEdgesDto {
  @EdgeField(() => CurrencyDto, 'The currency that arrives.', false)
  readonly destinationCurrency?: CurrencyDto;

  @EdgeField(() => CurrencyDto, 'The currency of the limits.', false)
  readonly limitCurrency?: CurrencyDto;
}

class CorridorFeeDto implements CorridorFee {
  @OwnAmountField('Fixed part, in minor units of `edges.limitCurrency`, as the other amounts.', '100')
  readonly fixedAmount!: CorridorFee['fixedAmount'];

  @Field('ours', {
    type: 'integer',
    minimum: 0,
    maximum: 1_000_000,
    description: 'Share of the amount in parts per million: 2,000 is 0.2 percent.',
    example: 2_000,
  })
  readonly partsPerMillion!: number;

  @OwnAmountField('Smallest fee.', '200')
  readonly minimumAmount!: CorridorFee['minimumAmount'];

  @OwnAmountField('Largest fee. Left out if the fee has no upper limit.', '2500', false)
  readonly maximumAmount?: NonNullable<CorridorFee['maximumAmount']>;
}

export class CorridorDto implements Corridor {
  @IdField('The corridor.', 1)
  readonly id!: Corridor['id'];

  @TextField('ISO 3166-1 alpha-2 code of the destination.', 'IN', false)
  readonly destinationCountry?: string;

  @IdField('Id of the currency that arrives.', 356, false)
  readonly destinationCurrencyID?: NonNullable<Corridor['destinationCurrencyID']>;

  @IdField('Id of the currency of the limits.', 840, false)
  readonly limitCurrencyID?: NonNullable<Corridor['limitCurrencyID']>;

  @KnownValues()
  @TextField('`LOCAL`: the network of the country. `SWIFT`: correspondent banks.', 'LOCAL', false)
  readonly payoutMethod?: NonNullable<Corridor['payoutMethod']>;

  @KnownValues()
  @TextField('Type of the beneficiary: `Individual` or `Corporate`.', 'Individual', false)
  readonly beneficiaryAccountType?: NonNullable<Corridor['beneficiaryAccountType']>;

  @KnownValues()
  @TextField(
    'Type of the routing code: `SWIFT`, `IFSC`, `SORT CODE`, `ACH CODE`, `BRANCH CODE`, `BSB CODE` or `BANK CODE`. More types may be added.',
    'IFSC',
    false,
  )
  readonly routingCodeType?: NonNullable<Corridor['routingCodeType']>;

  @TextField('Delivery time, as text.', 'T+1 (demo)', false)
  readonly deliveryTAT?: string;

  @KnownValues()
  @AmountField('Smallest amount, inclusive, in minor units of `edges.limitCurrency`.', '1000', false)
  readonly minimumAmount?: NonNullable<Corridor['minimumAmount']>;

  @KnownValues()
  @AmountField('Largest amount, inclusive, in minor units of `edges.limitCurrency`.', '5000000', false)
  readonly maximumAmount?: NonNullable<Corridor['maximumAmount']>;

  @OwnEdgeField(
    () => CorridorFeeDto,
    'Price of a payment: the fixed part and the share. Left out if payments are free.',
    false,
  )
  readonly fee?: CorridorFeeDto;

  @Field('stated', {
    type: 'boolean',
    description: 'Whether the corridor can be used now: it is open, and a payment network serves it.',
    example: true,
    required: false,
  })
  readonly enabled?: boolean;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Corridor['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Corridor['updatedAt']>;

  @EdgeField(() => CorridorEdgesDto, 'Related records.')
  readonly edges!: CorridorEdgesDto;
}

export class CorridorQueryDto implements Omit<CorridorQuery, 'beneficiaryAccountType'> {
  @PatternParameter('ours', /^[A-Za-z]{2,3}$/, 'a country code of ISO 3166-1, such as IN', {
    isRequired: true,
    description: 'Destination country: ISO 3166-1 alpha-2 in any case; alpha-3 is accepted too.',
  })
  readonly countryCode!: string;

  @PatternParameter('ours', /^[A-Za-z]{3}$/, 'a currency code of ISO 4217, such as INR', {
    isRequired: true,
    description: 'Currency that arrives: ISO 4217 alpha-3 in any case.',
  })
  readonly currencyCode!: string;

  @ChoiceParameter('known', ['LOCAL', 'SWIFT'], '`LOCAL`: the network of the country. `SWIFT`: correspondent banks.', {
    isRequired: true,
  })
  readonly payoutMethod!: CorridorQuery['payoutMethod'];
}

export class RecipientSchemaQueryDto extends CorridorQueryDto {
  @ChoiceParameter('known', ['Individual', 'Corporate'], 'Only schemas for persons, or only schemas for companies.')
  readonly beneficiaryAccountType?: NonNullable<CorridorQuery['beneficiaryAccountType']>;
}
