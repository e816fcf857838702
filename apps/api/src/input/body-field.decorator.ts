import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import {
  foldEmail,
  FORBIDDEN_CHARACTERS,
  isAmountCurrency,
  isFreeText,
  isInstant,
  MINOR_UNITS_MAX,
  type RefusalReason,
} from '@banking/domain';
import type { Provenance } from '../http/field.decorator.js';
import { freeTextRule, freeTextSchema, mustBe } from './parameter.decorator.js';

interface FieldRule {
  readonly provenance: Provenance;
  readonly isRequired: boolean;
  readonly schema: ApiPropertyOptions;
  readonly reason?: RefusalReason;
  /** The rule, to follow `<name> must be`. */
  readonly must: string;
  readonly isValid: (value: unknown) => boolean;
}

/** A field of a body. An optional field is omitted, never `null`. */
function BodyField({
  provenance,
  isRequired,
  schema,
  reason = 'body_malformed',
  must,
  isValid,
}: FieldRule): PropertyDecorator {
  const mark = provenance === 'stated' ? {} : { 'x-provenance': provenance };
  const rule = {
    name: reason,
    validator: { validate: isValid, defaultMessage: () => mustBe('$property', must) },
  };
  return applyDecorators(
    ApiProperty({ ...schema, ...mark, required: isRequired } as ApiPropertyOptions),
    ...(isRequired ? [] : [ValidateIf((_: object, value: unknown) => value !== undefined)]),
    ValidateBy(rule, { context: { reason } }),
  );
}

const idBodyField = (isRequired: boolean) => (provenance: Provenance, description: string, example: number) =>
  BodyField({
    provenance,
    isRequired,
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description, example },
    must: `a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`,
    isValid: (value) => Number.isSafeInteger(value) && (value as number) >= 1,
  });

export const IdBodyField = idBodyField(true);
export const OptionalIdBodyField = idBodyField(false);

export const CURRENCY_RULE = 'the code of a current currency of ISO 4217, in three capital letters';

/** A currency with known decimals. */
const currencyBodyField =
  (isRequired: boolean) =>
  (provenance: Provenance, description: string, example: string): PropertyDecorator =>
    BodyField({
      provenance,
      isRequired,
      schema: { type: 'string', pattern: '^[A-Z]{3}$', description, example },
      reason: 'currency_unknown',
      must: CURRENCY_RULE,
      isValid: (value) => typeof value === 'string' && isAmountCurrency(value),
    });

export const CurrencyBodyField = currencyBodyField(true);
export const OptionalCurrencyBodyField = currencyBodyField(false);

/** The rules of an amount in a request, to follow `<name> must be`. */
export const AMOUNT_RULES = {
  digits: 'a text of digits in the smallest unit of the currency: at least 1, no sign, no point, no leading zero',
  range: `at most ${MINOR_UNITS_MAX}`,
} as const;

const AMOUNT = /^[1-9][0-9]{0,18}$/;

const amountBodyField =
  (isRequired: boolean) =>
  (provenance: Provenance, description: string, example: string): PropertyDecorator => {
    const reason: RefusalReason = 'amount_out_of_range';
    const isInRange = (value: unknown) => !isAmount(value) || BigInt(value) <= MINOR_UNITS_MAX;
    const range = {
      name: reason,
      validator: { validate: isInRange, defaultMessage: () => mustBe('$property', AMOUNT_RULES.range) },
    };
    return applyDecorators(
      BodyField({
        provenance,
        isRequired,
        schema: { type: 'string', pattern: AMOUNT.source, description, example },
        reason: 'amount_malformed',
        must: AMOUNT_RULES.digits,
        isValid: isAmount,
      }),
      ValidateBy(range, { context: { reason } }),
    );
  };

/** An amount in a request, in the format of transfers: at least one minor unit. */
export const AmountBodyField = amountBodyField(true);
export const OptionalAmountBodyField = amountBodyField(false);

const isAmount = (value: unknown): value is string => typeof value === 'string' && AMOUNT.test(value);

