import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpDecisionHook } from './decision-hook.js';

const PAGE = readFileSync(join(__dirname, '../../../docs/decisions.md'), 'utf8');
const [, EXAMPLE = ''] = /```js\n([\s\S]+?)```/.exec(PAGE) ?? [];
const [, QUESTION = ''] = /```json\n([\s\S]+?)```/.exec(PAGE) ?? [];

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

let folder: string;
let child: ChildProcess;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hook-'));
  writeFileSync(join(folder, 'hook.mjs'), EXAMPLE);
  const env = { DECISION_SECRET: SECRET };
  child = spawn(process.execPath, [join(folder, 'hook.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  url = `http://127.0.0.1:${line.toString().trim()}`;
});
afterAll(async () => {
  const ended = once(child, 'exit');
  child.kill();
  await ended;
  rmSync(folder, { recursive: true });
});

describe('the example hook of the documentation', () => {
  const { timestamp, data } = JSON.parse(QUESTION) as { readonly timestamp: string; readonly data: object };
  const ask = (amount: string, secret = SECRET) =>
    new HttpDecisionHook({ url, secrets: [secret] }).ask({
      id: 'decision-1',
      timestamp,
      data: { ...data, amount },
    });

  it('approves a small payout, and holds a large one', async () => {
    expect(await ask('830000')).toEqual({ decision: 'approve' });
    expect(await ask('1000001')).toEqual({ decision: 'hold', reason: 'a large amount' });
  });

  it('recognizes the secret beside another one, and refuses a question with another one only', async () => {
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
    const both = new HttpDecisionHook({ url, secrets: [other, SECRET] });

    expect(await both.ask({ id: 'decision-2', timestamp, data })).toEqual({ decision: 'approve' });
    expect(await ask('830000', other)).toEqual({ failure: 'it answered 401' });
  });
});
