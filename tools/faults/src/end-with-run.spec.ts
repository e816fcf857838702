import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = join(__dirname, '../dist/end-with-run-main.js');

describe('program that ends the processes of a killed run', () => {
  const children: ChildProcess[] = [];
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'banking-faults-spec-'))));
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (command: string, args: string[], stdin: 'pipe' | 'ignore' = 'ignore') => {
    const child = spawn(command, args, { stdio: [stdin, 'ignore', 'ignore'] });
    children.push(child);
    return child;
  };
  const ending = async (child: ChildProcess) =>
    (child.signalCode ?? ((await once(child, 'exit')) as unknown[])[1]) as string;

  it('ends what is registered when its standard input closes, and nothing else', async () => {
    const [service, server, ended] = [start('sleep', ['600']), start('sleep', ['600']), start('sleep', ['600'])];
    const pidFile = join(folder, 'postmaster.pid');
    writeFileSync(pidFile, `${server.pid}\n/data\n`);
    const program = start(process.execPath, [PROGRAM], 'pipe');
    const lines = [
      { pid: service.pid, isRunning: true },
      { pid: ended.pid, isRunning: true },
      { pidFile, isRunning: true },
      { pid: ended.pid, isRunning: false },
    ];
    for (const line of lines) program.stdin?.write(`${JSON.stringify(line)}\n`);

    const endings = Promise.all([ending(service), ending(server)]);
    program.stdin?.end();

    expect(await endings).toEqual(['SIGKILL', 'SIGQUIT']);
    await once(program, 'exit');
    expect(ended.signalCode).toBeNull();
  });
});
