import type { RecipientFieldSchema, RecipientSchema } from '@banking/domain';
import { ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import { Field } from '../http/field.decorator.js';

const text = (description: string, example: string, required = true): PropertyDecorator =>
  Field('ours', { type: 'string', description, example, required });

const texts = (description: string, example: readonly string[], required = true): PropertyDecorator =>
  Field('ours', { type: 'array', items: { type: 'string' }, description, example, required });

/** The rule of one field of `Beneficiary.data`. */
export class RecipientFieldSchemaDto implements RecipientFieldSchema {
  @text('Always `string`.', 'string')
  readonly type!: string;

  @text('Label of the field.', 'Account of the beneficiary')
  readonly title!: string;

  @text('The rule as a sentence for people.', 'Account number: 9 to 18 digits.')
  readonly description!: string;

  @texts('Valid values.', ['50100123456789'], false)
  readonly examples?: readonly string[];

  @text('The source of the rule and its date.', 'ISO 3166-1 (2026-11-21)', false)
  readonly $comment?: string;

  @text(
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

  @text('The only valid value.', 'IFSC', false)
  readonly const?: string;

  @texts('The valid values.', ['Individual', 'Corporate'], false)
  readonly enum?: readonly string[];
}

@ApiExtraModels(RecipientFieldSchemaDto)
export class RecipientSchemaDto implements RecipientSchema {
  @text('The dialect of JSON Schema: 2020-12.', 'https://json-schema.org/draft/2020-12/schema')
  readonly $schema!: string;

  @text('The permanent name of the schema.', 'urn:banking:recipient-schema:IN:INR:LOCAL:Individual:IFSC')
  readonly $id!: string;

  @text('A label for the choice between schemas.', 'INR to a person in India, LOCAL, by IFSC')
  readonly title!: string;

  @text('The source of the corridor and its date.', 'Route: Reserve Bank of India (2026-11-21).', false)
  readonly $comment?: string;

  @text('Always `object`.', 'object')
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
