import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { ValidateBy, ValidateIf } from 'class-validator';
import type { RefusalReason } from '@banking/domain';
import type { Provenance } from '../http/field.decorator.js';
import { mustBe } from './parameter.decorator.js';

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
export function BodyField({
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