export const LineField = (
  provenance: Provenance,
  maxLength: number,
  description: string,
  example: string,
  isRequired = false,
): PropertyDecorator =>
  BodyField({
    provenance,
    isRequired,
    schema: { ...freeTextSchema(maxLength), description, example },
    must: freeTextRule(maxLength),
    isValid: (value) => typeof value === 'string' && isFreeText(value, maxLength),
  });

const choiceField =
  (isRequired: boolean) =>
  (provenance: Provenance, choices: readonly string[], description: string): PropertyDecorator =>
    BodyField({
      provenance,
      isRequired,
      schema: { type: 'string', enum: [...choices], description, example: choices[0] },
      must: `one of ${choices.join(', ')}`,
      isValid: (value) => choices.includes(value as string),
    });

export const ChoiceField = choiceField(false);
export const RequiredChoiceField = choiceField(true);

const choicesField =
  (isRequired: boolean) =>
  (provenance: Provenance, choices: readonly string[], description: string): PropertyDecorator =>
    applyDecorators(
      Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]),
      BodyField({
        provenance,
        isRequired,
        schema: {
          type: 'array',
          items: { type: 'string', enum: [...choices] },
          ...(isRequired && { minItems: 1 }),
          uniqueItems: true,
          description,
          example: [choices[0]],
        },
        must: `a list of ${isRequired ? 'one or more ' : ''}different values, each one of ${choices.join(', ')}`,
        isValid: (value) =>
          Array.isArray(value) &&
          (value.length > 0 || !isRequired) &&
          new Set(value).size === value.length &&
          value.every((one: unknown) => choices.includes(one as string)),
      }),
    );

/** A list of different choices, which may be empty. */
export const ChoicesField = choicesField(false);
/** A list of at least one of different choices. */
export const RequiredChoicesField = choicesField(true);

/** A list of short texts, which the port validates further. */
export const LinesField = (
  provenance: Provenance,
  max: { readonly count: number; readonly length: number },
  description: string,
  example: readonly string[],
): PropertyDecorator =>
  BodyField({
    provenance,
    isRequired: false,
    schema: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: max.length },
      maxItems: max.count,
      description,
      example: [...example],
    },
    must: `a list of at most ${max.count} texts of 1 to ${max.length} characters`,
    isValid: (value) =>
      Array.isArray(value) &&
      value.length <= max.count &&
      value.every((one: unknown) => typeof one === 'string' && one.length >= 1 && one.length <= max.length),
  });

export const EmailField = (provenance: Provenance, description: string, example: string): PropertyDecorator =>
  BodyField({
    provenance,
    isRequired: true,
    schema: { type: 'string', format: 'email', maxLength: 320, description, example },
    must: 'an e-mail address in ASCII',
    isValid: (value) => typeof value === 'string' && foldEmail(value) !== undefined,
  });

const instantField =
  (isRequired: boolean) =>
  (provenance: Provenance, description: string, example: string): PropertyDecorator =>
    BodyField({
      provenance,
      isRequired,
      schema: { type: 'string', format: 'date-time', description, example },
      reason: 'timestamp_invalid',
      must: INSTANT_RULE,
      isValid: (value) => typeof value === 'string' && isInstant(value),
    });

/** An instant with the offset of the caller, which is stored with it. */
export const InstantBodyField = instantField(false);
export const RequiredInstantField = instantField(true);

const INSTANT_RULE = 'RFC 3339 with an offset, such as 2026-11-21T09:30:00Z';

const wholeNumberField =
  (isRequired: boolean) =>
  (
    provenance: Provenance,
    { minimum, maximum }: { readonly minimum: number; readonly maximum: number },
    description: string,
    example: number,
  ): PropertyDecorator =>
    BodyField({
      provenance,
      isRequired,
      schema: { type: 'integer', minimum, maximum, description, example },
      must: `a whole number from ${minimum} to ${maximum}`,
      isValid: (value) => Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum,
    });

export const WholeNumberField = wholeNumberField(false);
export const RequiredWholeNumberField = wholeNumberField(true);

