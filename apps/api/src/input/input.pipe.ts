import { type ArgumentMetadata, Injectable, type PipeTransform, type Type, ValidationPipe } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { TransformationType, type TransformFnParams } from 'class-transformer';
import { defaultMetadataStorage as declared } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, type ValidationError } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import type { FastifyInstance } from 'fastify';
import { isRefusalReason, parseId, Refusal, type RefusalDetail, type RefusalReason } from '@banking/domain';

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

/** Returns an instance of a DTO for a valid value. Undefined for a value that the libraries must judge. */
type PlainInput = (value: object) => object | undefined;

type Transforms = readonly ((params: TransformFnParams) => unknown)[];
type Check = (input: object, value: unknown) => boolean;

interface Field {
  readonly name: string;
  readonly transforms: Transforms;
  /** All must hold for the value to be checked. */
  readonly conditions: readonly Check[];
  readonly checks: readonly Check[];
}

const compiled = new WeakMap<Type, PlainInput>();

/**
 * The input of a DTO, from the declarations of its fields that class-transformer and class-validator read: they compile nothing, and took a
 * twentieth of the time of an order. Whatever is unusual, in a DTO or in a value, is left to them, and so are all messages.
 */
export function plainInputOf(dto: Type): PlainInput {
  const known = compiled.get(dto);
  if (known) return known;
  const input = compile(dto);
  compiled.set(dto, input);
  return input;
}

function compile(dto: Type): PlainInput {
  const fields = fieldsOf(dto);
  if (fields === undefined) return () => undefined;
  const byName = new Map(fields.map((field) => [field.name, field]));
  return (value) => {
    const input = new dto() as Record<string, unknown>;
    const given = value as Readonly<Record<string, unknown>>;
    for (const name in given) {
      const field = byName.get(name);
      const read = field && readValue(field, given);
      if (read === undefined) return undefined;
      input[name] = read;
    }
    return fields.every((field) => isValid(field, input)) ? input : undefined;
  };
}

/** Undefined for an object that class-transformer would copy, or lose a member of. */
function readValue({ name: key, transforms }: Field, obj: Readonly<Record<string, unknown>>): unknown {
  let value = obj[key];
  if (typeof value === 'object' && (value === null || transforms.length === 0 || droppedNames(value).length > 0)) {
    return undefined;
  }
  for (const transform of transforms) {
    value = transform({ value, key, obj, type: TransformationType.PLAIN_TO_CLASS, options: {} });
  }
  return value;
}

function isValid({ name, conditions, checks }: Field, input: Readonly<Record<string, unknown>>): boolean {
  const value = input[name];
  return !conditions.every((holds) => holds(input, value)) || checks.every((check) => check(input, value));
}

/** Undefined if the DTO has declarations of other kinds than our decorators make. */
function fieldsOf(dto: Type): readonly Field[] | undefined {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  const names = [...new Set(rules.map(({ propertyName }) => propertyName))];
  const isOurs =
    rules.every(isPlain) &&
    names.every((name) => !declared.findTypeMetadata(dto, name)) &&
    declared.getExposedMetadatas(dto).length + declared.getExcludedMetadatas(dto).length === 0;
  if (names.length === 0 || !isOurs) return undefined;
  return names.map((name): Field => {
    const own = rules.filter(({ propertyName }) => propertyName === name);
    const transforms = declared.findTransformMetadatas(dto, name, TransformationType.PLAIN_TO_CLASS);
    return {
      name,
      transforms: transforms.map(({ transformFn }) => transformFn),
      conditions: own.filter(({ type }) => type === CONDITION).map(({ constraints }) => constraints[0] as Check),
      checks: own.filter(({ type }) => type !== CONDITION).flatMap(checksOf),
    };
  });
}

const CONDITION = 'conditionalValidation';

/** The library leaves the groups undefined where a rule has other options, although its types do not. */
const isPlain = ({ type, each, groups, validateIf }: Partial<ValidationMetadata>): boolean =>
  (type === CONDITION || type === 'customValidation') && !each && !groups?.length && validateIf === undefined;

const checksOf = (rule: ValidationMetadata): Check[] =>
  getMetadataStorage()
    .getTargetValidatorConstraints(rule.constraintCls)
    .map(({ instance }) => {
      const { propertyName: property, constraints } = rule;
      return (object, value) =>
        instance.validate(value, { value, object, property, constraints, targetName: '' }) === true;
    });

/**
 * Nest and class-transformer silently drop the names of members of every object, such as `toString`. No field of ours has such a name.
 */
const isDropped = (name: string): boolean => name in Object.prototype || name === 'prototype';

/** Their names, at any depth. */
function droppedNames(value: object, above: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (isDropped(name)) return [[...above, name]];
    return typeof inner === 'object' && inner !== null ? droppedNames(inner, [...above, name]) : [];
  });
}
