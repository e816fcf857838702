import { type ArgumentMetadata, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { isRefusalReason, Refusal, type RefusalDetail, type RefusalReason } from '@banking/domain';

/** What a rule of a field says when it does not hold: a row of the refusal table, as `context` of its validator. */
interface Rule {
  readonly reason: RefusalReason;
}

interface Door {
  /** Where a field stands, by the names that lead to it. */
  readonly pathOf: (names: readonly string[]) => string;
  /** For a field nobody knows. */
  readonly unknown: RefusalReason;
  /** For several mistakes of different kinds. */
  readonly invalid: RefusalReason;
}

/** A refusal that names the fields at fault; of several kinds of mistakes it is the one for all. */
export function refusalOf(details: readonly RefusalDetail[], otherwise: RefusalReason): Refusal {
  const [first] = details;
  const reasons = new Set(details.map(({ reason }) => reason));
  const reason = first && reasons.size === 1 && isRefusalReason(first.reason) ? first.reason : otherwise;
  return new Refusal(reason, details.length === 1 ? first?.message : undefined, { details });
}

/** Names are repeated as far as a person would read them. */
const NAME_SHOWN_MAX = 64;

const shown = (text: string) => (text.length > NAME_SHOWN_MAX ? `${text.slice(0, NAME_SHOWN_MAX)}…` : text);

export const unknownMessage = (name: string) => `${name} is not known here: leave it out, or correct its name.`;

/**
 * Checks what a caller sent against its DTO, once, at the door: unknown fields are refused, nothing is converted silently, and every
 * mistake is named in `details`. The values themselves are never repeated: they may be personal.
 */
class InputPipe extends ValidationPipe {
  constructor(private readonly door: Door) {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      forbidUnknownValues: true,
      validationError: { target: false, value: false },
      exceptionFactory: (errors) =>
        refusalOf(
          errors.flatMap((error) => detailsOf(error, [], door)),
          door.invalid,
        ),
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Refusal(this.door.invalid, 'The body must be a JSON object.');
    }
    const hidden = lostIn(value);
    if (hidden.length > 0)
      throw refusalOf(
        hidden.map((names) => unknownField(names, this.door)),
        this.door.invalid,
      );
    return super.transform(value, metadata);
  }
}

/**
 * Nest and class-transformer leave out without a word what every object has a function of, such as `toString`, and what could change
 * one. No field of ours is called so.
 */
const isLost = (name: string): boolean => name in Object.prototype || name === 'prototype';

/** Where they stand, however deep. */
function lostIn(value: object, above: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (isLost(name)) return [[...above, name]];
    return typeof inner === 'object' && inner !== null ? lostIn(inner, [...above, name]) : [];
  });
}

/** For JSON bodies: a place is a JSON Pointer (RFC 6901). */
export const bodyPipe = new InputPipe({
  pathOf: (names) => names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  unknown: 'field_unknown',
  invalid: 'body_malformed',
});

/** For what stands behind the question mark: a place is the name of a parameter. */
export const queryPipe = new InputPipe({
  pathOf: (names) => names.join('.'),
  unknown: 'parameter_unknown',
  invalid: 'parameter_invalid',
});

function unknownField(names: readonly string[], { unknown, pathOf }: Door): RefusalDetail {
  return { path: shown(pathOf(names)), reason: unknown, message: unknownMessage(shown(names.join('.'))) };
}

function detailsOf(error: ValidationError, above: readonly string[], door: Door): RefusalDetail[] {
  const names = [...above, error.property];
  const nested = (error.children ?? []).flatMap((child) => detailsOf(child, names, door));
  const [rule, message] = Object.entries(error.constraints ?? {})[0] ?? [];
  if (rule === undefined || message === undefined) return nested;
  if (rule === 'whitelistValidation') return [unknownField(names, door)];
  const context = error.contexts?.[rule] as Rule | undefined;
  return [{ path: door.pathOf(names), reason: context?.reason ?? door.invalid, message }];
}
