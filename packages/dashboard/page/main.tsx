import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { address, addressOf } from './live/address.js';
import { forgetCredentials, hasCredentials } from './live/connection.js';
import { deadRegions } from './live/links.js';
import { followPast, loadPast } from './live/past.js';
import { failure, needsLogin, regions, silentRegions, sources, start } from './live/regions.js';
import { Mark } from './parts/mark.js';
import { Empty, Loading, State } from './parts/panel.js';
import { Counts } from './views/counts.js';
import { Demo, followDemo } from './views/demo.js';
import { Keys } from './views/keys.js';
import { Limits } from './views/limits.js';
import { Login } from './views/login.js';
import { Overview } from './views/overview.js';
import { Quotas } from './views/quotas.js';
import { RateLimits } from './views/rate-limits.js';
import { ServerView } from './views/server.js';

const VIEWS = [
  { name: 'overview', title: 'Overview', View: Overview },
  { name: 'keys', title: 'Keys', View: Keys },
  { name: 'limits', title: 'Limits', View: Limits },
  { name: 'quotas', title: 'Quotas', View: Quotas },
  { name: 'rates', title: 'Rate limits', View: RateLimits },
  { name: 'counts', title: 'Counts', View: Counts },
  { name: 'server', title: 'Server', View: ServerView },
] as const;

function App() {
  if (needsLogin.value) return <Login onLogin={begin} />;
  const { name, View } = VIEWS.find((view) => view.name === address.value.view) ?? VIEWS[0];
  return (
    <>
      <Header view={name} />
      <Banner />
      <main tabIndex={-1}>
        {sources.value === null ? <Loading what="the dashboard" /> : <Shown view={name} View={View} />}
      </main>
    </>
  );
}

function Shown(props: { view: string; View: () => ReturnType<typeof Overview> }) {
  const { View } = props;
  useEffect(() => {
    scrollTo(0, 0);
  }, [props.view]);
  return (
    <>
      {sources.value?.isDemo && <Demo isWhole={props.view === 'overview'} />}
      {isLost() ? <Empty title="No server answers">The figures are back as soon as one does.</Empty> : <View />}
    </>
  );
}

function Header(props: { view: string }) {
  const names = [...regions.value.keys()];
  const user = sources.value?.user;
  useEffect(() => {
    // On a phone the last views are past the edge.
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [props.view]);
  return (
    <header class="top">
      <div class="brand">
        <Mark />
        <h1>QuotaDB</h1>
        <small>{sources.value?.isDemo ? 'demo' : (names[0] ?? '')}</small>
      </div>
      <nav aria-label="Views">
        {VIEWS.map((view) => (
          <a
            key={view.name}
            href={addressOf(view.name)}
            aria-current={props.view === view.name ? 'page' : undefined}
            onClick={() => document.querySelector('main')?.focus()}
          >
            {view.title}
          </a>
        ))}
      </nav>
      <div class="standing" role="status">
        <Liveness />
      </div>
      {user !== undefined && hasCredentials() && (
        <div class="user">
          <span>{user.name}</span>
          <button type="button" class="quiet" onClick={logOut}>
            Log out
          </button>
        </div>
      )}
    </header>
  );
}

/** No server of the page answers, or the page itself cannot be reached. */
function isLost(): boolean {
  const all = [...regions.value.values()];
  return failure.value !== '' || (all.length > 0 && all.every(({ state }) => state === 'silent'));
}

/** One dead region is news, not the end of the page: the others are live. */
function Liveness() {
  const all = [...regions.value.values()];
  if (isLost()) return <State dot="bad">disconnected</State>;
  if (!all.some(({ state }) => state === 'connected')) return <State dot="">connecting …</State>;
  const dead = deadRegions();
  return dead.length === 0 ? <State dot="good">live</State> : <State dot="warn">live, {dead.join(', ')} down</State>;
}

function Banner() {
  if (!isLost()) return null;
  return (
    <p class="banner" role="alert">
      {failure.value !== ''
        ? `Disconnected: ${failure.value}. Trying again …`
        : `No data from ${silentRegions().join(', ')}: the server does not answer. Trying again …`}
    </p>
  );
}

/** The streams of this page go on with the old credentials: it starts anew without them. */
function logOut(): void {
  forgetCredentials();
  location.reload();
}

async function begin(): Promise<void> {
  await start((source) => void loadPast(source));
  if (sources.value?.isDemo) void followDemo();
}

render(<App />, document.getElementById('app') as HTMLElement);
followPast();
void begin();
