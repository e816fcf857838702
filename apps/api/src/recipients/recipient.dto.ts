import type { Bank, Beneficiary, Recipient } from '@banking/domain';
import { EdgeField, Field, IdField, TextField, TimeField } from '../http/field.decorator.js';
import { CurrencyDto } from '../products/currency.dto.js';

const text = (description: string, example: string) => ({
  type: 'string' as const,
  description,
  example,
  'x-provenance': 'known',
});

/** The fields that a corridor can require. Its schema lists the required ones. */
export const BENEFICIARY_DATA = {
  type: 'object' as const,
  properties: {
    beneficiaryName: text('Full name.', 'Ravi Menon'),
    beneficiaryAddress: text('Address of residence or registration.', '12 Marine Drive, Mumbai'),
    destinationCountry: text('Destination country: ISO 3166-1 alpha-2 code.', 'IN'),
    beneficiaryAccountType: text('`Individual` or `Corporate`.', 'Individual'),
    beneficiaryCountryCode: text('Country of the beneficiary: ISO 3166-1 alpha-2 code.', 'IN'),
    beneficiaryAccountNumber: text('Account number or IBAN.', '50100123456789'),
    routingCodeType1: text('Type of the routing code.', 'IFSC'),
    routingCodeValue1: text('The routing code of the bank.', 'HDFC0000001'),
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

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Bank['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Bank['updatedAt']>;
}

class BeneficiaryDto implements Beneficiary {
  @IdField('The beneficiary.', 1)
  readonly id!: Beneficiary['id'];

  @Field('known', {
    ...BENEFICIARY_DATA,
    additionalProperties: true,
    description: 'The beneficiary, in the fields that the corridor requires. A corridor can require other fields.',
    selfRequired: false,
  })
  readonly data?: NonNullable<Beneficiary['data']>;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Beneficiary['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Beneficiary['updatedAt']>;
}

class RecipientEdgesDto {
  @EdgeField(() => BankDto, 'The bank of the recipient. Omitted if unknown.', false)
  readonly bank?: BankDto;

  @EdgeField(() => BeneficiaryDto, 'For international transfers.', false)
  readonly beneficiary?: BeneficiaryDto;

  @EdgeField(() => CurrencyDto, 'The currency of the recipient. Omitted for an account of another workspace.', false)
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

  @Field('stated', {
    type: 'boolean',
    description: 'Whether the recipient is offered again.',
    example: true,
    required: false,
  })
  readonly saved?: boolean;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Recipient['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Recipient['updatedAt']>;

  @EdgeField(() => RecipientEdgesDto, 'Related records.')
  readonly edges!: RecipientEdgesDto;
}