/** A number from 0 as a text of digits, for values that JSON numbers do not carry everywhere. */
export const DigitsBodyField = (
  provenance: Provenance,
  maximum: bigint,
  description: string,
  example: string,
): PropertyDecorator =>
  BodyField({
    provenance,
    isRequired: true,
    schema: { type: 'string', pattern: DIGITS.source, description, example },
    must: `a text of digits from 0 to ${maximum}, without a leading zero`,
    isValid: (value) => typeof value === 'string' && DIGITS.test(value) && BigInt(value) <= maximum,
  });

const DIGITS = /^(0|[1-9][0-9]{0,15})$/;

const listBodyField =
  (isRequired: boolean) =>
  (
    provenance: Provenance,
    itemOf: () => new () => object,
    { minItems = 0, maxItems }: { readonly minItems?: number; readonly maxItems: number },
    description: string,
    example?: readonly object[],
  ): PropertyDecorator =>
    applyDecorators(
      Type(itemOf),
      ValidateNested({ each: true }),
      BodyField({
        provenance,
        isRequired,
        schema: {
          ...{ type: () => [itemOf()], maxItems, description },
          ...(minItems > 0 && { minItems }),
          ...(example && { example }),
        } as ApiPropertyOptions,
        must: `a list of ${minItems > 0 ? `${minItems} to` : 'at most'} ${maxItems} objects`,
        isValid: (value) =>
          Array.isArray(value) &&
          value.length >= minItems &&
          value.length <= maxItems &&
          value.every((item) => typeof item === 'object' && item !== null && !Array.isArray(item)),
      }),
    );

/** A list of objects, each with the fields of a DTO. */
export const ListBodyField = listBodyField(true);
export const OptionalListBodyField = listBodyField(false);

/** The caller's own pairs of name and text. */
export const PairsField = (
  provenance: Provenance,
  max: { readonly count: number; readonly name: number; readonly value: number },
  description: string,
  example: Readonly<Record<string, string>>,
): PropertyDecorator =>
  applyDecorators(
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]),
    BodyField({
      provenance,
      isRequired: false,
      schema: {
        type: 'object',
        propertyNames: freeTextSchema(max.name),
        additionalProperties: freeTextSchema(max.value),
        maxProperties: max.count,
        description,
        example,
      } as ApiPropertyOptions,
      must:
        `an object of at most ${max.count} texts: names of at most ${max.name} characters, texts of at most ${max.value}, ` +
        `neither empty nor only spaces, without ${FORBIDDEN_CHARACTERS}`,
      isValid: (value) =>
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        Object.entries(value).length <= max.count &&
        Object.entries(value).every(
          ([name, text]) => isFreeText(name, max.name) && typeof text === 'string' && isFreeText(text, max.value),
        ),
    }),
  );

export const BooleanBodyField = (
  provenance: Provenance,
  description: string,
  schema: ApiPropertyOptions,
): PropertyDecorator =>
  BodyField({
    provenance,
    isRequired: false,
    schema: { type: 'boolean', description, ...schema } as ApiPropertyOptions,
    must: 'true or false',
    isValid: (value) => typeof value === 'boolean',
  });

/** An object that the port validates. It is passed on exactly as it was sent. */
export const ObjectField = (provenance: Provenance, schema: ApiPropertyOptions): PropertyDecorator =>
  applyDecorators(
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]),
    BodyField({
      provenance,
      isRequired: true,
      schema,
      must: 'an object',
      isValid: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    }),
  );

/** A code of another institution, passed on unchanged. */
export const CodeField = (
  provenance: Provenance,
  maxLength: number,
  description: string,
  example: string,
): PropertyDecorator =>
  BodyField({
    provenance,
    isRequired: false,
    schema: { type: 'string', pattern: `^[A-Za-z0-9]{1,${maxLength}}$`, description, example },
    must: `1 to ${maxLength} letters and digits`,
    isValid: (value) => typeof value === 'string' && value.length <= maxLength && /^[A-Za-z0-9]+$/.test(value),
  });
