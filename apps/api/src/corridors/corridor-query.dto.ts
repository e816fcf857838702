import type { CorridorQuery } from '@banking/domain';
import { ChoiceParameter, PatternParameter } from '../input/parameter.decorator.js';

/** The country, currency and payout method of a corridor. */
export class CorridorQueryDto implements CorridorQuery {
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
