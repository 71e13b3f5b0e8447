// How one comes in: the link of the daemon brings a code in the fragment, which is traded for
// a cookie.
export function LoginView({ onLoggedIn: _ }: { onLoggedIn: () => void }) {
  return (
    <main className="view">
      <h1>Log in</h1>
    </main>
  );
}
