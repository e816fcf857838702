import { ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import type {
  AddInternalRecipientInput,
  AddInternationalRecipientInput,
  Bank,
  Beneficiary,
  Recipient,
  RecipientChange,
  RecipientFieldSchema,
  RecipientQuery,
  RecipientSchema,
  RecipientVerification,
} from '@banking/domain';
import {
  EdgeField,
  Field,
  IdField,
  OwnEdgeField,
  OwnTextField,
  OwnTimeField,
  TextField,
  TimeField,
} from '../http/field.decorator.js';
import { BooleanBodyField, LineField, ObjectField } from '../input/body-field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import { BooleanParameter } from '../input/parameter.decorator.js';
import { CurrencyDto } from '../products/product.dto.js';

const text = (description: string, example: string) => ({
  type: 'string' as const,
  description,
  example,
  'x-provenance': 'known',
});

/** An element of the address: ours, beside the text `beneficiaryAddress` of the interface. */
const element = (description: string, example: string) => ({
  ...text(description, example),
  'x-provenance': 'ours',
});

/** The fields that a corridor can require. Its schema lists the required ones. */
const BENEFICIARY_DATA = {
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
    beneficiaryStreetName: element('Street.', 'Marine Drive'),
    beneficiaryBuildingNumber: element('Number of the house.', '12'),
    beneficiaryPostCode: element('Postal code.', '400020'),
    beneficiaryTownName: element('Town. Required beside street, number or postal code.', 'Mumbai'),
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

class RecipientVerificationDto implements RecipientVerification {
  @OwnTextField('`match`, `close_match`, `no_match` or `not_possible`. Other values are possible.', 'close_match')
  readonly result!: string;

  @OwnTextField('With `close_match`: the name of the holder, for the payer to compare.', 'R. Menon', false)
  readonly name?: string;

  @OwnTimeField('Time of the answer.', true)
  readonly verifiedAt!: RecipientVerification['verifiedAt'];
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

  @OwnEdgeField(
    () => RecipientVerificationDto,
    "What the payee's bank answered last. Omitted before, and where a recipient is an edge of another record.",
    false,
  )
  readonly verification?: RecipientVerificationDto;

  @EdgeField(() => RecipientEdgesDto, 'Related records.')
  readonly edges!: RecipientEdgesDto;
}

const LINE_MAX = 140;
const SAVED = 'Whether the recipient is offered again. `GET /recipients?saved=true` lists these recipients.';

export class RecipientQueryDto extends PageQueryDto implements RecipientQuery {
  @BooleanParameter('ours', 'Only recipients with this `saved` flag.')
  readonly saved?: boolean;
}

export class InternationalRecipientDto implements Pick<AddInternationalRecipientInput, 'data' | 'alias' | 'saved'> {
  @ObjectField('known', {
    ...BENEFICIARY_DATA,
    additionalProperties: false,
    description: 'The beneficiary, in exactly the fields of a schema of `GET /recipients/validation-schema`.',
  })
  readonly data!: AddInternationalRecipientInput['data'];

  @LineField('ours', LINE_MAX, 'Nickname.', 'Asha, Pune')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { default: true, example: true })
  readonly saved?: boolean;
}

export class InternalRecipientDto implements AddInternalRecipientInput {
  @LineField('ours', LINE_MAX, 'The `code` of the account to pay to.', 'NW0000000006', true)
  readonly accountCode!: string;

  @LineField('ours', LINE_MAX, 'The name of the recipient. Defaults to the alias, or else to the code.', 'Southwind')
  readonly name?: string;

  @LineField('ours', LINE_MAX, 'Nickname.', 'Southwind, deposits')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { default: true, example: true })
  readonly saved?: boolean;
}

export class RecipientChangeDto implements Omit<RecipientChange, 'recipientId'> {
  @LineField('ours', LINE_MAX, 'The new nickname.', 'Berlin, rent')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { example: false })
  readonly saved?: boolean;
}

const texts = (description: string, example: readonly string[], required = true): PropertyDecorator =>
  Field('ours', { type: 'array', items: { type: 'string' }, description, example, required });

export class RecipientFieldSchemaDto implements RecipientFieldSchema {
  @OwnTextField('Always `string`.', 'string')
  readonly type!: string;

  @OwnTextField('Label of the field.', 'Account of the beneficiary')
  readonly title!: string;

  @OwnTextField('The rule as a sentence for people.', 'Account number: 9 to 18 digits.')
  readonly description!: string;

  @texts('Valid values.', ['50100123456789'], false)
  readonly examples?: readonly string[];

  @OwnTextField('The source of the rule and its date.', 'ISO 3166-1 (2026-11-21)', false)
  readonly $comment?: string;

  @OwnTextField(
    'A regular expression of ECMA-262 with the flag `u`, for the whole value and without look-around.',
    '^[0-9]{9,18}$',
    false,
  )
  readonly pattern?: string;

  @Field('ours', {
    type: 'integer',
    minimum: 1,
    description: 'Largest number of characters.',
    example: 140,
    required: false,
  })
  readonly maxLength?: number;

  @OwnTextField('The only valid value.', 'IFSC', false)
  readonly const?: string;

  @texts('The valid values.', ['Individual', 'Corporate'], false)
  readonly enum?: readonly string[];
}

@ApiExtraModels(RecipientFieldSchemaDto)
export class RecipientSchemaDto implements RecipientSchema {
  @OwnTextField('The dialect of JSON Schema: 2020-12.', 'https://json-schema.org/draft/2020-12/schema')
  readonly $schema!: string;

  @OwnTextField('The permanent name of the schema.', 'urn:banking:recipient-schema:IN:INR:LOCAL:Individual:IFSC')
  readonly $id!: string;

  @OwnTextField('A label for the choice between schemas.', 'INR to a person in India, LOCAL, by IFSC')
  readonly title!: string;

  @OwnTextField('The source of the corridor and its date.', 'Route: Reserve Bank of India (2026-11-21).', false)
  readonly $comment?: string;

  @OwnTextField('Always `object`.', 'object')
  readonly type!: string;

  @Field('ours', {
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(RecipientFieldSchemaDto) },
    description: 'The fields of `data` with their rules.',
    example: {
      beneficiaryName: { type: 'string', title: 'Name of the beneficiary', description: 'First and last name.' },
    },
    selfRequired: true,
  } as Parameters<typeof Field>[1])
  readonly properties!: Readonly<Record<string, RecipientFieldSchemaDto>>;

  @texts('The required fields.', ['beneficiaryName', 'beneficiaryAccountNumber'])
  readonly required!: readonly string[];

  @Field('ours', {
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'The fields that are required beside a field.',
    example: { beneficiaryStreetName: ['beneficiaryTownName'] },
    selfRequired: false,
  } as Parameters<typeof Field>[1])
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;

  @Field('ours', { type: 'boolean', description: 'Always `false`: the service refuses other fields.', example: false })
  readonly additionalProperties!: boolean;

  @Field('ours', {
    type: 'array',
    items: { type: 'object', additionalProperties: { type: 'string' } },
    description: 'Invented valid values of `data`.',
    example: [{ beneficiaryName: 'Maria Muster' }],
    required: false,
  })
  readonly examples?: readonly Readonly<Record<string, string>>[];
}
