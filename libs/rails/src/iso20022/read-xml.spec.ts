import * as fc from 'fast-check';
import { BankFileError } from './bank-records.js';
import { elementAt, elementsNamed, readXml, textAt, type XmlElement, type XmlPart } from './read-xml.js';
import { inChunks, listOf } from '../testing/streams.js';

async function partsOf(text: string | Uint8Array, size = 1_000_000): Promise<XmlPart[]> {
  return listOf(readXml(inChunks(text, size), (path) => path === 'a/list'));
}

async function rootOf(text: string | Uint8Array): Promise<XmlElement | undefined> {
  const part = (await partsOf(text)).find(({ kind }) => kind === 'element');
  return part?.kind === 'element' ? part.element : undefined;
}

async function faultOf(text: string | Uint8Array): Promise<BankFileError> {
  const fault: unknown = await partsOf(text).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(fault instanceof BankFileError)) throw new Error('the document was read', { cause: fault });
  return fault;
}

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const declared = (encoding: string, text: string) =>
  `<?xml version="1.0" encoding="${encoding}"?><a><b>${text}</b></a>`;

describe('a document of XML', () => {
  it('is read in parts, and the elements in them as a whole', async () => {
    const parts = await partsOf('<a><head x="1">t</head> <list no="2"><item><b>1</b><b/></item></list></a>');
    expect(parts.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      ...['open a', 'element a/head', 'open a/list', 'element a/list/item', 'close a/list', 'close a'],
    ]);
    const [, head, list, item] = parts.map((part) => (part.kind === 'close' ? undefined : part.element));
    expect(head).toMatchObject({ name: 'head', attributes: { x: '1' }, text: 't' });
    expect(list).toMatchObject({ attributes: { no: '2' } });
    expect(elementsNamed(item, 'b')).toHaveLength(2);
    expect(textAt(item, 'b')).toBe('1');
    expect(textAt(item, 'c', 'd')).toBeUndefined();
  });

  it('has the same parts in chunks of any size', async () => {
    const text = `<a xmlns="urn:x"><list><item z="&lt;ü€">Größe &amp; 😀&#13;<![CDATA[<x>]]></item></list><?pi x?><!-- - --></a>`;
    const whole = await partsOf(text);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 120 }), async (size) => {
        expect(await partsOf(text, size)).toEqual(whole);
      }),
    );
  });

  it('tells elements of other namespaces apart', async () => {
    const parts = await partsOf(
      '<p:a xmlns:p="urn:x"><p:b>1</p:b><b>2</b><p:c><q:d xmlns:q="urn:y">3</q:d></p:c></p:a>',
    );
    expect(parts.map(({ path }) => path)).toEqual(['a', 'a/b', 'a/{}b', 'a/c', 'a']);
    const inner = parts[3];
    expect(elementAt(inner?.kind === 'element' ? inner.element : undefined, 'd')).toBeUndefined();
  });

  it('is refused wherever it is cut, as one that may be complete later', async () => {
    const text = Buffer.from(
      `<?xml version="1.0" encoding="UTF-8"?>\n<a><b x="ü">é &amp; <![CDATA[x]]></b><!-- c --></a>`,
    );
    for (let end = 0; end < text.length; end += 1) {
      expect([end, (await faultOf(text.subarray(0, end))).endsEarly]).toEqual([end, true]);
    }
  });

  it.each([
    ['UTF-8 with a byte order mark', Buffer.from('\ufeff<a><b>ü€</b></a>'), 'ü€'],
    ['UTF-8 that is declared', declared('utf-8', 'ü€'), 'ü€'],
    ['UTF-16, little-endian', Buffer.from(`\ufeff${declared('UTF-16', 'ü€')}`, 'utf16le'), 'ü€'],
    ['UTF-16, big-endian', Buffer.from(`\ufeff${declared('UTF-16', 'ü€')}`, 'utf16le').swap16(), 'ü€'],
    ['ISO-8859-1', latin1(declared('ISO-8859-1', 'Müller')), 'Müller'],
    ['Windows-1252 that is called ISO-8859-1', latin1(declared('iso-8859-1', '5 \x80')), '5 €'],
    ['ISO-8859-15', latin1(declared('ISO-8859-15', '5 \xa4')), '5 €'],
    ['ASCII that is called ISO-8859-1', declared('ISO-8859-1', 'Muller'), 'Muller'],
    ['the five entities of XML', '<a><b>&lt;&gt;&amp;&quot;&apos;&#x41;</b></a>', `<>&"'A`],
  ])('is read as %s', async (_, text, expected) => {
    expect((await rootOf(text))?.text).toBe(expected);
  });

  const laughs = `<!DOCTYPE a [<!ENTITY x "ha">${'<!ENTITY y "&x;&x;&x;">'.repeat(20)}]><a><b>&y;</b></a>`;
  it.each([
    ['an empty file', '', 'The file is empty.'],
    ['a file of zeros', Buffer.alloc(5_000), 'not well-formed'],
    ['a picture', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), 'bytes that are not in the encoding'],
    ['gzip', Buffer.from('1f8b0800000000000003', 'hex'), 'compressed'],
    ['a ZIP archive', Buffer.from('504b03041400', 'hex'), 'compressed'],
    ['text', 'MT940, :20:', 'not well-formed'],
    ['a declared encoding that is not read', declared('EBCDIC-CP-BE', 'x'), 'an encoding that is not read'],
    ['Latin-1 without a declaration', latin1('<a><b>Müller</b></a>'), 'bytes that are not in the encoding'],
    ['Latin-1 that is called UTF-8', latin1(declared('UTF-8', 'Müller')), 'bytes that are not in the encoding'],
    ['UTF-8 that is called Latin-1', declared('ISO-8859-1', 'Müller'), 'but is UTF-8'],
    ['UTF-8 that is called UTF-16', declared('UTF-16', 'x'), 'another encoding than its first bytes'],
    ['UTF-8 with its mark that is called Latin-1', `\ufeff${declared('ISO-8859-1', 'x')}`, 'another encoding'],
    ['UTF-16 without its mark', Buffer.from('<a><b/></a>', 'utf16le'), 'without a byte order mark'],
    ['a document type declaration', '<!DOCTYPE a SYSTEM "http://127.0.0.1/x.dtd"><a/>', 'DOCTYPE'],
    ['entities within entities', laughs, 'DOCTYPE'],
    ['an entity that is not of XML', '<a><b>&nbsp;</b></a>', 'not well-formed'],
    ['a prefix without a namespace', '<a><x:b/></a>', 'not well-formed'],
    ['two roots', '<a/><a/>', 'not well-formed'],
    ['text after the root', '<a/>x', 'not well-formed'],
    ['an attribute twice', '<a><b x="1" x="2"/></a>', 'not well-formed'],
    ['a control character', '<a><b>\u0001</b></a>', 'not well-formed'],
    ['65 elements within each other', `<a>${'<b>'.repeat(64)}${'</b>'.repeat(64)}</a>`, 'more than 64 elements'],
    ['65 attributes', `<a><b ${Array.from({ length: 65 }, (_, at) => `x${at}=""`).join(' ')}/></a>`, '64 attributes'],
    ['a long text', `<a><b>${'x'.repeat(100_001)}</b></a>`, 'more than 100000 characters'],
    ['a long text in pieces', `<a><b>${'<!---->xxxxxxxxxx'.repeat(10_001)}</b></a>`, 'more than 100000 characters'],
    ['10 MB in one element', `<a><b>${'x'.repeat(10_000_000)}`, 'more than 100000 characters'],
    ['10 MB in one attribute', `<a><b x="${'x'.repeat(10_000_000)}`, 'more than 100000 characters'],
    ['10 MB in one name', `<a><b${'x'.repeat(10_000_000)}`, 'more than 100000 characters'],
    ['10 MB in one comment', `<a><!--${'x'.repeat(10_000_000)}`, 'more than 100000 characters'],
    ['10 MB of a document type', `<!DOCTYPE a [${'<!ELEMENT x ANY>'.repeat(600_000)}`, 'more than 100000 characters'],
    ['20,001 elements in one', `<a><b>${'<c/>'.repeat(20_001)}</b></a>`, 'too many elements'],
    ['1 MB in one', `<a><b>${`<c>${'x'.repeat(90_000)}</c>`.repeat(12)}</b></a>`, 'too much text'],
  ])('is refused as %s', async (_, text, message) => {
    expect((await faultOf(text)).message).toContain(message);
  });

  it('ends the stream that it does not read to its end', async () => {
    let isEnded = false;
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield await Promise.resolve(Buffer.from('<x>'.repeat(1_000)));
      } finally {
        isEnded = true;
      }
    }
    await expect(listOf(readXml(source(), () => false))).rejects.toThrow('more than 64');
    expect(isEnded).toBe(true);
  });
});
