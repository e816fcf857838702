import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPERATOR, World } from './testing/world.js';

describe('banking reference', () => {
  const world = new World();
  const file = join(world.dataDir, 'reference.yaml');

  beforeAll(() => world.openDemo());
  afterAll(() => world.close());

  const apply = (text: string, ...options: readonly string[]) => {
    writeFileSync(file, text);
    return world.run(['reference', 'apply', file, ...options]);
  };
  const shown = async () => (await world.run(['reference', 'show'])).stdout;
  const MINIMUM = `swiftMinimums: { USD: '7000' }\n`;

  it('shows a document that changes nothing', async () => {
    const { stdout } = await apply(await shown());

    expect(stdout).toBe('The reference data is as the document states. Nothing was recorded.\n');
  });

  it('prints what a document would change, and records nothing', async () => {
    const before = await shown();

    const { exitCode, stdout } = await apply(MINIMUM, '--dry-run');

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Record +Field +Before +After\nSWIFT minimum of USD +amount +5000 +7000\n/);
    expect(stdout).toMatch(/\nSWIFT minimum of EUR +left out\n/);
    expect(stdout).toMatch(/\n\n16 records differ\. Dry run: nothing was recorded\.\n$/);
    expect(await shown()).toBe(before);
  });

  it('applies it, and lists who did', async () => {
    const { stdout } = await apply(MINIMUM);
    const [, change] = /Applied as change (\d+)\.\n$/.exec(stdout) ?? [];

    expect(await shown()).toMatch(/\nswiftMinimums:\n {2}USD: "7000"\n/);
    const { stdout: list } = await world.run(['reference', 'list', '--json']);
    expect((JSON.parse(list) as unknown[])[0]).toMatchObject({
      id: Number(change),
      recordedBy: OPERATOR,
      operatingSystemUser: OPERATOR,
      withdrawnAt: null,
    });
  });

  it('records a document for a later time, which can be withdrawn once', async () => {
    const { stdout } = await apply(`effectiveAt: 2999-01-01T00:00:00Z\npurposes: []\n`);
    expect(stdout).toMatch(/Change \d+ applies at 2999-01-01T00:00:00Z\.\n$/);

    expect(await apply('purposes: []\n')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^Another document waits for its time/) as string,
    });
    const same = await apply(await shown());
    expect(same.stdout).toMatch(/Nothing was recorded\.\nChange \d+ waits for its time\./);
    const dry = await apply('purposes: []\n', '--dry-run');
    expect(dry).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^Another document waits/) as string });
    const runs = [await world.run(['reference', 'withdraw']), await world.run(['reference', 'withdraw'])];
    expect(runs.map(({ exitCode, stdout: text }) => [exitCode, text.replace(/\d+/, 'N')])).toEqual([
      [0, 'Withdrew change N.\n'],
      [1, ''],
    ]);
  });

  it('refuses a document with mistakes as wrong usage, and one that moves a corridor', async () => {
    const mistaken = await apply(`swiftMinimums: { USD: 7000, XYZ: '1' }\n`);
    expect(mistaken.exitCode).toBe(2);
    expect(mistaken.stderr).toMatch(/reference\.yaml has a mistake:\n {2}- line 1, swiftMinimums\.USD: Write a text/);

    const moved = (await shown()).replace('destinationCountry: IN', 'destinationCountry: NP').replace('IFSC', 'SWIFT');
    const { exitCode, stderr } = await apply(moved.replace('payoutMethod: LOCAL', 'payoutMethod: SWIFT'));
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^Corridor 1 leads to IN INR LOCAL Individual for ever\./);
  });

  it('withdraws a document that waits also if another one changes nothing', async () => {
    await apply('effectiveAt: 2999-01-01T00:00:00Z\npurposes: []\n');

    expect((await apply(await shown(), '--withdraw')).stdout).toMatch(
      /Nothing was recorded\.\nWithdrew change \d+\.\n$/,
    );
    expect((await world.run(['reference', 'withdraw'])).exitCode).toBe(1);
  });

  it('refuses a file in another encoding', async () => {
    writeFileSync(file, Buffer.from('purposes: [{ code: A, text: Caf\u00e9 }]\n', 'latin1'));

    expect(await world.run(['reference', 'apply', file])).toMatchObject({
      exitCode: 1,
      stderr: 'The file is not UTF-8. Save it in UTF-8.\n',
    });
  });

  it('reports a file that cannot be read', async () => {
    expect(await world.run(['reference', 'apply', '/nowhere'])).toMatchObject({
      exitCode: 1,
      stderr: 'The file cannot be read (ENOENT). Correct its path.\n',
    });
  });
});
