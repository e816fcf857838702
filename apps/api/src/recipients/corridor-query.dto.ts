import type { CorridorQuery } from '@banking/domain';
import { ChoiceParameter, PatternParameter } from '../input/parameter.decorator.js';

/** Which corridor is meant. */
export class CorridorQueryDto implements CorridorQuery {
  @PatternParameter('ours', /^[A-Za-z]{2,3}$/, 'a country code of ISO 3166-1, such as IN', {
    isRequired: true,
    description: 'Where the money goes: ISO 3166-1 alpha-2 in any case; alpha-3 is understood too.',
  })
  readonly countryCode!: string;

  @PatternParameter('ours', /^[A-Za-z]{3}$/, 'a currency code of ISO 4217, such as INR', {
    isRequired: true,
    description: 'What arrives: ISO 4217 alpha-3 in any case.',
  })
  readonly currencyCode!: string;

  @ChoiceParameter('known', ['LOCAL', 'SWIFT'], 'By the network of the country, or by correspondent banks.', {
    isRequired: true,
  })
  readonly payoutMethod!: CorridorQuery['payoutMethod'];
}

export class RecipientSchemaQueryDto extends CorridorQueryDto {
  @ChoiceParameter('known', ['Individual', 'Corporate'], 'Only for persons, or only for companies.')
  readonly beneficiaryAccountType?: NonNullable<CorridorQuery['beneficiaryAccountType']>;
}
