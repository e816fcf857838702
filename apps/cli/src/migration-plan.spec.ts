import { RELEASE } from '@banking/deployment';
import type { MigrationPlan } from '@banking/postgres';
import { printPlan } from './migration-plan.js';

const PLAN: MigrationPlan = {
  isNew: false,
  pending: [
    { name: '0046-runs.sql', phase: undefined },
    { name: '0047-notes.sql', phase: { name: 'expand' } },
    { name: '0048-no-names.sql', phase: { name: 'contract', since: '1.2.0' } },
  ],
  connected: [
    { release: '1.1.0', connections: 8 },
    { release: '1.2.0', connections: 1 },
  ],
};

function printed(plan: MigrationPlan, asJson = false): string {
  let text = '';
  const write = jest.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  printPlan(plan, asJson);
  write.mockRestore();
  return text;
}

describe('the plan of a migration', () => {
  it('states what each migration means for running processes', () => {
    const lines = printed(PLAN).split('\n');

    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['Migration', 'Phase', 'Running processes'],
      ['0046-runs.sql', 'baseline', 'stop every process first'],
      ['0047-notes.sql', 'expand', 'go on'],
      ['0048-no-names.sql', 'contract', 'refused: stop release 1.1.0 (8 connections)'],
      [''],
      ['Connected: release 1.1.0 (8 connections), release 1.2.0 (one connection).'],
      [''],
    ]);
  });

  it('lets processes go on that a contract migration does not break', () => {
    expect(printed({ ...PLAN, connected: [{ release: '1.2.0', connections: 1 }] })).toContain(
      'go on from release 1.2.0',
    );
  });

  it('has no processes to stop for a new database', () => {
    expect(printed({ ...PLAN, isNew: true, connected: [] })).not.toContain('stop');
  });

  it('states that nothing is pending', () => {
    expect(printed({ ...PLAN, pending: [] })).toBe(`Release ${RELEASE} lacks nothing in this database.\n`);
  });

  it('is a JSON document for programs', () => {
    expect(JSON.parse(printed(PLAN, true))).toEqual({
      release: RELEASE,
      pending: [
        { name: '0046-runs.sql', phase: 'baseline' },
        { name: '0047-notes.sql', phase: 'expand' },
        { name: '0048-no-names.sql', phase: 'contract', since: '1.2.0' },
      ],
      connected: PLAN.connected,
    });
  });
});
