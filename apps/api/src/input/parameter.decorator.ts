import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';
import {
  EVENT_WAIT_MAX_S,
  FORBIDDEN_CHARACTERS,
  isDay,
  isFreeText,
  isInstant,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  parseId,
  type RefusalReason,
} from '@banking/domain';
import type { Provenance } from '../http/field.decorator.js';

/** The rules of parameters, to follow `<name> must be`. */
export const PARAMETER_RULES = {
  boolean: 'true or false',
  id: `a whole number from 1 to ${Number.MAX_SAFE_INTEGER}, in digits without a leading zero`,
  instant: 'RFC 3339 with an offset, such as 2026-11-21T09:30:00Z; in a query, + is written %2B',
  instantOrDay:
    'RFC 3339 with an offset, such as 2026-11-21T09:30:00Z, or a day, such as 2026-11-21; in a query, + is written %2B',
  limit: `a whole number from 1 to ${LIMIT_MAX}`,
} as const;

/** The rule of free text, to follow `<name> must be`. */
export const freeTextRule = (maxLength: number) =>
  `1 to ${maxLength} characters, not only spaces, without ${FORBIDDEN_CHARACTERS}`;

/** The rule of free text without its classes of characters, which many regular expressions of callers do not have. */
export const freeTextSchema = (maxLength: number) =>
  ({ type: 'string', minLength: 1, maxLength, pattern: '\\S' }) as const;

export const onceMessage = (name: string) => `Send the parameter ${name} once.`;

export const mustBe = (name: string, rule: string) => `${name} must be ${rule}.`;

interface ParameterRule {
  readonly provenance: Provenance;
  readonly schema: ApiPropertyOptions;
  readonly reason: RefusalReason;
  /** The rule, to follow `<name> must be`. */
  readonly must: string;
  /** Reads the text. @returns undefined if it is invalid */
  readonly read: (text: string) => unknown;
  readonly isRequired?: boolean | undefined;
  /** Whether it may be repeated. Its value is a list, also of one. */
  readonly isList?: boolean;
}

const REPEATED = Symbol('repeated');

/** A parameter of the query. An empty parameter is invalid, and so is a repeated one that is no list. */
function Parameter(rule: ParameterRule): PropertyDecorator {
  const { provenance, schema, reason, must, read, isRequired = false, isList = false } = rule;
  const mark = provenance === 'stated' ? {} : { 'x-provenance': provenance };
  const unread = Symbol('unread');
  return applyDecorators(
    ApiProperty({ ...schema, ...mark, required: isRequired } as ApiPropertyOptions),
    Transform(({ value }: { value: unknown }) => {
      if (value === undefined) return undefined;
      if (!isList && Array.isArray(value)) return REPEATED;
      if (!isList) return typeof value === 'string' ? (read(value) ?? unread) : unread;
      const values = [value].flat().map((text) => (typeof text === 'string' ? read(text) : undefined));
      return values.includes(undefined) ? unread : values;
    }),
    ...(isRequired ? [] : [ValidateIf((_, value) => value !== undefined)]),
    ValidateBy(
      {
        name: reason,
        validator: {
          validate: (value) => value !== unread && value !== undefined,
          defaultMessage: () => mustBe('$property', must),
        },
      },
      { context: { reason } },
    ),
    ...(isList ? [] : [Once]),
  );
}

const Once = ValidateBy(
  {
    name: 'parameter_repeated',
    validator: { validate: (value) => value !== REPEATED, defaultMessage: () => onceMessage('$property') },
  },
  { context: { reason: 'parameter_repeated' satisfies RefusalReason } },
);

export const IdParameter = (provenance: Provenance, description: string): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description },
    reason: 'id_malformed',
    must: PARAMETER_RULES.id,
    read: parseId,
  });

export const InstantParameter = (provenance: Provenance, description: string): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'string', format: 'date-time', description },
    reason: 'timestamp_invalid',
    must: PARAMETER_RULES.instant,
    read: (text) => (isInstant(text) ? text : undefined),
  });

export const InstantOrDayParameter = (provenance: Provenance, description: string): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'string', description },
    reason: 'timestamp_invalid',
    must: PARAMETER_RULES.instantOrDay,
    read: (text) => (isInstant(text) || isDay(text) ? text : undefined),
    isRequired: true,
  });

export const ChoiceParameter = (
  provenance: Provenance,
  choices: readonly string[],
  description: string,
  { isRequired }: { readonly isRequired?: boolean } = {},
): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'string', enum: [...choices], description },
    reason: 'parameter_invalid',
    must: `one of ${choices.join(', ')}`,
    read: (text) => (choices.includes(text) ? text : undefined),
    isRequired,
  });

/** One or more of the choices: `name=first&name=second`. */
export const ChoicesParameter = (
  provenance: Provenance,
  choices: readonly string[],
  description: string,
): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'string', isArray: true, enum: [...choices], description },
    reason: 'parameter_invalid',
    must: `one of ${choices.join(', ')}`,
    read: (text) => (choices.includes(text) ? text : undefined),
    isList: true,
  });

export const WaitParameter = (): PropertyDecorator =>
  Parameter({
    provenance: 'ours',
    schema: {
      type: 'integer',
      minimum: 0,
      maximum: EVENT_WAIT_MAX_S,
      default: 0,
      description: 'How many seconds the request is held if there is no event yet.',
    },
    reason: 'parameter_invalid',
    must: `a whole number from 0 to ${EVENT_WAIT_MAX_S}`,
    read: (text) => (/^(0|[1-9][0-9]?)$/.test(text) && Number(text) <= EVENT_WAIT_MAX_S ? Number(text) : undefined),
  });

export const BooleanParameter = (provenance: Provenance, description: string): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'boolean', description },
    reason: 'parameter_invalid',
    must: PARAMETER_RULES.boolean,
    read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  });

/** Text of a known form. @param must the rule, to follow `<name> must be` */
export const PatternParameter = (
  provenance: Provenance,
  pattern: RegExp,
  must: string,
  { description, isRequired }: { readonly description: string; readonly isRequired?: boolean },
): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'string', pattern: pattern.source, description },
    reason: 'parameter_invalid',
    must,
    read: (text) => (pattern.test(text) ? text : undefined),
    isRequired,
  });

/** Text with values that can be added later: an unknown value matches nothing and is valid. */
export const TextParameter = (provenance: Provenance, maxLength: number, description: string): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { ...freeTextSchema(maxLength), description },
    reason: 'parameter_invalid',
    must: freeTextRule(maxLength),
    read: (text) => (isFreeText(text, maxLength) ? text : undefined),
  });

export const LimitParameter = (): PropertyDecorator =>
  Parameter({
    provenance: 'ours',
    schema: {
      type: 'integer',
      minimum: 1,
      maximum: LIMIT_MAX,
      default: LIMIT_DEFAULT,
      description: 'Largest number of items in the page.',
    },
    reason: 'limit_invalid',
    must: PARAMETER_RULES.limit,
    read: (text) => {
      const limit = parseId(text);
      return limit !== undefined && limit <= LIMIT_MAX ? limit : undefined;
    },
  });

export const CursorParameter = (): PropertyDecorator =>
  Parameter({
    provenance: 'ours',
    schema: {
      type: 'string',
      description: 'The end of the previous page. Follow the `Link` header of that page, which contains the cursor.',
    },
    reason: 'cursor_invalid',
    must: 'the cursor of a `Link` header, unchanged',
    read: (text) => (text === '' ? undefined : text),
  });
