import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSealer } from './open-webhooks.js';

const CONTEXT = { workspaceId: 1, endpointId: 1 };
const SECRET = randomBytes(32);

describe('the key of a deployment', () => {
  let dataDir: string;
  beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'webhook-key-'))));
  afterEach(() => rmSync(dataDir, { recursive: true }));
  const sandbox = () => openSealer({ keys: [], isSandbox: true, dataDir });

  it('is created once in a sandbox, for its owner only', async () => {
    const sealers = await Promise.all([sandbox(), sandbox(), sandbox()]);
    const sealed = sealers[0]?.seal(SECRET, CONTEXT) ?? Buffer.alloc(0);
    for (const sealer of sealers) expect(Buffer.from(sealer?.open(sealed, CONTEXT) ?? [])).toEqual(SECRET);
    expect(readdirSync(dataDir)).toEqual(['webhook-key']);
    expect(statSync(join(dataDir, 'webhook-key')).mode & 0o777).toBe(0o600);
  });

  it('is read again after a restart', async () => {
    const sealed = (await sandbox())?.seal(SECRET, CONTEXT) ?? Buffer.alloc(0);
    expect(Buffer.from((await sandbox())?.open(sealed, CONTEXT) ?? [])).toEqual(SECRET);
  });

  it('is refused if other users can read its file, or if it is no key', async () => {
    await sandbox();
    chmodSync(join(dataDir, 'webhook-key'), 0o640);
    await expect(sandbox()).rejects.toThrow('is not private, or not a key');
    rmSync(join(dataDir, 'webhook-key'));
    writeFileSync(join(dataDir, 'webhook-key'), 'short', { mode: 0o600 });
    await expect(sandbox()).rejects.toThrow('is not private, or not a key');
  });

  it('is that of the configuration, and absent in a live deployment without it', async () => {
    expect(await openSealer({ keys: [], isSandbox: false, dataDir })).toBeUndefined();
    expect(await openSealer({ keys: [randomBytes(32)], isSandbox: false, dataDir })).toBeDefined();
    expect(readdirSync(dataDir)).toEqual([]);
  });
});
