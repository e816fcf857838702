import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClientLog, type FaultEvent, parseLog } from './client-log.js';

const fault = (target: string): FaultEvent => ({ event: 'fault', kind: 'reset', target });

describe('client log', () => {
  let folder: string;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'banking-faults-spec-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('has an event in the file when append resolves', async () => {
    const log = await ClientLog.create(join(folder, 'log'));

    await log.append(fault('one'));

    expect(parseLog(readFileSync(log.path, 'utf8'))).toEqual([expect.objectContaining(fault('one'))]);
    await log.close();
  });

  it('writes concurrent events once each, in the order in which they came', async () => {
    const log = await ClientLog.create(join(folder, 'log'));
    const targets = Array.from({ length: 200 }, (_, index) => `${index}`);

    const missing = await Promise.all(
      targets.map(async (target) => {
        await log.append(fault(target));
        return readFileSync(log.path, 'utf8').includes(`"target":"${target}"`) ? [] : [target];
      }),
    );

    expect(missing.flat()).toEqual([]);
    const written = parseLog(readFileSync(log.path, 'utf8')) as unknown as FaultEvent[];
    expect(written.map(({ target }) => target)).toEqual(targets);
    expect(log.events).toHaveLength(200);
    await log.close();
  });

  it('does not overwrite the log of another run', async () => {
    const log = await ClientLog.create(join(folder, 'log'));

    await expect(ClientLog.create(log.path)).rejects.toThrow('EEXIST');
    await log.close();
  });

  it('ignores a last line without an end, which a killed run leaves', () => {
    const line = JSON.stringify({ at: 1, ...fault('one') });

    expect(parseLog(`${line}\n{"at":2,"eve`)).toHaveLength(1);
    expect(parseLog('')).toEqual([]);
  });

  it.each(['{"at":2,"eve', 'null', '{"event":"fault"}', '[]'])(
    'reports %j before other lines as damaged',
    (damaged) => {
      const line = JSON.stringify({ at: 1, ...fault('one') });

      expect(() => parseLog(`${line}\n${damaged}\n${line}\n`)).toThrow('line 2 of the client log is no event');
    },
  );
});
