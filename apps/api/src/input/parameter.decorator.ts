import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';
import {
  FORBIDDEN_CHARACTERS,
  isDay,
  isFreeText,
  isInstant,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  parseId,
  STATEMENT_LIMIT_MAX,
  type RefusalReason,
} from '@banking/domain';
import type { Provenance } from '../http/field.decorator.js';

/** What a parameter must be, in words that follow its name. */
export const PARAMETER_RULES = {
  boolean: 'true or false',
  id: `a whole number from 1 to ${Number.MAX_SAFE_INTEGER}, in digits without a leading zero`,
  instant: 'RFC 3339 with an offset, such as 2026-11-21T09:30:00Z; in a query, + is written %2B',
  instantOrDay:
    'RFC 3339 with an offset, such as 2026-11-21T09:30:00Z, or a day, such as 2026-11-21; in a query, + is written %2B',
  limit: `a whole number from 1 to ${LIMIT_MAX}`,
  statementLimit: `a whole number from 1 to ${STATEMENT_LIMIT_MAX}`,
} as const;

/** What free text must be, in words that follow its name. */
export const freeTextRule = (maxLength: number) =>
  `1 to ${maxLength} characters, not only spaces, without ${FORBIDDEN_CHARACTERS}`;

export const mustBe = (name: string, rule: string) => `${name} must be ${rule}.`;

interface ParameterRule {
  readonly provenance: Provenance;
  readonly schema: ApiPropertyOptions;
  readonly reason: RefusalReason;
  /** What it must be, to follow the name of the parameter. */
  readonly must: string;
  /** The value that is meant; undefined where the text means none. */
  readonly read: (text: string) => unknown;
  /** A parameter may be left out unless this says no. */
  readonly isRequired?: boolean | undefined;
}

/** A parameter of the query. Sent twice or empty, it is none. */
function Parameter(rule: ParameterRule): PropertyDecorator {
  const { provenance, schema, reason, must, read, isRequired = false } = rule;
  const mark = provenance === 'stated' ? {} : { 'x-provenance': provenance };
  const unread = Symbol('unread');
  return applyDecorators(
    ApiProperty({ ...schema, ...mark, required: isRequired } as ApiPropertyOptions),
    Transform(({ value }: { value: unknown }) => {
      if (value === undefined) return undefined;
      return typeof value === 'string' ? (read(value) ?? unread) : unread;
    }),
    ...(isRequired ? [] : [ValidateIf((_, value) => value !== undefined)]),
    ValidateBy(
      { name: reason, validator: { validate: (value) => value !== unread && value !== undefined, defaultMessage: () => mustBe('$property', must) } }, // prettier-ignore
      { context: { reason } },
    ),
  );
}

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

export const BooleanParameter = (provenance: Provenance, description: string): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'boolean', description },
    reason: 'parameter_invalid',
    must: PARAMETER_RULES.boolean,
    read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  });

/** A text of a known form. @param must what that is, to follow the name of the parameter */
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

/** Words that others extend: a value we do not know fits nothing, and is no mistake. */
export const TextParameter = (provenance: Provenance, maxLength: number, description: string): PropertyDecorator =>
  Parameter({
    provenance,
    schema: { type: 'string', minLength: 1, maxLength, description },
    reason: 'parameter_invalid',
    must: freeTextRule(maxLength),
    read: (text) => (isFreeText(text, maxLength) ? text : undefined),
  });

const AnyLimitParameter = (most: number, otherwise: number, must: string, description: string): PropertyDecorator =>
  Parameter({
    provenance: 'ours',
    schema: { type: 'integer', minimum: 1, maximum: most, default: otherwise, description },
    reason: 'limit_invalid',
    must,
    read: (text) => {
      const limit = parseId(text);
      return limit !== undefined && limit <= most ? limit : undefined;
    },
  });

export const LimitParameter = (): PropertyDecorator =>
  AnyLimitParameter(LIMIT_MAX, LIMIT_DEFAULT, PARAMETER_RULES.limit, 'How many items the page holds at most.');

export const StatementLimitParameter = (): PropertyDecorator =>
  AnyLimitParameter(
    STATEMENT_LIMIT_MAX,
    STATEMENT_LIMIT_MAX,
    PARAMETER_RULES.statementLimit,
    'How many movements the page holds at most.',
  );

export const CursorParameter = (): PropertyDecorator =>
  Parameter({
    provenance: 'ours',
    schema: {
      type: 'string',
      description: 'Where the page before ended. It is part of the `Link` header of that page: follow that.',
    },
    reason: 'cursor_invalid',
    must: 'the cursor of a `Link` header, as it stands',
    read: (text) => (text === '' ? undefined : text),
  });
