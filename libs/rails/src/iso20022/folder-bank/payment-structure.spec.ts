import * as fc from 'fast-check';
import { paymentFile, type SpecMessage } from '../../testing/payment-files.js';
import { readXml, type XmlElement } from '../read-xml.js';
import { structureFault } from './read-payment-message.js';

const ADDRESS = { StrtNm: 'Harbour Street', BldgNb: '1', PstCd: '20457', TwnNm: 'Hamburg', Ctry: 'DE' };
const payments = [{ endToEndId: 'E1', address: ADDRESS }, { endToEndId: 'E2' }];

async function treeOf(message: SpecMessage): Promise<XmlElement> {
  const bytes = [Buffer.from(paymentFile(message))];
  const parts = [];
  for await (const part of readXml(streamOf(bytes), () => false)) if (part.kind !== 'close') parts.push(part.element);
  return { ...parts[0]!, children: parts.slice(1) };
}

async function* streamOf(chunks: readonly Uint8Array[]) {
  yield* chunks;
}

/** The element and all below it, each with its parents. */
function below(element: XmlElement, parents: readonly XmlElement[] = []): readonly (readonly XmlElement[])[] {
  const path = [...parents, element];
  return [path, ...element.children.flatMap((child) => below(child, path))];
}

/** The root with other children of the last element of a path. */
function changed([first, ...rest]: readonly XmlElement[], children: readonly XmlElement[]): XmlElement {
  const [next] = rest;
  if (!next) return { ...first!, children };
  return { ...first!, children: first!.children.map((child) => (child === next ? changed(rest, children) : child)) };
}

const version = fc.constantFrom('03', '09' as const);

describe('the structure of a message of payments', () => {
  it('is that of the schema', async () => {
    for (const one of ['03', '09'] as const) {
      expect(structureFault(await treeOf({ id: 'M1', version: one, isBatch: true, payments }))).toBeUndefined();
    }
  });

  it('is not that of the schema when two elements change places', async () => {
    await fc.assert(
      fc.asyncProperty(version, fc.nat(), fc.nat(), async (one, chosen, at) => {
        const pairs = below(await treeOf({ id: 'M1', version: one, payments })).flatMap((path) =>
          path
            .at(-1)!
            .children.slice(1)
            .map((_, place) => ({ path, place })),
        );
        const { path, place } = pairs[(chosen + at) % pairs.length]!;
        const children = [...path.at(-1)!.children];
        const [left, right] = [children[place]!, children[place + 1]!];
        if (left.name === right.name) return;
        children.splice(place, 2, right, left);

        expect(structureFault(changed(path, children))).toMatch(/order|must not/);
      }),
    );
  });

  it('is not that of the schema with an element twice that is there once, or with an unknown one', async () => {
    await fc.assert(
      fc.asyncProperty(version, fc.nat(), fc.boolean(), async (one, chosen, isUnknown) => {
        const paths = below(await treeOf({ id: 'M1', version: one, payments: [payments[0]!] })).slice(1);
        const path = paths[chosen % paths.length]!;
        const element = path.at(-1)!;
        if (!isUnknown && ['CdtTrfTxInf', 'PmtInf', 'Ustrd', 'SvcLvl'].includes(element.name)) return;
        const added = isUnknown ? { ...element, name: 'Colour' } : element;
        const parent = path.at(-2)!;
        const children = parent.children.flatMap((child) => (child === element ? [child, added] : [child]));

        expect(structureFault(changed(path.slice(0, -1), children))).toBeDefined();
      }),
    );
  });

  it('is not that of the schema without an element that it requires', async () => {
    const required = new Set([
      ...['GrpHdr', 'MsgId', 'CreDtTm', 'InitgPty', 'PmtInf', 'PmtInfId', 'PmtMtd', 'ReqdExctnDt', 'Dbtr', 'DbtrAcct'],
      ...['DbtrAgt', 'FinInstnId', 'CdtTrfTxInf', 'PmtId', 'EndToEndId', 'Amt', 'InstdAmt', 'IBAN'],
    ]);
    const paths = below(await treeOf({ id: 'M1', payments: [payments[0]!] })).filter((path) =>
      required.has(path.at(-1)!.name),
    );

    expect(new Set(paths.map((path) => path.at(-1)!.name))).toEqual(required);
    for (const path of paths) {
      const children = path.at(-2)!.children.filter((child) => child !== path.at(-1));
      expect(structureFault(changed(path.slice(0, -1), children))).toBeDefined();
    }
  });
});
