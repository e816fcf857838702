import { randomBytes } from 'node:crypto';
import { secretSealer } from './secret-sealer.js';

const [old, current] = [randomBytes(32), randomBytes(32)];
const CONTEXT = { workspaceId: 1, endpointId: 7 };
const SECRET = randomBytes(32);

describe('sealed secrets', () => {
  it('are opened for their endpoint', () => {
    const sealer = secretSealer([current]);
    const sealed = sealer.seal(SECRET, CONTEXT);
    expect(Buffer.from(sealer.open(sealed, CONTEXT))).toEqual(SECRET);
    expect(Buffer.from(sealed).toString()).toMatch(/^v1:[0-9a-f]{16}:[\w-]{16}:[\w-]{43}:[\w-]{22}$/);
  });

  it('differ each time', () => {
    const sealer = secretSealer([current]);
    expect(sealer.seal(SECRET, CONTEXT)).not.toEqual(sealer.seal(SECRET, CONTEXT));
  });

  it('are not opened for another endpoint or workspace', () => {
    const sealer = secretSealer([current]);
    const sealed = sealer.seal(SECRET, CONTEXT);
    for (const context of [
      { ...CONTEXT, endpointId: 8 },
      { ...CONTEXT, workspaceId: 2 },
      { workspaceId: 17, endpointId: 7 },
    ]) {
      expect(() => sealer.open(sealed, context)).toThrow('belongs to another endpoint');
    }
  });

  it('are not opened after a change of any byte', () => {
    const sealer = secretSealer([current]);
    const sealed = sealer.seal(SECRET, CONTEXT);
    for (const index of sealed.keys()) {
      const changed = Uint8Array.from(sealed);
      changed[index] = changed[index] === 0x41 ? 0x51 : 0x41;
      if (Buffer.from(changed).equals(sealed)) continue;
      expect(() => sealer.open(changed, CONTEXT)).toThrow();
    }
  });

  it('are opened with each key, and sealed with the first', () => {
    const sealed = secretSealer([old]).seal(SECRET, CONTEXT);
    const both = secretSealer([current, old]);
    expect(Buffer.from(both.open(sealed, CONTEXT))).toEqual(SECRET);
    const keyOf = (secret: Uint8Array) => Buffer.from(secret).toString().split(':')[1];
    expect(both.formerKeys).toEqual([keyOf(sealed)]);
    expect(both.formerKeys).not.toContain(keyOf(both.seal(SECRET, CONTEXT)));
    expect(() => secretSealer([current]).open(sealed, CONTEXT)).toThrow('a key that WEBHOOK_KEY does not have');
  });

  it('need a key of 32 bytes', () => {
    expect(() => secretSealer([])).toThrow('32 bytes');
    expect(() => secretSealer([randomBytes(16)])).toThrow('32 bytes');
  });
});
