import { readFileSync } from 'node:fs';

/**
 * Mounts the root of the image read-only, with /proc, a /tmp in memory and the volume /data, and then becomes the program: as process 1,
 * with the numeric user of the image, without a shell in between. The network is that of the machine.
 */
const ENTER = `set -e
root=$1 user=$2 group=$3 folder=$4 data=$5
shift 5
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$data" "$root/data"
exec unshare --root="$root" --wd="$folder" --setgid="$group" --setuid="$user" -- "$@"`;

/**
 * How to start a program of an image as a container runtime would, in namespaces of its own.
 *
 * @param image.root the mounted root of the image
 * @param image.config the `config` of the image, in the format of Docker
 * @param image.data the folder on this machine that the container sees as /data
 * @returns program, arguments and environment for `spawn`
 */
export function inContainer({ root, config, data }, args, settings) {
  const [user = '', group = user] = (config.User ?? '').split(':');
  if (!/^[1-9]\d*$/.test(user)) throw new Error(`The user of the image is not a number above zero: '${config.User}'`);
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--propagation=private'];
  const enter = ['sh', '-c', ENTER, 'sh', root, user, group, config.WorkingDir, data];
  const environment = Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s, 2)));
  return {
    program: 'unshare',
    args: [...namespaces, ...enter, ...args],
    env: { ...environment, ...settings },
  };
}

/** What the kernel reports of process 1 of a container. */
export function readFirstProcess(outerPid) {
  const [pid] = readFileSync(`/proc/${outerPid}/task/${outerPid}/children`, 'utf8').trim().split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const numbers = (name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]?.split(/\s+/) ?? [];
  const [rootMount = ''] = readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
    .split('\n')
    .filter((line) => line.split(' ')[4] === '/');
  return {
    pid: Number(pid),
    pidInside: Number(numbers('NSpid').at(-1)),
    uids: numbers('Uid').map(Number),
    capabilities: numbers('CapEff')[0],
    rootIsReadOnly: rootMount.split(' ')[5]?.split(',').includes('ro') ?? false,
  };
}
