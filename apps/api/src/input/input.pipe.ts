import { type ArgumentMetadata, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { isRefusalReason, Refusal, type RefusalDetail, type RefusalReason } from '@banking/domain';

/** What a rule of a field says when it does not hold: a row of the refusal table, as `context` of its validator. */
interface Rule {
  readonly reason: RefusalReason;
}

interface Door {
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

export const unknownMessage = (path: string) => `${path} is not known here: leave it out, or correct its name.`;

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
          errors.flatMap((error) => detailsOf(error, '', door)),
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
        hidden.map((name) => unknownField(name, this.door)),
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
function lostIn(value: object, above = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (isLost(name)) return [`${above}${name}`];
    return typeof inner === 'object' && inner !== null ? lostIn(inner, `${above}${name}.`) : [];
  });
}

/** For JSON bodies. */
export const bodyPipe = new InputPipe({ unknown: 'field_unknown', invalid: 'body_malformed' });

/** For what stands behind the question mark. */
export const queryPipe = new InputPipe({ unknown: 'parameter_unknown', invalid: 'parameter_invalid' });

function unknownField(name: string, { unknown }: Door): RefusalDetail {
  const path = name.length > NAME_SHOWN_MAX ? `${name.slice(0, NAME_SHOWN_MAX)}…` : name;
  return { path, reason: unknown, message: unknownMessage(path) };
}

function detailsOf(error: ValidationError, above: string, door: Door): RefusalDetail[] {
  const path = `${above}${error.property}`;
  const nested = (error.children ?? []).flatMap((child) => detailsOf(child, `${path}.`, door));
  const [rule, message] = Object.entries(error.constraints ?? {})[0] ?? [];
  if (rule === undefined || message === undefined) return nested;
  if (rule === 'whitelistValidation') {
    return [unknownField(path, door)];
  }
  const context = error.contexts?.[rule] as Rule | undefined;
  return [{ path, reason: context?.reason ?? door.invalid, message }];
}
