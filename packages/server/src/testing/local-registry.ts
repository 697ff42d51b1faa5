import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { PackedPackages } from './packed-packages.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));

interface Archive {
  readonly manifest: { readonly name: string; readonly version: string };
  /** Path of the archive, made when it is asked for. */
  readonly make: () => Promise<string>;
}

/**
 * A registry of npm on loopback, with packed packages of the repository and, of other people's, the versions that are
 * installed in the workspace: `npm install` and `npx` work on it as on the real one, without a network. It has nothing
 * else; npm leaves out optional dependencies that it does not have.
 */
export class LocalRegistry {
  /** Names that were asked for. */
  readonly asked = new Set<string>();
  readonly #archives = new Map<string, Archive[]>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(decodeURIComponent(request.url ?? '')).then(
        (body) => response.writeHead(body === undefined ? 404 : 200).end(body ?? '{}'),
        (error) => response.writeHead(500).end(JSON.stringify({ error: String(error) })),
      );
    });
  }

  /** `without` are packages of others that it must not have. */
  static async start(packed: PackedPackages, without: RegExp): Promise<LocalRegistry> {
    const registry = new LocalRegistry();
    for (const { name, filename } of packed.packages) {
      const archive = join(packed.directory, filename);
      const { stdout } = await run('tar', ['-xzOf', archive, 'package/package.json']);
      registry.#archives.set(name, [{ manifest: JSON.parse(stdout), make: async () => archive }]);
    }
    for (const [name, archives] of installedArchives(packed.directory)) {
      if (!registry.#archives.has(name) && !without.test(name)) registry.#archives.set(name, archives);
    }
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** `/name` is what there is of a package, `/name/-/version.tgz` an archive. */
  async #answer(path: string): Promise<string | Buffer | undefined> {
    const [, name = '', version] = /^\/(.+?)(?:\/-\/(.+)\.tgz)?$/.exec(path) ?? [];
    const archives = this.#archives.get(name);
    if (version === undefined) this.asked.add(name);
    if (archives === undefined) return undefined;
    if (version === undefined) return JSON.stringify(this.#describe(name, archives));
    const archive = archives.find(({ manifest }) => manifest.version === version);
    return archive === undefined ? undefined : readFile(await archive.make());
  }

  #describe(name: string, archives: readonly Archive[]) {
    const versions = archives.map(({ manifest }) => {
      const tarball = `${this.url}/${name}/-/${manifest.version}.tgz`;
      return [manifest.version, { ...manifest, dist: { tarball } }];
    });
    return { name, 'dist-tags': { latest: archives[0]!.manifest.version }, versions: Object.fromEntries(versions) };
  }
}

/** Other people's packages by name, each in all versions that the lockfile has and that are installed. */
function installedArchives(directory: string): Map<string, Archive[]> {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: object };
  const found = new Map<string, Archive[]>();
  for (const place of Object.keys(lock.packages)) {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(place) ?? [];
    const manifest = name === undefined ? undefined : manifestIn(join(root, place));
    if (name === undefined || manifest === undefined || name.startsWith('@quotadb/')) continue;
    const make = () => archiveOf(join(root, place), join(directory, `${place.replaceAll('/', '+')}.tgz`));
    found.set(name, [...(found.get(name) ?? []), { manifest, make }]);
  }
  return found;
}

function manifestIn(folder: string): Archive['manifest'] | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

async function archiveOf(folder: string, target: string): Promise<string> {
  const base = basename(folder);
  const renamed = `--transform=s,^${base},package,`;
  await run('tar', ['-czf', target, '-C', dirname(folder), '--exclude=node_modules', renamed, base]);
  return target;
}
