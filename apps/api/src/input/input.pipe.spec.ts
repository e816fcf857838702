import type { Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { plainToInstance, Type as Nested } from 'class-transformer';
import { IsString, validateSync, ValidateNested } from 'class-validator';
import fc from 'fast-check';
import { testOrProve } from '@banking/postgres/testing';
import { resourceModules } from '../app.module.js';
import { PlaceOrderInputDto } from '../orders/order.dto.js';
import { bodyPipe, plainInputOf, queryPipe } from './input.pipe.js';

/** The DTOs of all bodies and queries, from the declarations of the controllers. */
function inputDtos(): ReadonlyMap<string, Type> {
  const dtos = new Map<string, Type>();
  const modules = resourceModules({ sandbox: true }).map((module) => ('module' in module ? module.module : module));
  for (const controller of modules.flatMap((module) => Reflect.getMetadata('controllers', module) as Type[])) {
    const prototype = controller.prototype as object;
    for (const method of Object.getOwnPropertyNames(prototype)) {
      const types = Reflect.getMetadata('design:paramtypes', prototype, method) as Type[] | undefined;
      const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) as Record<string, Parameter>;
      for (const { index, pipes = [] } of Object.values(parameters ?? {})) {
        const dto = types?.[index];
        if (dto && pipes.some((pipe) => pipe === bodyPipe || pipe === queryPipe)) dtos.set(dto.name, dto);
      }
    }
  }
  return dtos;
}

interface Parameter {
  readonly index: number;
  readonly pipes?: readonly unknown[];
}

const DTOS = inputDtos();
/** Random bodies or queries of each DTO. */
const RUNS = testOrProve(150, 1_000);
/** Of these, one or two of a hundred are valid. */
const SELDOM_VALID = ['StatementQueryDto', 'RecipientSchemaQueryDto', 'InternationalRecipientDto', 'CorridorQueryDto'];

interface Shown {
  readonly example?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: boolean;
}

interface ShownField {
  readonly name: string;
  readonly isRequired: boolean;
  /** The documented one, or some of which one is valid. */
  readonly usual: readonly unknown[];
  /** Some of them are valid. */
  readonly values: readonly unknown[];
}

/** Values of parameters, whose documentation shows none. */
const VALUES = ['1', '2026-11-21T09:30:00Z', 'true', 'IN', 'INR'];

function fieldsOf(dto: Type): readonly ShownField[] {
  const prototype = dto.prototype as object;
  const names = Reflect.getMetadata('swagger/apiModelPropertiesArray', prototype) as readonly string[];
  return names.map((marked): ShownField => {
    const name = marked.slice(1);
    const shown = Reflect.getMetadata('swagger/apiModelProperties', prototype, name) as Shown;
    const choices = shown.enum ?? [];
    const example = shown.example ?? choices[0];
    const usual = example === undefined ? VALUES : [example];
    return { name, isRequired: shown.required ?? true, usual, values: [...usual, ...choices, ...VALUES] };
  });
}

const NAMES = ['__proto__', 'constructor', 'toString', 'prototype', 'then', 'length', 'other', ''];

/** What JSON can hold, with names that objects have of their own. */
const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    null,
    '',
    ' ',
    '0',
    '01',
    '-1',
    0,
    -0,
    1.5,
    2 ** 53,
    true,
    [],
    {},
    ['1'],
    'a\u0000',
    '\ud800',
  ),
  fc.constantFrom(...NAMES).map((name) => JSON.parse(`{"${name}":"x"}`) as unknown),
  fc.constantFrom(...NAMES).map((name) => JSON.parse(`{"a":{"${name}":[]}}`) as unknown),
);

/** Bodies and queries close to those that the DTO accepts. */
function inputs(dto: Type): fc.Arbitrary<object> {
  const fields = fieldsOf(dto);
  const members = fields.map(({ name, isRequired, usual, values }) => {
    const value = fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(...usual) },
      { weight: 6, arbitrary: fc.constantFrom(...values) },
      { weight: 1, arbitrary: hostile },
    );
    return fc.option(fc.tuple(fc.constant(name), value), { freq: isRequired ? 20 : 1, nil: undefined });
  });
  const other = fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    fc.tuple(fc.constantFrom(...NAMES), hostile),
  );
  return fc
    .tuple(other, ...members)
    .chain((given) => {
      const present = given.filter((member) => member !== undefined);
      return fc.shuffledSubarray(present, { minLength: present.length });
    })
    .map((given) => {
      const texts = given.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
      // As a body is parsed: a member may be named `__proto__`.
      return JSON.parse(`{${texts.join(',')}}`) as object;
    });
}

/** As the pipe calls them. */
function instanceByLibraries(dto: Type, value: object): object | undefined {
  const instance = plainToInstance(dto, value) as object;
  const rules = { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true };
  return validateSync(instance, rules).length === 0 ? instance : undefined;
}

describe('the plain input of a DTO', () => {
  it('exists for every body and query', () => {
    expect(DTOS.size).toBeGreaterThan(15);
  });

  /** A list of objects is left to the libraries. */
  const HAS_OBJECTS = ['LimitReplacementDto', 'ApprovalRulesChangeDto'];

  it.each([...DTOS])('%s is what the libraries make, and accepted by them', (name, dto) => {
    let accepted = 0;
    fc.assert(
      fc.property(inputs(dto), (value) => {
        const text = JSON.stringify(value);
        const input = plainInputOf(dto)(value);
        expect(JSON.stringify(value)).toBe(text);
        if (input === undefined) return;
        accepted += 1;
        const expected = instanceByLibraries(dto, value);
        expect(input).toStrictEqual(expected);
        expect(JSON.stringify(input)).toBe(JSON.stringify(expected));
      }),
      { numRuns: SELDOM_VALID.includes(name) ? 1_000 : RUNS },
    );
    expect(accepted > 0).toBe(!HAS_OBJECTS.includes(name));
  });

  it('exists for a plain order', () => {
    const order = { amount: '5000', recipientID: 2, type: 'instant', purposeCode: 'IR001', description: 'Invoice' };

    expect(plainInputOf(PlaceOrderInputDto)(order)).toEqual(order);
    expect(plainInputOf(PlaceOrderInputDto)({ ...order, metadata: { department: 'purchasing' } })).toBeDefined();
  });

  it.each([{ metadata: { toString: 'x' } }, { metadata: null }, { description: {} }, { other: 1 }, { amount: '0' }])(
    'does not exist for %j in an order',
    (change) => {
      const order = { amount: '5000', recipientID: 2, type: 'instant', ...change };

      expect(plainInputOf(PlaceOrderInputDto)(order)).toBeUndefined();
    },
  );

  it('does not exist for a DTO with declarations of other kinds', () => {
    class Inner {
      @IsString()
      readonly text!: string;
    }
    class WithNested {
      @ValidateNested()
      @Nested(() => Inner)
      readonly inner!: Inner;
    }
    class Each {
      @IsString({ each: true })
      readonly texts!: string[];
    }
    class Undeclared {}

    expect(plainInputOf(WithNested)({ inner: { text: 'a' } })).toBeUndefined();
    expect(plainInputOf(Each)({ texts: 'a' })).toBeUndefined();
    expect(plainInputOf(Undeclared)({})).toBeUndefined();
  });
});
