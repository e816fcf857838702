import { type ArgumentMetadata, Injectable, type PipeTransform, ValidationPipe } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { ValidationError } from 'class-validator';
import type { FastifyInstance } from 'fastify';
import { isRefusalReason, parseId, Refusal, type RefusalDetail, type RefusalReason } from '@banking/domain';
import { droppedNames, plainInputOf } from './plain-input.js';

/** Reads an id from the path. @throws Refusal `id_malformed` */
@Injectable()
export class IdPipe implements PipeTransform<string, number> {
  transform(text: string, { data: name = 'id' }: ArgumentMetadata): number {
    const id = parseId(text);
    if (id === undefined) throw malformedId(name);
    return id;
  }
}

export function malformedId(name: string): Refusal {
  const message = `${name} must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}, in digits without a leading zero.`;
  return new Refusal('id_malformed', message, { details: [{ path: name, reason: 'id_malformed', message }] });
}

export const ApiIdParam = (name: string, description: string): MethodDecorator =>
  ApiParam({
    name,
    description,
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  });

interface Rule {
  readonly reason: RefusalReason;
}

interface Place {
  /** The path of a field, from the names that lead to it. */
  readonly pathOf: (names: readonly string[]) => string;
  /** The reason for an unknown field. */
  readonly unknown: RefusalReason;
  /** The reason for several faults of different kinds. */
  readonly invalid: RefusalReason;
}

/** A refusal that names the invalid fields. @param otherwise its reason, if the fields have different reasons */
export function refusalOf(details: readonly RefusalDetail[], otherwise: RefusalReason): Refusal {
  const [first] = details;
  const reasons = new Set(details.map(({ reason }) => reason));
  const reason = first && reasons.size === 1 && isRefusalReason(first.reason) ? first.reason : otherwise;
  return new Refusal(reason, details.length === 1 ? first?.message : undefined, { details });
}

/** Longer names are cut in messages. */
const NAME_SHOWN_MAX = 64;

const shown = (text: string) => (text.length > NAME_SHOWN_MAX ? `${text.slice(0, NAME_SHOWN_MAX)}…` : text);

export const unknownMessage = (name: string) => `${name} is unknown: remove it, or correct its name.`;

/**
 * Validates a body or a query against its DTO. It refuses unknown fields, converts nothing silently, and names every fault in
 * `details`. Messages never contain values, which may be personal.
 */
class InputPipe extends ValidationPipe {
  constructor(private readonly place: Place) {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      forbidUnknownValues: true,
      validationError: { target: false, value: false },
      exceptionFactory: (errors) =>
        refusalOf(
          errors.flatMap((error) => detailsOf(error, [], place)),
          place.invalid,
        ),
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Refusal(this.place.invalid, 'The body must be a JSON object.');
    }
    const input = metadata.metatype && plainInputOf(metadata.metatype)(value);
    if (input) return input;
    const dropped = droppedNames(value);
    if (dropped.length > 0)
      throw refusalOf(
        dropped.map((names) => unknownField(names, this.place)),
        this.place.invalid,
      );
    return super.transform(value, metadata);
  }
}

/** Validates JSON bodies. A path is a JSON Pointer (RFC 6901). */
export const bodyPipe = new InputPipe({
  pathOf: (names) => names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  unknown: 'field_unknown',
  invalid: 'body_malformed',
});

const QUERY: Place = {
  pathOf: (names) => names.join('.'),
  unknown: 'parameter_unknown',
  invalid: 'parameter_invalid',
};

/** Validates the query. A path is the name of a parameter. */
export const queryPipe = new InputPipe(QUERY);

/** @throws Refusal `parameter_unknown` if there is one */
function refuseUnknownParameters(names: readonly string[]): void {
  const details = names.map((name) => unknownField([name], QUERY));
  if (details.length > 0) throw refusalOf(details, QUERY.invalid);
}

function unknownField(names: readonly string[], { unknown, pathOf }: Place): RefusalDetail {
  return { path: shown(pathOf(names)), reason: unknown, message: unknownMessage(shown(names.join('.'))) };
}

function detailsOf(error: ValidationError, above: readonly string[], place: Place): RefusalDetail[] {
  const names = [...above, error.property];
  const nested = (error.children ?? []).flatMap((child) => detailsOf(child, names, place));
  const [rule, message] = Object.entries(error.constraints ?? {})[0] ?? [];
  if (rule === undefined || message === undefined) return nested;
  if (rule === 'whitelistValidation') return [unknownField(names, place)];
  const context = error.contexts?.[rule] as Rule | undefined;
  return [{ path: place.pathOf(names), reason: context?.reason ?? place.invalid, message }];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the operation reads its query, and refuses unknown parameters itself. */
    hasQuery?: boolean;
  }
}

/** Refuses the parameters of operations that have none. Public operations and pages ignore them. */
export function refuseUnreadQueries(server: FastifyInstance): void {
  server.addHook('preHandler', ({ query, routeOptions, caller }, _reply, done) => {
    if (caller && !routeOptions.config.hasQuery) refuseUnknownParameters(Object.keys(query as object));
    done();
  });
}
