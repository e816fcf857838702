import { isSpec, type ImportGraph } from './imports.js';

type Edges = ReadonlyMap<string, ReadonlySet<string>>;

/** The import cycles between files, each as `a.ts -> b.ts -> a.ts`: the shortest one through every file that is in any. */
export function fileCycles(imports: ImportGraph): string[] {
  const edges = new Map<string, Set<string>>();
  for (const [file, imported] of imports) {
    edges.set(file, new Set(imported.flatMap(({ target }) => (target === undefined ? [] : [target]))));
  }
  return cyclesIn(edges);
}

/**
 * The import cycles between the top folders of `root`, in production code. Files directly in `root` start the program and
 * belong to no folder.
 */
export function folderCycles(imports: ImportGraph, root: string): string[] {
  const edges = new Map<string, Set<string>>();
  for (const [file, imported] of imports) {
    const from = folderIn(root, file);
    if (from === undefined || isSpec(file)) continue;
    const to = edges.get(from) ?? new Set();
    edges.set(from, to);
    for (const { target } of imported) {
      const folder = target === undefined ? undefined : folderIn(root, target);
      if (folder !== undefined && folder !== from) to.add(folder);
    }
  }
  return cyclesIn(edges);
}

function folderIn(root: string, file: string): string | undefined {
  if (!file.startsWith(`${root}/`)) return undefined;
  const [folder, ...rest] = file.slice(root.length + 1).split('/');
  return rest.length > 0 ? folder : undefined;
}

function cyclesIn(edges: Edges): string[] {
  const reported = new Set<string>();
  const cycles: string[] = [];
  for (const node of edges.keys()) {
    if (reported.has(node)) continue;
    const cycle = shortestCycle(edges, node);
    if (cycle === undefined) continue;
    for (const member of cycle) reported.add(member);
    cycles.push(cycle.join(' -> '));
  }
  return cycles;
}

/** The shortest way from a node back to itself, by breadth-first search. */
function shortestCycle(edges: Edges, start: string): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const waiting = [start];
  for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
    for (const next of edges.get(node) ?? []) {
      if (next === start) return [start, ...wayTo(node, start, cameFrom), start];
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      waiting.push(next);
    }
  }
  return undefined;
}

function wayTo(node: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  return node === start ? [] : [...wayTo(cameFrom.get(node)!, start, cameFrom), node];
}
