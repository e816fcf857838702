import type { Type } from '@nestjs/common';
import { TransformationType, type TransformFnParams } from 'class-transformer';
import { defaultMetadataStorage as declared } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';

/** Returns an instance of a DTO for a valid value. Undefined for a value that the libraries must judge. */
export type PlainInput = (value: object) => object | undefined;

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
export function droppedNames(value: object, above: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (isDropped(name)) return [[...above, name]];
    return typeof inner === 'object' && inner !== null ? droppedNames(inner, [...above, name]) : [];
  });
}
