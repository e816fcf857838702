import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../call.js';
import { p99 } from '../percentile.js';
import { checkFinalState } from '../final-state.js';
import type { RunContext, Scenario } from '../scenario.js';
import { SLOW_KINDS, type SlowKind, SlowSocket } from '../slow-sockets.js';
import { FUNDS, type LoadAccount, Preparation } from '../world.js';

const SOCKETS = 500;
const HEALTHY = 4;
const MEASURED_MS = 60_000;
/** When the service must have closed a slow reader. A write before that would count as traffic. */
const PROBE_MS = 39_000;
const PAUSE_MS = 20;
const SLOWER_MAX = 2;
/** A machine on which a read alone takes longer is too busy to measure times. */
const ALONE_MAX_MS = 300;
/** Opened in each tick at most, as a burst would measure the opening. */
const OPENED_AT_ONCE = 25;
const TICK_MS = 100;
/** Of ten connections one is a slow reader, which makes the service write megabytes. */
const KINDS = Array.from({ length: 10 }, (_, index) => SLOW_KINDS[index === 0 ? 2 : index % 2] as SlowKind);
/** This process itself was then kept from running, so that the service was too. */
const LATE_MAX_MS = 500;
/** The limits of the service, two of the intervals at which it checks them, and a second for this process. */
const CLOSED_WITHIN_MS: Readonly<Record<SlowKind, number>> = {
  'slow-head': 15_000,
  'slow-body': 20_000,
  'slow-read': 41_000,
};

/** 500 connections send or read a byte a second. They must be closed in time, and must not slow other clients down. */
export const slowClients: Scenario = {
  name: 'slow-clients',
  faults: SLOW_KINDS,
  phase: 'alone',
  minutesMax: 1.6,
  async run(context) {
    const { cluster, limitMs, tally, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    await preparation.readProducts();
    const account = await preparation.openAccount(1, 'EUR', FUNDS);
    const startedAt = new Date();
    const isWhole = limitMs >= 1.4 * MEASURED_MS;
    const measuredMs = isWhole ? MEASURED_MS : Math.max(limitMs, CLOSED_WITHIN_MS['slow-read'] + 2_000);
    // The first request of a process builds the document.
    for (const api of [0, 1]) {
      await call(cluster.endpoint, { api, method: 'GET', path: '/openapi.json', workspaceId: 1 });
    }
    onProgress(`${HEALTHY} clients alone`);
    const alone = await read(context, account, measuredMs / 4);
    onProgress(`${HEALTHY} clients beside ${SOCKETS} slow connections`);
    const sockets: SlowSocket[] = [];
    const [beside, latestMs] = await Promise.all([
      read(context, account, measuredMs),
      keepOpen(context, sockets, measuredMs),
    ]);
    const figures = `p99 ${Math.round(p99(alone))} ms alone and ${Math.round(p99(beside))} ms beside the slow connections`;
    onProgress(figures);
    const isBusy = p99(alone) > ALONE_MAX_MS || latestMs > LATE_MAX_MS;
    if (isBusy) tally.doubt(`the machine is too busy to measure times: ${figures}`);
    judge(context, sockets, isBusy);
    if (!isWhole) tally.doubt(`measured for ${Math.round(measuredMs / 1_000)} s only: ${figures}`);
    else if (!isBusy && p99(beside) > SLOWER_MAX * p99(alone))
      tally.addViolations([{ check: 'starvation', detail: figures }]);
    await checkFinalState(context, { startedAt });
  },
};

/** Opens as many as were closed. @returns how late this process was at most */
async function keepOpen({ cluster, tally }: RunContext, sockets: SlowSocket[], forMs: number): Promise<number> {
  const until = Date.now() + forMs;
  let latestMs = 0;
  try {
    while (Date.now() < until) {
      const open = sockets.filter(({ closedAfterMs }) => closedAfterMs === undefined).length;
      for (let missing = Math.min(OPENED_AT_ONCE, SOCKETS - open); missing > 0; missing -= 1) {
        const kind = KINDS[sockets.length % KINDS.length] as SlowKind;
        const port = Number(new URL(cluster.url(sockets.length >> 1)).port);
        sockets.push(new SlowSocket(kind, port, cluster.token));
        tally.count('sockets');
      }
      const probedAt = Date.now() - PROBE_MS;
      for (const one of sockets) if (one.kind === 'slow-read' && one.openedAt < probedAt) one.probe();
      const beganAt = Date.now();
      await sleep(TICK_MS);
      latestMs = Math.max(latestMs, Date.now() - beganAt - TICK_MS);
    }
    return latestMs;
  } finally {
    for (const socket of sockets.filter(({ closedAfterMs }) => closedAfterMs === undefined)) {
      // Judged below by the time it was open until now.
      socket.closedAfterMs = Date.now() - socket.openedAt;
      socket.end();
    }
  }
}

function judge({ tally }: RunContext, sockets: readonly SlowSocket[], isBusy: boolean): void {
  for (const kind of SLOW_KINDS) {
    const late = sockets.filter((one) => one.kind === kind && (one.closedAfterMs ?? 0) > CLOSED_WITHIN_MS[kind]);
    tally.countFault(kind);
    if (late.length === 0 || isBusy) continue;
    const slowest = Math.max(...late.map(({ closedAfterMs }) => closedAfterMs ?? 0));
    const detail = `${late.length} connections of the kind ${kind} were open for up to ${slowest} ms`;
    tally.addViolations([{ check: 'response-time', detail }]);
  }
}

/** @returns the time of each read */
async function read({ cluster, tally }: RunContext, { id }: LoadAccount, forMs: number): Promise<number[]> {
  const until = Date.now() + forMs;
  const times: number[] = [];
  const client = async (index: number) => {
    for (let turn = index; Date.now() < until; turn += 1) {
      const path = `/accounts/${id}`;
      const { status, ms } = await call(cluster.endpoint, { api: turn, method: 'GET', path, workspaceId: 1 });
      tally.countOperation(status === 200);
      if (status === 200) times.push(ms);
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: HEALTHY }, (_, index) => client(index)));
  return times;
}
