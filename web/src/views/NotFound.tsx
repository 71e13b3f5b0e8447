// A path that leads nowhere.
import { useTitle } from "../parts/title";
import { Link } from "../router";

export function NotFoundView() {
  useTitle("Not found");
  return (
    <div className="view">
      <header className="view-head">
        <h1>Nothing here</h1>
      </header>
      <p>
        There is no page at this address. <Link href="/">To the sessions</Link>
      </p>
    </div>
  );
}
