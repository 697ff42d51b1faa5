import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** What `npm pack` says of an archive. */
export interface PackedPackage {
  readonly name: string;
  readonly filename: string;
  /** Bytes of the archive, and of the files in it. */
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** Packages as they would be published, in archives in a temporary directory. */
export class PackedPackages {
  readonly directory: string;
  readonly packages: readonly PackedPackage[];

  private constructor(directory: string, packages: readonly PackedPackage[]) {
    this.directory = directory;
    this.packages = packages;
  }

  /** Packs the workspaces of these folders below `packages`, as the last build left them. */
  static async make(folders: readonly string[]): Promise<PackedPackages> {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-packed-'));
    const workspaces = folders.flatMap((folder) => ['--workspace', `packages/${folder}`]);
    const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory, ...workspaces];
    const { stdout } = await run('npm', words, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
    // npm 10 prints a list, npm 11 with workspaces an object by name.
    return new PackedPackages(directory, Object.values(JSON.parse(stdout)));
  }

  /** Unpacks an archive into `node_modules` of a project, as an installation does. */
  async install(name: string, project: string): Promise<string> {
    const packed = this.packages.find((one) => one.name === name);
    if (packed === undefined) throw new Error(`${name} was not packed`);
    const target = join(project, 'node_modules', name);
    await mkdir(target, { recursive: true });
    await run('tar', ['-xzf', join(this.directory, packed.filename), '-C', target, '--strip-components=1']);
    return target;
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}
