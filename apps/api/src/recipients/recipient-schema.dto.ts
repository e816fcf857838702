import type { RecipientFieldSchema, RecipientSchema } from '@banking/domain';
import { ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import { Field } from '../http/field.decorator.js';

const text = (description: string, example: string, required = true): PropertyDecorator =>
  Field('ours', { type: 'string', description, example, required });

const texts = (description: string, example: readonly string[], required = true): PropertyDecorator =>
  Field('ours', { type: 'array', items: { type: 'string' }, description, example, required });

/** What one field of `Beneficiary.data` may hold. */
export class RecipientFieldSchemaDto implements RecipientFieldSchema {
  @text('Always `string`.', 'string')
  readonly type!: string;

  @text('What to ask for.', 'Account of the beneficiary')
  readonly title!: string;

  @text('The rule, in a sentence for people.', 'Account number: 9 to 18 digits.')
  readonly description!: string;

  @texts('Texts that pass.', ['50100123456789'], false)
  readonly examples?: readonly string[];

  @text('Who says so, and of what date.', 'ISO 3166-1 (2026-11-21)', false)
  readonly $comment?: string;

  @text('A regular expression without look-around, for the whole text.', '^[0-9]{9,18}$', false)
  readonly pattern?: string;

  @Field('ours', { type: 'integer', minimum: 1, description: 'How many characters it has at most.', example: 140, required: false }) // prettier-ignore
  readonly maxLength?: number;

  @text('The one text it can be.', 'IFSC', false)
  readonly const?: string;

  @texts('The texts it can be.', ['Individual', 'Corporate'], false)
  readonly enum?: readonly string[];
}

@ApiExtraModels(RecipientFieldSchemaDto)
export class RecipientSchemaDto implements RecipientSchema {
  @text('The dialect: 2020-12.', 'https://json-schema.org/draft/2020-12/schema')
  readonly $schema!: string;

  @text('Its name, which stays.', 'urn:banking:recipient-schema:IN:INR:LOCAL:Individual:IFSC')
  readonly $id!: string;

  @text('What it is for, to show where there is a choice.', 'INR to a person in India, LOCAL, by IFSC')
  readonly title!: string;

  @text('Who says that there is such a route.', 'Route: Reserve Bank of India (2026-11-21).', false)
  readonly $comment?: string;

  @text('Always `object`.', 'object')
  readonly type!: string;

  @Field('ours', {
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(RecipientFieldSchemaDto) },
    description: 'The fields of `data`, each with its rule.',
    example: { beneficiaryName: { type: 'string', title: 'Name of the beneficiary', description: 'First and last name.' } }, // prettier-ignore
    selfRequired: true,
  } as Parameters<typeof Field>[1])
  readonly properties!: Readonly<Record<string, RecipientFieldSchemaDto>>;

  @texts('The fields that must be there.', ['beneficiaryName', 'beneficiaryAccountNumber'])
  readonly required!: readonly string[];

  @Field('ours', { type: 'boolean', description: 'Always `false`: other fields are refused.', example: false })
  readonly additionalProperties!: boolean;

  @Field('ours', {
    type: 'array',
    items: { type: 'object', additionalProperties: { type: 'string' } },
    description: 'Details that pass, invented: what to send as `data`.',
    example: [{ beneficiaryName: 'Maria Muster' }],
    required: false,
  })
  readonly examples?: readonly Readonly<Record<string, string>>[];
}
