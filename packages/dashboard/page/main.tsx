import { signal } from '@preact/signals';
import { render } from 'preact';
import { rememberCredentials } from './live/connection.js';
import { failure, needsToken, regions, sources, start } from './live/regions.js';
import { State } from './parts/panel.js';
import { Counts } from './views/counts.js';
import { Demo, followDemo } from './views/demo.js';
import { firstSearch, Keys } from './views/keys.js';
import { Limits } from './views/limits.js';
import { Overview } from './views/overview.js';
import { Quotas } from './views/quotas.js';
import { loadConfiguration, ServerView } from './views/server.js';

const VIEWS = [
  { path: '#overview', name: 'Overview', View: Overview },
  { path: '#keys', name: 'Keys', View: Keys },
  { path: '#quotas', name: 'Quotas', View: Quotas },
  { path: '#limits', name: 'Rate limits', View: Limits },
  { path: '#counts', name: 'Counts', View: Counts },
  { path: '#server', name: 'Server', View: ServerView },
] as const;

const path = signal(location.hash || '#overview');
addEventListener('hashchange', () => {
  path.value = location.hash || '#overview';
  arrive();
  document.querySelector('main')?.focus();
});

function App() {
  if (needsToken.value) return <Login />;
  const all = [...regions.value.values()];
  const silent = all
    .filter((region) => !region.isConnected && region.snapshot !== null)
    .map(({ source }) => source.region);
  const { View } = VIEWS.find((view) => view.path === path.value) ?? VIEWS[0];
  const isLive = silent.length === 0 && failure.value === '';
  const title = sources.value?.isDemo ? 'demo' : (all[0]?.source.region ?? '');
  return (
    <>
      <header class="top">
        <div class="brand">
          <h1>QuotaDB</h1>
          <small>{title}</small>
        </div>
        <nav aria-label="Views">
          {VIEWS.map((view) => (
            <a key={view.path} href={view.path} aria-current={path.value === view.path ? 'page' : undefined}>
              {view.name}
            </a>
          ))}
        </nav>
        <div role="status">
          <State dot={isLive ? 'good' : 'bad'}>{isLive ? 'live' : 'disconnected'}</State>
        </div>
      </header>
      {!isLive && (
        <p class="banner" role="alert">
          {failure.value !== ''
            ? `Disconnected: ${failure.value}. Trying again …`
            : `No data from ${silent.join(', ')}: the figures are old. Trying again …`}
        </p>
      )}
      <main tabIndex={-1}>
        {sources.value?.isDemo && <Demo isWhole={path.value === '#overview'} />}
        <View />
      </main>
    </>
  );
}

function Login() {
  return (
    <main>
      <section class="panel" style="max-width:420px">
        <h2>Log in</h2>
        <p class="note">This server asks for credentials: a user with the role to read, or a token without a user.</p>
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault();
            const field = (name: string) => event.currentTarget.elements.namedItem(name) as HTMLInputElement;
            rememberCredentials(field('user').value, field('secret').value);
            needsToken.value = false;
            void begin();
          }}
        >
          <label>
            User (empty for a token)
            <input name="user" autocomplete="username" defaultValue="default" />
          </label>
          <label>
            Password or token
            <input name="secret" type="password" autocomplete="current-password" required />
          </label>
          <button type="submit">Log in</button>
        </form>
      </section>
    </main>
  );
}

function arrive(): void {
  if (sources.value === null) return;
  if (path.value === '#keys') firstSearch();
  if (path.value === '#server') void loadConfiguration(() => path.value === '#server');
}

async function begin(): Promise<void> {
  await start();
  if (sources.value?.isDemo) void followDemo();
  arrive();
}

render(<App />, document.getElementById('app') as HTMLElement);
void begin();
