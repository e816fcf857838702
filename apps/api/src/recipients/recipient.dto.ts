import type { Bank, Beneficiary, Recipient } from '@banking/domain';
import { EdgeField, Field, IdField, TextField, TimeField } from '../http/field.decorator.js';
import { CurrencyDto } from '../products/currency.dto.js';

export class BankDto implements Bank {
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

export class BeneficiaryDto implements Beneficiary {
  @IdField('The beneficiary.', 1)
  readonly id!: Beneficiary['id'];

  @Field('known', {
    type: 'object',
    additionalProperties: true,
    description: 'Who finally owns the money, in the fields the corridor asks for.',
    example: {
      beneficiaryName: 'Ravi Menon',
      destinationCountry: 'IN',
      beneficiaryAccountType: 'Individual',
      beneficiaryAccountNumber: '50100123456789',
      routingCodeType1: 'IFSC',
      routingCodeValue1: 'HDFC0000001',
    },
    required: [],
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

  @EdgeField(() => CurrencyDto, 'What the recipient is paid in.', false)
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

  @Field('stated', { type: 'boolean', description: 'Whether it is kept in the list of recipients.', example: true, required: false }) // prettier-ignore
  readonly saved?: boolean;

  @TimeField('When the record was made.')
  readonly createdAt?: NonNullable<Recipient['createdAt']>;

  @TimeField('When the record last changed.')
  readonly updatedAt?: NonNullable<Recipient['updatedAt']>;

  @EdgeField(() => RecipientEdgesDto, 'Related records.')
  readonly edges!: RecipientEdgesDto;
}
