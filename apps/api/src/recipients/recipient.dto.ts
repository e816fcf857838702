import type { Bank, Beneficiary, Recipient } from '@banking/domain';
import { EdgeField, Field, IdField, TextField, TimeField } from '../http/field.decorator.js';
import { CurrencyDto } from '../products/currency.dto.js';

const text = (description: string, example: string) => ({
  type: 'string' as const,
  description,
  example,
  'x-provenance': 'known',
});

/** The fields that a corridor may ask for; which of them it does, its schema says. */
export const BENEFICIARY_DATA = {
  type: 'object' as const,
  properties: {
    beneficiaryName: text('Full name.', 'Ravi Menon'),
    beneficiaryAddress: text('Where they live or are registered.', '12 Marine Drive, Mumbai'),
    destinationCountry: text('ISO 3166-1 alpha-2 code of the country the money goes to.', 'IN'),
    beneficiaryAccountType: text('`Individual` or `Corporate`.', 'Individual'),
    beneficiaryCountryCode: text('ISO 3166-1 alpha-2 code of their own country.', 'IN'),
    beneficiaryAccountNumber: text('Account number or IBAN.', '50100123456789'),
    routingCodeType1: text('Which code leads to the bank.', 'IFSC'),
    routingCodeValue1: text('That code.', 'HDFC0000001'),
  },
  required: [],
};

class BankDto implements Bank {
  @IdField('The bank.', 1)
  readonly id!: Bank['id'];

  @TextField('Name.', 'Deutsche Bank')
  readonly name!: string;

  @TextField('ISO 3166-1 alpha-2 code.', 'DE', false)
  readonly countryCode?: string;

  @TextField('SWIFT/BIC code (ISO 9362).', 'DEUTDEFF', false)
  readonly swiftCode?: string;

  @TimeField('When the record was made.')
  readonly createdAt?: NonNullable<Bank['createdAt']>;

  @TimeField('When the record last changed.')
  readonly updatedAt?: NonNullable<Bank['updatedAt']>;
}

class BeneficiaryDto implements Beneficiary {
  @IdField('The beneficiary.', 1)
  readonly id!: Beneficiary['id'];

  @Field('known', {
    ...BENEFICIARY_DATA,
    additionalProperties: true,
    description: 'Who finally owns the money, in the fields the corridor asks for. A corridor may ask for more.',
    selfRequired: false,
  })
  readonly data?: NonNullable<Beneficiary['data']>;

  @TimeField('When the record was made.')
  readonly createdAt?: NonNullable<Beneficiary['createdAt']>;

  @TimeField('When the record last changed.')
  readonly updatedAt?: NonNullable<Beneficiary['updatedAt']>;
}

class RecipientEdgesDto {
  @EdgeField(() => BankDto, 'The bank of the recipient; left out where it is not known.', false)
  readonly bank?: BankDto;

  @EdgeField(() => BeneficiaryDto, 'For international transfers.', false)
  readonly beneficiary?: BeneficiaryDto;

  @EdgeField(() => CurrencyDto, 'What the recipient is paid in; left out for an account of another workspace.', false)
  readonly currency?: CurrencyDto;
}

export class RecipientDto implements Recipient {
  @IdField('The recipient.', 2)
  readonly id!: Recipient['id'];

  @TextField('Name.', 'Ravi Menon')
  readonly name!: string;

  @TextField('Account code of the recipient.', '50100123456789')
  readonly accountCode!: string;

  @TextField('Nickname.', 'Ravi, Mumbai', false)
  readonly alias?: string;

  @Field('stated', { type: 'boolean', description: 'Whether it is to be offered again.', example: true, required: false }) // prettier-ignore
  readonly saved?: boolean;

  @TimeField('When the record was made.')
  readonly createdAt?: NonNullable<Recipient['createdAt']>;

  @TimeField('When the record last changed.')
  readonly updatedAt?: NonNullable<Recipient['updatedAt']>;

  @EdgeField(() => RecipientEdgesDto, 'Related records.')
  readonly edges!: RecipientEdgesDto;
}
