import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { rememberCredentials, rememberedUser } from '../live/connection.js';
import { loginTrouble } from '../live/regions.js';
import { Mark } from '../parts/mark.js';
import { Alert } from '../parts/panel.js';

interface Identity {
  readonly name: string;
  readonly version: string;
  readonly region: string;
}

/** Asks who is there, and says which server asks. */
export function Login(props: { onLogin: () => Promise<void> }) {
  const server = useSignal<Identity | null>(null);
  const isWaiting = useSignal(false);
  useEffect(() => {
    fetch('/', { headers: { accept: 'application/json' } })
      .then((response) => response.json())
      .then(
        (identity: Identity) => {
          server.value = identity;
        },
        () => {
          // The name is left out; the login works without it.
        },
      );
  }, []);
  return (
    <main class="login">
      <section class="panel" aria-label="Log in">
        <div class="brand">
          <Mark />
          <h1>QuotaDB</h1>
        </div>
        <h2>Log in{server.value?.region && ` to ${server.value.region}`}</h2>
        <p class="caption">
          {location.host}
          {server.value !== null && `, version ${server.value.version}`}
        </p>
        <form
          onSubmit={async (event) => {
            event.preventDefault();
            const field = (name: string) => event.currentTarget.elements.namedItem(name) as HTMLInputElement;
            rememberCredentials(field('user').value.trim(), field('secret').value);
            isWaiting.value = true;
            await props.onLogin();
            isWaiting.value = false;
          }}
        >
          <label>
            User
            <input
              name="user"
              autocomplete="username"
              spellcheck={false}
              autocapitalize="none"
              placeholder="empty for a token"
              defaultValue={rememberedUser() ?? 'default'}
            />
          </label>
          <label>
            Password or token
            <input name="secret" type="password" autocomplete="current-password" required />
          </label>
          <Alert text={loginTrouble.value} />
          <button type="submit" class="primary" disabled={isWaiting.value}>
            {isWaiting.value ? 'Checking …' : 'Log in'}
          </button>
        </form>
        <p class="note small">
          A user with the role <code>read</code>, or a token. Both are forgotten when this tab is closed.
        </p>
      </section>
    </main>
  );
}
