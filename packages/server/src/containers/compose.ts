import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The repository, where the Dockerfile and compose.yaml are. */
export const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Service {
  readonly build?: string;
  readonly image: string;
  readonly profiles?: readonly string[];
  readonly user?: string;
  readonly network_mode?: string;
  readonly init?: boolean;
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly deploy: { readonly resources: { readonly limits: { readonly cpus: string; readonly memory: string } } };
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly environment: string }>>;
}

/** A compose file of the repository with these values for its variables. */
export function readCompose(variables: Readonly<Record<string, string>>, file = 'compose.yaml'): Compose {
  const text = readFileSync(`${REPOSITORY}${file}`, 'utf8').replaceAll(
    /\$\{(\w+)(?::\?[^}]*)?\}/g,
    (_, name: string) => {
      const value = variables[name];
      if (value === undefined) throw new Error(`${file} asks for ${name}, which is not given`);
      return value;
    },
  );
  return parse(text, { merge: true }) as Compose;
}
