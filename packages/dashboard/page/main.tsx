import { signal } from '@preact/signals';
import { render } from 'preact';
import { rememberCredentials } from './connection.js';
import { failure, needsToken, regions, sources, start } from './regions.js';
import { Counts } from './views/counts.js';
import { Demo, followDemo } from './views/demo.js';
import { firstSearch, Keys } from './views/keys.js';
import { Limits } from './views/limits.js';
import { Overview } from './views/overview.js';
import { Quotas } from './views/quotas.js';
import { loadConfiguration, ServerView } from './views/server.js';

const VIEWS = [
  { path: '#overview', name: 'Overview' },
  { path: '#keys', name: 'Keys' },
  { path: '#quotas', name: 'Quotas' },
  { path: '#limits', name: 'Rate limits' },
  { path: '#counts', name: 'Counts' },
  { path: '#server', name: 'Server' },
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
  const silent = all.filter((region) => !region.isConnected && region.snapshot !== null);
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
        <span class="state" role="status">
          <span class={`dot ${silent.length === 0 && failure.value === '' ? 'good' : 'bad'}`} />
          {silent.length === 0 && failure.value === '' ? 'live' : 'disconnected'}
        </span>
      </header>
      {(failure.value !== '' || silent.length > 0) && (
        <p class="banner" role="alert">
          {failure.value !== ''
            ? `Disconnected: ${failure.value}. Trying again …`
            : `No word from ${silent.map((region) => region.source.region).join(', ')}: what is shown of it is old. Trying again …`}
        </p>
      )}
      <main tabIndex={-1}>
        {sources.value?.isDemo && <Demo isWhole={path.value === '#overview'} />}
        {path.value === '#keys' ? (
          <Keys />
        ) : path.value === '#quotas' ? (
          <Quotas />
        ) : path.value === '#limits' ? (
          <Limits />
        ) : path.value === '#counts' ? (
          <Counts />
        ) : path.value === '#server' ? (
          <ServerView />
        ) : (
          <Overview />
        )}
      </main>
    </>
  );
}

function Login() {
  return (
    <main>
      <section class="panel" style="max-width:420px">
        <h2>Log in</h2>
        <p class="note">This server has credentials. A user with the right to read, or a token without a name.</p>
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
