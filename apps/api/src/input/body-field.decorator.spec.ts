import { Ajv2020 } from 'ajv/dist/2020.js';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { LineField, PairsField } from './body-field.decorator.js';

class Texts {
  @LineField('ours', 5, 'A line.', 'a')
  readonly line?: string;

  @PairsField('ours', { count: 2, name: 3, value: 5 }, 'Pairs.', { a: 'b' })
  readonly pairs?: Readonly<Record<string, string>>;
}

const isAccepted = (body: object) => validateSync(plainToInstance(Texts, body)).length === 0;

const schemaOf = (field: string) =>
  Reflect.getMetadata('swagger/apiModelProperties', Texts.prototype, field) as Readonly<Record<string, unknown>>;

describe('free text in a body', () => {
  const ajv = new Ajv2020({ strict: false });
  const properties = Object.fromEntries(
    ['line', 'pairs'].map((field) => {
      const { required: _, type, ...schema } = schemaOf(field);
      return [field, { ...schema, type }];
    }),
  );
  const isDocumented = ajv.compile({ type: 'object', properties });

  it.each<[object, boolean]>([
    [{ line: 'a' }, true],
    [{ line: ' a ' }, true],
    [{ line: '12345' }, true],
    [{ line: '\u{1f3e6}'.repeat(5) }, true],
    [{ line: '123456' }, false],
    [{ line: '' }, false],
    [{ line: '  ' }, false],
    [{ line: '\u3000' }, false],
    [{ pairs: {} }, true],
    [{ pairs: { abc: '12345' } }, true],
    [{ pairs: { abcd: 'x' } }, false],
    [{ pairs: { ' ': 'x' } }, false],
    [{ pairs: { '': 'x' } }, false],
    [{ pairs: { a: '  ' } }, false],
    [{ pairs: { a: '' } }, false],
    [{ pairs: { a: '123456' } }, false],
    [{ pairs: { a: '1', b: '2', c: '3' } }, false],
  ])('is accepted as its schema states: %j', (body, isValid) => {
    expect({ accepted: isAccepted(body), documented: isDocumented(body) }).toEqual({
      accepted: isValid,
      documented: isValid,
    });
  });
});
