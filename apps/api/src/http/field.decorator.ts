import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/** The source of a definition: the published interface, the expectations of its clients, or this service. */
export type Provenance = 'stated' | 'known' | 'ours';

/** Documents a field, with a mark of its provenance unless the published interface states it. */
export function Field(provenance: Provenance, options: ApiPropertyOptions): PropertyDecorator {
  const mark = provenance === 'stated' ? {} : { 'x-provenance': provenance };
  return ApiProperty({ ...options, ...mark } as ApiPropertyOptions);
}

/** An id: a positive whole number that JSON carries everywhere without loss. */
export const IdField = (description: string, example: number, required = true): PropertyDecorator =>
  Field('stated', {
    type: 'integer',
    format: 'int64',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description,
    example,
    required,
  });

export const TextField = (description: string, example: string, required = true): PropertyDecorator =>
  Field('stated', { type: 'string', description, example, required });

/** One of the values that the published interface lists. Other deployments may send more, which a gateway passes on. */
export const ListedField = (
  description: string,
  values: readonly string[],
  example: string,
  required = true,
): PropertyDecorator => Field('stated', { type: 'string', enum: [...values], description, example, required });

/** An instant: RFC 3339 in UTC. The interface names the field only; the format is that of similar interfaces. */
export const TimeField = (description: string, required = false): PropertyDecorator =>
  Field('known', {
    type: 'string',
    format: 'date-time',
    pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3,9}Z$',
    description: `${description} RFC 3339 in UTC, three to nine fractional digits.`,
    example: '2026-11-21T09:30:00.123456Z',
    required,
  });

/** Digits in a string: minor units, so `"1250"` in EUR is 12.50. */
export const AmountField = (description: string, example: string, required = true): PropertyDecorator =>
  Field('stated', { type: 'string', pattern: '^(0|[1-9][0-9]{0,18})$', description, example, required });

/** A nested record or list of records. Swagger tells a deferred type from a class by the name of the function: `type`. */
export const EdgeField = (nested: () => unknown, description: string, required = true): PropertyDecorator =>
  Field('stated', { type: () => nested() as never, description, required });

/** The field follows the conventions of the published interface, but is not part of it. */
export const Ours = (): PropertyDecorator => Field('ours', {});

const own =
  <Parameters extends unknown[]>(field: (...parameters: Parameters) => PropertyDecorator) =>
  (...parameters: Parameters): PropertyDecorator =>
    applyDecorators(field(...parameters), Ours());

export const OwnIdField = own(IdField);
export const OwnTextField = own(TextField);
export const OwnTimeField = own(TimeField);
export const OwnAmountField = own(AmountField);
export const OwnEdgeField = own(EdgeField);

/** For use above another decorator: the published interface shows the field, and whose values clients of similar interfaces expect. */
export const KnownValues = (): PropertyDecorator => Field('known', {});
