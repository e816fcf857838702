import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { type Control, nameOf } from './control.js';
import type { Judgement } from './judge.js';
import { type Bench, runUnpatched, tryControl } from './try-control.js';
import { WorkspaceCopy } from './workspace-copy.js';

export interface TriedControl extends Judgement {
  readonly control: Control;
  readonly seconds: number;
}

/**
 * Tries controls one after another in a copy of the workspace, which is removed afterwards, with a PostgreSQL server for all specs.
 *
 * @throws the reason of the signal
 */
export async function runControls(
  controls: readonly Control[],
  signal: AbortSignal,
  onProgress: (line: string) => void,
): Promise<readonly TriedControl[]> {
  const copy = WorkspaceCopy.create();
  try {
    onProgress(`working in ${copy.folder}`);
    const server = await attachEmbeddedServer({ dataDir: copy.path('tmp/server') });
    try {
      const { host, port, user, database } = server.connection;
      const databaseUrl = `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
      return await tryAll({ copy, databaseUrl, signal }, controls, onProgress);
    } finally {
      await server.detach();
    }
  } finally {
    copy.remove();
  }
}

async function tryAll(
  bench: Bench,
  controls: readonly Control[],
  onProgress: (line: string) => void,
): Promise<readonly TriedControl[]> {
  const unpatchedSince = Date.now();
  const failures = await runUnpatched(bench, controls);
  for (const failure of failures.values()) onProgress(failure);
  onProgress(`without a fault: ${failures.size === 0 ? 'all pass' : 'failures'} (${secondsSince(unpatchedSince)} s)`);
  const tried: TriedControl[] = [];
  for (const [index, control] of controls.entries()) {
    const since = Date.now();
    const distrusted = control.caughtBy.map((catcher) => failures.get(nameOf(catcher))).find(Boolean);
    const judgement: Judgement =
      distrusted === undefined ? await tryControl(bench, control) : { verdict: 'broken', by: distrusted };
    const seconds = secondsSince(since);
    tried.push({ control, ...judgement, seconds });
    onProgress(`${index + 1}/${controls.length} ${control.name}: ${judgement.verdict}, ${judgement.by} (${seconds} s)`);
  }
  return tried;
}

const secondsSince = (startedAtMs: number) => Math.round((Date.now() - startedAtMs) / 1000);
