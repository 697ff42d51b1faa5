import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { runProgram } from '../testing/index.js';
import { REPOSITORY } from './compose.js';

/** The kinds that are used, and where the types that Kubernetes publishes have them. */
const KINDS: Readonly<Record<string, string>> = {
  'v1 Namespace': 'core/v1',
  'v1 ConfigMap': 'core/v1',
  'v1 Service': 'core/v1',
  'apps/v1 StatefulSet': 'apps/v1',
  'policy/v1 PodDisruptionBudget': 'policy/v1',
  'networking.k8s.io/v1 NetworkPolicy': 'networking/v1',
};

const KUSTOMIZATION = 'kustomization.yaml';

export interface Manifest {
  readonly file: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly namespace: string;
  readonly images: readonly { readonly name: string }[];
}

/** All documents of the YAML files of a directory, but for its kustomization. Throws where one is no YAML. */
export async function readManifests(directory: string): Promise<readonly Manifest[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== KUSTOMIZATION).map(({ name }) => name);
  const documents = files.sort().map(async (file) =>
    parseAllDocuments(await readFile(join(directory, file), 'utf8')).map((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.join(', ')}`);
      return { file, ...(document.toJS() as Omit<Manifest, 'file'>) };
    }),
  );
  return (await Promise.all(documents)).flat();
}

/** What a kustomization of such a directory says. */
export async function readKustomization(directory: string): Promise<Kustomization> {
  return parse(await readFile(join(directory, KUSTOMIZATION), 'utf8')) as Kustomization;
}

/** The complaints of the TypeScript compiler about objects as the types that Kubernetes publishes. */
export async function typeMistakes(manifests: readonly Manifest[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-kubernetes-'));
  try {
    const lines = manifests.map(({ file, ...object }, index) => {
      const module = KINDS[`${object.apiVersion} ${object.kind}`];
      if (module === undefined) throw new Error(`${file}: there is no type of ${JSON.stringify(object)}`);
      const type = `import('kubernetes-types/${module}').${object.kind}`;
      return `export const manifest${index}: ${type} = ${JSON.stringify(object)};`;
    });
    await writeFile(join(directory, 'manifests.ts'), lines.join('\n'));
    const paths = { 'kubernetes-types/*': [join(REPOSITORY, 'node_modules/kubernetes-types/*')] };
    const compilerOptions = {
      strict: true,
      noEmit: true,
      types: [],
      module: 'esnext',
      moduleResolution: 'bundler',
      paths,
    };
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['manifests.ts'] }));
    const compiler = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    return (await runProgram(process.execPath, [compiler, '-p', directory])).stdout;
  } finally {
    await rm(directory, { recursive: true });
  }
}
